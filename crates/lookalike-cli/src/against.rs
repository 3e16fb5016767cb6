//! Records of a batch run against an index: its items that may be alike are the old records.

use std::path::Path;

use anyhow::{Result, bail};
use lookalike::index::{MOST_UNDER_A_KEY, OldItem};
use lookalike::{
    Asked, Batch, Error, Method, Plan, RecordNumber, ShingleLists, Sketched, Sketcher, Snapshot, Supply, Take, Verify,
};
use lookalike_io::{Format, Input};
use rayon::prelude::*;

use crate::names::Stretch;
use crate::progress::Progress;

/// Items whose elements are copied at a time.
const ITEMS_AT_ONCE: usize = 256;

/// An index that records are compared with.
pub(crate) struct AgainstIndex {
    snapshot: Snapshot,
    /// Stands for the index among the inputs. Nothing is read from it.
    pub(crate) input: Input,
}

impl AgainstIndex {
    pub(crate) fn open(path: &Path, plan: &Plan, has_within: bool, tmp: &Path) -> Result<Self> {
        if has_within {
            bail!("an index knows no fields, so --within cannot be used with it; leave it out, or compare with files");
        }
        if plan.settings().verify == Verify::Edit {
            bail!(
                "an index holds shingles, so edits cannot be counted; leave --verify edit out, or compare with files"
            );
        }
        let snapshot = Snapshot::open(path)?;
        snapshot.check_plan(plan)?;
        let mut input = Input::from_file(&path.join("lock"), Path::new("lock"), Some(Format::Jsonl), tmp)?;
        input.name = path.into();
        Ok(Self { snapshot, input })
    }

    /// Looks at the index as if nothing had been added under this name.
    pub(crate) fn leave_out(&mut self, addition: &str, progress: &Progress) -> Result<()> {
        if let Some(without) = self.snapshot.without_addition(addition)? {
            self.snapshot = without;
            progress.note("these inputs have been added to the index before; what they added is not compared with");
        }
        Ok(())
    }

    /// What the answer depends on: the state of the index.
    pub(crate) fn state(&self) -> u64 {
        self.snapshot.state()
    }

    /// The items that may be like these records: sketched, named, and as they are.
    pub(crate) fn old_records(
        &self,
        plan: &Plan,
        new: &[Sketched],
        progress: &Progress,
    ) -> Result<(Vec<Sketched>, Stretch, OldItems)> {
        let (items, bounded) = self.snapshot.items_like(plan, new)?;
        note_bounded(bounded, progress);
        note_sure_runs(plan, progress);
        let keeps_shingles = new.iter().any(|batch| batch.shingle_bytes() > 0);
        let sketcher = || if keeps_shingles { plan.sketcher() } else { plan.sketcher().forget_shingles() };
        let sketch = |sketcher: &mut Sketcher, (at, items): (usize, &[OldItem])| {
            let mut batch = Batch::new();
            for (position, item) in ((at * ITEMS_AT_ONCE) as u64..).zip(items) {
                let elements = self.snapshot.elements_of(*item)?;
                batch.push_set(RecordNumber::new(0, position), elements.iter().copied());
            }
            Ok(sketcher.sketch(&batch))
        };
        let sketched = items.par_chunks(ITEMS_AT_ONCE).enumerate().map_init(sketcher, sketch);
        let sketched = sketched.collect::<Result<Vec<_>, Error>>()?;
        let ids = items.iter().map(|item| self.snapshot.id_of(*item)).collect::<Result<Vec<_>, Error>>()?;
        let stretch = Stretch::of_items(0, ids.into_iter());
        Ok((sketched, stretch, OldItems { snapshot: self.snapshot.clone(), items }))
    }
}

/// Items of an index that are the old records of a run. What they hold stays in the index until it is asked for.
pub(crate) struct OldItems {
    snapshot: Snapshot,
    items: Vec<OldItem>,
}

/// Says what an index of fingerprints finds.
pub(crate) fn note_sure_runs(plan: &Plan, progress: &Progress) {
    if let Method::Fingerprints(selection) = plan.method()
        && let Some(tokens) = selection.sure_run(plan.settings().shingles.k())
    {
        progress.note(&format!("items that share a run of at least {tokens} tokens are found for sure, others mostly"));
    }
}

/// Says for how many records not everything in an index was looked at.
pub(crate) fn note_bounded(records: u64, progress: &Progress) {
    if records > 0 {
        progress.note(&format!(
            "for {records} records, only the {MOST_UNDER_A_KEY} newest items under some keys of the index were looked at"
        ));
    }
}

/// Supplies the elements of items, if there are any, and lets somebody else supply those of records.
pub(crate) struct ItemsFirst<'a, S> {
    pub(crate) items: Option<&'a OldItems>,
    pub(crate) records: S,
}

impl<S: Supply> Supply for ItemsFirst<'_, S> {
    fn supply(&self, asked: &[Asked], take: &Take<'_>) -> Result<(), Error> {
        let Some(OldItems { snapshot, items }) = self.items else { return self.records.supply(asked, take) };
        let count = asked.partition_point(|asked| (asked.record as usize) < items.len());
        let (of_items, of_records) = asked.split_at(count);
        of_items.par_chunks(ITEMS_AT_ONCE).enumerate().try_for_each(|(at, asked)| {
            let mut lists = ShingleLists::default();
            for asked in asked {
                lists.push(snapshot.elements_of(items[asked.record as usize])?);
            }
            take(at * ITEMS_AT_ONCE, &mut lists)
        })?;
        self.records.supply(of_records, &|first, lists| take(count + first, lists))
    }

    fn goes_through_all(&self) -> bool {
        self.records.goes_through_all()
    }
}
