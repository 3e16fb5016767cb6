//! Which items of an index may be like the records of a batch run: they are its old records.

use rayon::prelude::*;

use super::analyzer::Analyzed;
use super::failure::failed;
use super::snapshot::Snapshot;
use crate::error::Result;
use crate::plan::{Method, Plan};
use crate::settings::{Measure, Verify};
use crate::shingle::{Shape, sort_distinct};
use crate::sketched::Sketched;
use crate::work::columns;

/// An item of a snapshot that may be like a record.
#[derive(Clone, Copy, Debug)]
pub struct OldItem {
    live: u32,
    item: u32,
}

impl Snapshot {
    /// Refuses a plan that the index was not made for: its sketches could not be compared.
    pub fn check_plan(&self, plan: &Plan) -> Result<()> {
        let ours = self.plan();
        if plan.fingerprint() == ours.fingerprint() && plan.method() == ours.method() {
            return Ok(());
        }
        let described = |plan: &Plan| {
            let settings = plan.settings();
            let scheme = match plan.method() {
                Method::Sketches(scheme) => format!("--bands {}", scheme.bands),
                Method::InvertedLists => "--exact".to_owned(),
                Method::Fingerprints(selection) => format!("--measure containment --fingerprints {selection}"),
            };
            format!(
                "-t {} --shingles {} --normalize {} --seed {} {scheme}{}",
                settings.threshold,
                settings.shingles,
                plan.normalize(),
                settings.seed,
                if settings.bag { " --bag" } else { "" }
            )
        };
        Err(failed(format!(
            "the index {} was made with other settings: {} instead of {}",
            self.0.path.display(),
            described(ours),
            described(plan)
        ))
        .advise("use the settings of the index"))
    }

    /// The items that may be like one of these records, oldest first, and for how many records not all items under a key
    /// were looked at. What is alike, as the plan means it, is among them with the probability that it promises; not all are.
    /// The index must be one for the plan ([`Snapshot::check_plan`]).
    pub fn items_like(&self, plan: &Plan, records: &[Sketched]) -> Result<(Vec<OldItem>, u64)> {
        let pieces = records.par_iter().map(|batch| self.places_like(plan, batch)).collect::<Result<Vec<_>>>()?;
        let bounded = pieces.iter().map(|(_, bounded)| bounded).sum();
        let mut places: Vec<(u32, u32)> = pieces.into_iter().flat_map(|(places, _)| places).collect();
        places.par_sort_unstable();
        places.dedup();
        let items = places.into_iter().map(|(live, item)| {
            let sequence = self.0.lives[live as usize].segment.sequence(item)?;
            Ok((sequence, OldItem { live, item }))
        });
        let mut items = items.collect::<Result<Vec<_>>>()?;
        items.sort_unstable_by_key(|(sequence, _)| *sequence);
        Ok((items.into_iter().map(|(_, item)| item).collect(), bounded))
    }

    /// What an item is called.
    pub fn id_of(&self, item: OldItem) -> Result<&str> {
        self.0.lives[item.live as usize].segment.id(item.item)
    }

    /// The hashes of an item's elements, each once.
    pub fn elements_of(&self, item: OldItem) -> Result<&[u64]> {
        self.0.lives[item.live as usize].segment.set(item.item)
    }

    fn places_like(&self, plan: &Plan, batch: &Sketched) -> Result<(Vec<(u32, u32)>, u64)> {
        let analyzer = &self.0.analyzer;
        let (mut places, mut bounded) = (Vec::new(), 0);
        let Some(scheme) = analyzer.scheme() else {
            // All elements are listed, so the index answers for any threshold. What contains an item may share little of itself.
            let least_shared = match plan.settings().measure {
                Measure::Jaccard => plan.settings().threshold,
                Measure::Containment => 0.0,
            };
            for record in 0..batch.len() {
                let mut set = batch.shingles.as_ref().map_or_else(Vec::new, |lists| lists.get(record).to_vec());
                let distinct = sort_distinct(&mut set);
                set.truncate(distinct);
                places.extend(match self.plan().method() {
                    Method::Fingerprints(_) => {
                        let mut bounded_keys = 0;
                        let found = self.under_keys(&Analyzed::of_set(set), &mut bounded_keys)?;
                        bounded += u64::from(bounded_keys > 0);
                        found
                    }
                    _ => self.in_lists(&Analyzed::of_set(set), least_shared)?,
                });
            }
            return Ok((places, bounded));
        };
        let (keys, slots) = columns_of(batch)?;
        // The least byte of each slot comes first, whether or not there is another.
        let slot_bytes = plan.slot_width().bytes();
        let slots = slots.chunks_exact(analyzer.slots() * slot_bytes);
        // As in a batch run: only in front of the exact check there is a filter.
        let least = if plan.settings().verify == Verify::Exact { scheme.least_agreement } else { 0 };
        for (record, slots) in slots.enumerate().filter(|(record, _)| batch.shapes[*record] != Shape::Empty) {
            let asked = Analyzed::of_keys(keys.iter().skip(record).step_by(batch.len()).copied());
            let slots: Vec<u8> = slots.iter().step_by(slot_bytes).copied().collect();
            let mut bounded_keys = 0;
            let mut found = self.under_keys(&asked, &mut bounded_keys)?;
            bounded += u64::from(bounded_keys > 0);
            self.keep_agreeing(&mut found, least, &slots)?;
            places.append(&mut found);
        }
        Ok((places, bounded))
    }
}

/// What is kept of the keys of a batch, band by band, and of its slots; from its work file if it is there.
fn columns_of(batch: &Sketched) -> Result<(Vec<u32>, Vec<u8>)> {
    let Some(stored) = &batch.stored else { return Ok((batch.keys.clone(), batch.slots.clone())) };
    let (file, rows) = (&stored.file, &stored.rows);
    let all = file.len_of::<u64>(columns::MARKS).max(1);
    let bands = file.len_of::<u32>(columns::KEYS) / all;
    let mut keys = Vec::with_capacity(bands * rows.len());
    for band in 0..bands {
        keys.append(&mut file.read(columns::KEYS, band * all + rows.start..band * all + rows.end)?);
    }
    let width = file.len_of::<u8>(columns::SLOTS) / all;
    Ok((keys, file.read(columns::SLOTS, rows.start * width..rows.end * width)?))
}
