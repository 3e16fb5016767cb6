//! Runs on records that are in memory. Nothing is kept of them that can be had again from the records themselves, which
//! are there anyway.

use std::ops::Range;

use rayon::prelude::*;

use crate::batch::{Batch, Content, KeepValue, RecordNumber};
use crate::error::Result;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::run::Resources;
use crate::settings::{Measure, Verify};
use crate::shingle::sort_distinct;
use crate::sketched::{Sketched, Sketcher};
use crate::supply::{Asked, ShingleLists, Supply, Take};
use crate::verify::{containment, edit_similarity, jaccard};
use crate::watch::{Stage, Watch, check_cancelled};

/// Bytes of text that are sketched at a time; also how often a run hears that it should stop.
const BATCH_BYTES: usize = 1 << 20;
/// Records whose shingles are supplied at a time.
const SUPPLIED: usize = 256;

/// Records in memory, and what else decides about them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held<'a> {
    /// What they are made of.
    pub contents: &'a [Content<'a>],
    /// Their keep fields; empty where no keep order asks for them.
    pub keep: &'a [KeepValue],
    /// Hashes ([`crate::hash_item`]) of the values that records must share to be compared; empty: all are compared.
    pub within: &'a [u64],
}

impl Plan {
    /// Runs the plan on records in memory, on all threads. The `old` ones are compared with and never dropped. What is found
    /// is what [`Plan::run`] finds, in less memory: every pair, or only who is kept ([`Resources::needs_pairs`]).
    pub fn run_held(&self, old: Held<'_>, new: Held<'_>, needs_pairs: bool, watch: &dyn Watch) -> Result<Outcome> {
        watch.begin(Stage::Read, Some((old.contents.len() + new.contents.len()) as u64));
        let (sketched_old, sketched_new) = (self.sketch_held(0, old, watch)?, self.sketch_held(1, new, watch)?);
        let supply = Again { plan: self, old: old.contents, new: new.contents };
        let resources = Resources { supply: Some(&supply), needs_pairs, ..Resources::default() };
        self.finish_with(sketched_old, sketched_new, &resources, watch)
    }

    /// How alike two records are, exactly. Containment: how much of the left one is in the right one.
    pub fn similarity(&self, left: Content<'_>, right: Content<'_>) -> f64 {
        let mut supplier = self.supplier();
        let [left, right] = [left, right].map(|content| {
            let mut elements = Vec::new();
            supplier.append(content, &mut elements);
            if self.settings().verify != Verify::Edit {
                let distinct = sort_distinct(&mut elements);
                elements.truncate(distinct);
            }
            elements
        });
        match self.settings().measure {
            _ if self.settings().verify == Verify::Edit => edit_similarity(&left, &right),
            Measure::Jaccard => jaccard(&left, &right),
            Measure::Containment => containment(&left, &right),
        }
    }

    fn sketch_held(&self, input: u64, records: Held<'_>, watch: &dyn Watch) -> Result<Vec<Sketched>> {
        let tools = || (self.sketcher().forget_shingles(), Batch::new());
        let sketch = |(sketcher, batch): &mut (Sketcher, Batch), range: Range<usize>| {
            check_cancelled(watch)?;
            batch.clear();
            for position in range.clone() {
                let number = RecordNumber::new(input, position as u64);
                match records.contents[position] {
                    Content::Text(text) => batch.push_text(number, text),
                    Content::Set(items) => batch.push_set(number, items.iter().copied()),
                }
                if let Some(keep) = records.keep.get(position) {
                    batch.push_keep(keep.clone());
                }
                if let Some(within) = records.within.get(position) {
                    batch.push_within_hash(*within);
                }
            }
            let sketched = sketcher.sketch(batch);
            watch.advance(range.len() as u64);
            Ok(sketched)
        };
        batches(records.contents).into_par_iter().map_init(tools, sketch).collect()
    }
}

/// Neighbours that are sketched together.
fn batches(contents: &[Content<'_>]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (position, content) in contents.iter().enumerate() {
        bytes += 16
            + match content {
                Content::Text(text) => text.len(),
                Content::Set(items) => size_of_val(*items),
            };
        if bytes >= BATCH_BYTES {
            ranges.push(start..position + 1);
            (start, bytes) = (position + 1, 0);
        }
    }
    ranges.push(start..contents.len());
    ranges.retain(|range| !range.is_empty());
    ranges
}

/// Shingles records once more.
struct Again<'a> {
    plan: &'a Plan,
    old: &'a [Content<'a>],
    new: &'a [Content<'a>],
}

impl Supply for Again<'_> {
    fn supply(&self, asked: &[Asked], take: &Take<'_>) -> Result<()> {
        let tools = || (self.plan.supplier(), ShingleLists::default());
        asked.par_chunks(SUPPLIED).enumerate().try_for_each_init(tools, |(shingler, lists), (run, asked)| {
            lists.clear();
            for asked in asked {
                let record = asked.record as usize;
                let content = self.old.get(record).unwrap_or_else(|| &self.new[record - self.old.len()]);
                lists.push_with(|all| shingler.append(*content, all));
            }
            take(run * SUPPLIED, lists)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use crate::watch::Unwatched;

    #[test]
    fn records_in_memory_are_found_alike_as_records_that_pass_by() {
        // Families of seven or so, whose members differ in one word.
        let text = |at: usize| {
            let changed = at / 300 * 7;
            let word = |word: usize| if word == changed { at } else { 10_000 + at % 300 * 61 + word };
            (0..60).map(|at| word(at).to_string()).collect::<Vec<_>>().join(" ")
        };
        let texts: Vec<String> = (0..2_000).map(text).collect();
        let contents: Vec<Content<'_>> = texts.iter().map(|text| Content::Text(text)).collect();
        for plan in [Settings::new(0.7).plan().unwrap(), Settings::new(0.7).exact(true).plan().unwrap()] {
            let expected = plan.run(&texts).unwrap();
            let held = Held { contents: &contents, ..Held::default() };
            let found = plan.run_held(Held::default(), held, true, &Unwatched).unwrap();
            assert!(found.summary().dropped > 0);
            assert_eq!(found.summary(), expected.summary());
            assert_eq!(found.pairs().collect::<Vec<_>>(), expected.pairs().collect::<Vec<_>>());
            let (old, new) = contents.split_at(500);
            let old = Held { contents: old, ..Held::default() };
            let against = plan.run_held(old, Held { contents: new, ..Held::default() }, true, &Unwatched).unwrap();
            assert_eq!((against.old(), against.len()), (500, 2_000));
            let pairs = expected.pairs().filter(|pair| pair.right >= 500);
            assert_eq!(against.pairs().collect::<Vec<_>>(), pairs.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_run_can_be_stopped() {
        struct Stop;
        impl Watch for Stop {
            fn is_cancelled(&self) -> bool {
                true
            }
        }
        let contents = [Content::Text("a"), Content::Set(&[1])];
        let plan = Settings::new(0.8).plan().unwrap();
        let stopped = plan.run_held(Held::default(), Held { contents: &contents, ..Held::default() }, true, &Stop);
        assert_eq!(stopped.unwrap_err().kind(), crate::ErrorKind::Cancelled);
    }
}
