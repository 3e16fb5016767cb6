//! Records → what stands for them, row by row.

use super::{fill_set, identity};
use crate::band::BandKeys;
use crate::batch::Content;
use crate::error::{Error, Result};
use crate::plan::{Method, Plan};
use crate::shingle::{Shape, Shingler};
use crate::sketch::{MinHash, SlotWidth};

/// Sketches records one at a time, into rows. One a thread.
#[derive(Clone, Debug)]
pub struct RowSketcher {
    shingler: Shingler,
    minhash: MinHash,
    band_keys: BandKeys,
    set: Vec<u64>,
    sketch: Vec<u32>,
}

/// What stands for records once their texts are gone, one row a record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SketchedRows {
    /// Whether there is anything to compare. An empty record is alike to nothing and takes no part in later stages.
    pub shapes: Vec<Shape>,
    /// The same for records with the same set, and for no others.
    pub identities: Vec<u128>,
    /// Characters of a text, or items of a set.
    pub lengths: Vec<u64>,
    /// What is kept of the slots of the sketches: a byte of each, as many for each record.
    pub slots: Vec<u8>,
    /// The keys of the sketches, as many for each record. Keys of different bands are different.
    pub keys: Vec<u64>,
}

impl Plan {
    /// What sketches rows for this plan. A plan without sketches has none.
    pub fn row_sketcher(&self) -> Result<RowSketcher> {
        let Method::Sketches(scheme) = self.method() else {
            return Err(Error::setting("stages one at a time need sketches, and this plan uses none")
                .advise("leave out exact and use the measure jaccard"));
        };
        Ok(RowSketcher {
            shingler: self.shingler(),
            minhash: MinHash::new(scheme.slots as usize, self.settings().seed),
            band_keys: BandKeys::new(&scheme, self.settings().seed),
            set: Vec::new(),
            sketch: Vec::new(),
        })
    }
}

impl RowSketcher {
    /// Appends the row of a record. `within` is the hash ([`crate::hash_item`]) of the value that it may only meet itself
    /// with, or 0.
    pub fn append(&mut self, content: Content<'_>, within: u64, rows: &mut SketchedRows) {
        rows.shapes.push(fill_set(&mut self.shingler, content, &mut self.set));
        rows.identities.push(identity(&self.set, within));
        rows.lengths.push(match content {
            Content::Text(text) => text.chars().count() as u64,
            Content::Set(_) => self.set.len() as u64,
        });
        self.sketch.clear();
        self.minhash.append(&self.set, &mut self.sketch);
        SlotWidth::One.append(&self.sketch, &mut rows.slots);
        self.band_keys.append(&self.sketch, within, &mut rows.keys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Batch, RecordNumber};
    use crate::settings::Settings;

    #[test]
    fn rows_are_what_batches_are() {
        let texts = ["a b c d e f g h", "", "a b", "a b c d e f g h i", "ä b c d e f g h"];
        let plan = Settings::new(0.8).plan().unwrap();
        let mut batch = Batch::new();
        let (mut sketcher, mut rows) = (plan.row_sketcher().unwrap(), SketchedRows::default());
        for (position, text) in texts.iter().enumerate() {
            batch.push_text(RecordNumber::new(0, position as u64), text);
            batch.push_within(b"w");
            sketcher.append(Content::Text(text), crate::hash_item(b"w"), &mut rows);
        }
        let sketched = plan.sketcher().sketch(&batch);
        assert_eq!((&rows.shapes, &rows.slots), (&sketched.shapes, &sketched.slots));
        let bands = rows.keys.len() / texts.len();
        for (record, keys) in rows.keys.chunks_exact(bands).enumerate() {
            for (band, key) in keys.iter().enumerate() {
                assert_eq!((*key >> 32) as u32, sketched.keys_of_band(band)[record]);
            }
        }
        assert_eq!(rows.lengths, [15, 0, 3, 17, 15]);
    }

    #[test]
    fn an_identity_is_of_the_set_not_of_its_order() {
        let plan = Settings::new(0.8).shingles(crate::Shingles::words(1)).plan().unwrap();
        let (mut sketcher, mut rows) = (plan.row_sketcher().unwrap(), SketchedRows::default());
        for text in ["a b c", "c b a a", "a b"] {
            sketcher.append(Content::Text(text), 0, &mut rows);
        }
        sketcher.append(Content::Text("a b c"), 1, &mut rows);
        assert_eq!(rows.identities[0], rows.identities[1]);
        assert_ne!(rows.identities[0], rows.identities[2]);
        assert_ne!(rows.identities[0], rows.identities[3], "another value of within is another record");
    }

    #[test]
    fn a_plan_without_sketches_is_refused() {
        assert!(Settings::new(0.8).exact(true).plan().unwrap().row_sketcher().is_err());
    }
}
