//! Who is kept, known while pairs are still being verified: a record is decided as soon as its pairs with earlier ones in keep
//! order are. Where that is the input order, it can be told at once.

use crate::batch::RecordNumber;
use crate::classes::Classes;
use crate::error::Result;
use crate::settings::{Grouping, Keep, Settings};
use crate::verify::Edge;

/// Which records are decided. Records are called by their indices in input order.
#[derive(Clone, Copy, Debug)]
pub struct Decided<'a> {
    /// All records before this one are.
    pub behind: usize,
    /// Those that are dropped, of all that were not decided the last time.
    pub dropped: &'a [u32],
    /// The numbers of all records.
    pub numbers: &'a [RecordNumber],
}

/// Hears in input order what is decided: what the run will find, only earlier. An error ends the run.
pub type Hear<'a> = dyn Fn(Decided<'_>) -> Result<()> + Sync + 'a;

/// Who is dropped in anchored groups, in keep order, as far as it is known. Told where that is the input order.
pub(crate) struct EarlyDecisions<'a> {
    tell: Option<&'a Hear<'a>>,
    numbers: &'a [RecordNumber],
    threshold: f64,
    /// For each class that is decided, whether another stands for it.
    is_dropped: Vec<bool>,
    /// The first record that is not decided yet.
    next: u32,
}

impl<'a> EarlyDecisions<'a> {
    /// Decisions under these settings; none where they depend on all pairs.
    pub(crate) fn new(settings: &Settings, numbers: &'a [RecordNumber], tell: Option<&'a Hear<'a>>) -> Option<Self> {
        let tell = tell.filter(|_| settings.keep == Keep::First);
        (settings.group == Grouping::Anchored).then(|| Self {
            tell,
            numbers,
            threshold: settings.threshold,
            is_dropped: Vec::new(),
            next: 0,
        })
    }

    /// Whether somebody hears of them.
    pub(crate) fn are_told(&self) -> bool {
        self.tell.is_some()
    }

    /// Whether another stands for a class that is decided.
    pub(crate) fn is_dropped(&self, class: u32) -> bool {
        self.is_dropped[class as usize]
    }

    /// Whether a class is kept whatever it is like.
    pub(crate) fn is_old(&self, classes: &Classes, class: u32) -> bool {
        let old = classes.records().1;
        // Mostly there are none, and the class need not be looked up.
        old > 0 && (classes.representative(class) as usize) < old
    }

    /// Decides the classes before `behind`. These are the pairs, by Jaccard, whose right one is among those that were not
    /// decided before.
    pub(crate) fn decide(&mut self, classes: &Classes, behind: u32, pairs: impl Iterator<Item = Edge>) {
        let mut alike: Vec<Edge> =
            pairs.filter(|edge| edge.similarity >= self.threshold && !self.is_old(classes, edge.right)).collect();
        // Whether the left one is kept must be known before the right one is looked at.
        alike.sort_unstable_by_key(|edge| edge.right);
        self.is_dropped.resize(behind as usize, false);
        for edge in alike {
            self.is_dropped[edge.right as usize] |= !self.is_dropped[edge.left as usize];
        }
    }

    /// Tells what was decided since the last time.
    pub(crate) fn tell(&mut self, classes: &Classes) -> Result<()> {
        let Some(tell) = self.tell else { return Ok(()) };
        let (records, old) = classes.records();
        let behind = self.is_dropped.len() as u32;
        let decided = if (behind as usize) < classes.len() { classes.representative(behind) } else { records as u32 };
        // Of a class that is kept, its first record.
        let is_kept = |record: u32| {
            let is_first = |class: u32| classes.representative(class) == record && !self.is_dropped[class as usize];
            (record as usize) < old || classes.class_of(record).is_none_or(is_first)
        };
        let dropped: Vec<u32> = (self.next..decided).filter(|record| !is_kept(*record)).collect();
        self.next = decided;
        tell(Decided { behind: decided as usize, dropped: &dropped, numbers: self.numbers })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::group::anchored;
    use crate::hash::SplitMix;
    use crate::settings::Measure;

    #[test]
    fn what_is_told_early_is_what_is_found() {
        let mut random = SplitMix(5);
        for records in [1u64, 2, 10, 60, 300] {
            // Some records are the same as an earlier one.
            let mut classes = 0;
            let class_of = (0..records).map(|_| {
                let class = random.below(classes + 1 + classes / 3).min(classes);
                classes += u64::from(class == classes);
                class as u32
            });
            let classes = Classes::in_keep_order(class_of.collect());
            let count = classes.len() as u64;
            let mut edges: Vec<Edge> = (0..count * 2)
                .filter_map(|_| {
                    let (left, right) = (random.below(count) as u32, random.below(count) as u32);
                    let similarity = random.below(100) as f64 / 100.0;
                    (left < right).then_some(Edge { left, right, similarity })
                })
                .collect();
            edges.sort_unstable_by_key(|edge| (edge.left, edge.right));
            let told = Mutex::new((0, Vec::new()));
            let tell = |Decided { behind: decided, dropped, .. }: Decided<'_>| {
                let (before, all) = &mut *told.lock().unwrap();
                assert!(
                    *before <= decided && dropped.iter().all(|record| (*before..decided).contains(&(*record as usize)))
                );
                *before = decided;
                all.extend_from_slice(dropped);
                Ok(())
            };
            let mut early = EarlyDecisions::new(&Settings::new(0.5), &[], Some(&tell)).unwrap();
            for (from, behind) in (0..count as u32).step_by(7).map(|from| (from, (from + 7).min(count as u32))) {
                let in_step = edges.iter().copied().filter(|edge| (from..behind).contains(&edge.right));
                early.decide(&classes, behind, in_step);
                early.tell(&classes).unwrap();
            }
            edges.retain(|edge| edge.similarity >= 0.5);
            let assignment = anchored(&classes, &edges, Measure::Jaccard);
            let dropped: Vec<u32> =
                (0..records as u32).filter(|record| assignment.keeper_of[*record as usize] != *record).collect();
            assert_eq!(*told.lock().unwrap(), (records as usize, dropped));
        }
    }

    #[test]
    fn where_decisions_depend_on_all_pairs_none_are_told() {
        let settings = Settings::new(0.8);
        let new = |settings: &Settings| EarlyDecisions::new(settings, &[], Some(&|_| Ok(()))).map(|new| new.are_told());
        assert_eq!(new(&settings), Some(true));
        assert_eq!(new(&settings.clone().keep(Keep::Last)), Some(false), "the first is decided last");
        assert_eq!(new(&settings.group(Grouping::Connected)), None);
    }
}
