//! From inputs to the items of an index, on all threads.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use lookalike::index::{Loaded, Loader, Snapshot};
use lookalike::{Batch, Content, Index, RecordNumber, Stage, Watch};
use lookalike_io::{Chunk, Parsed, Reader, read_all};
use rayon::prelude::*;

use crate::interrupt;
use crate::memory::Budget;
use crate::names::{Records, Stretch};
use crate::progress::Progress;
use crate::skipped;

/// Memory for the segment that a thread fills: fewer and larger segments are quicker to search.
const MOST_SEGMENT_BYTES: u64 = 512 << 20;

/// What was loaded into an index.
pub(crate) struct Load {
    pub(crate) records: Records,
    /// How many items it replaced.
    pub(crate) replaced: u64,
}

/// Puts all records of these inputs into an index.
pub(crate) fn load(index: &mut Index, reader: &Reader, budget: &Budget, progress: &Progress) -> Result<Load> {
    progress.begin(Stage::Read, Some(reader.inputs().iter().map(|input| input.size).sum()));
    let loader = index.loader(segment_memory(budget));
    let take = |(loader, stretches): &mut (Loader, Vec<(u64, Stretch)>), chunk: &Chunk, parsed: &mut Parsed| {
        loader.push(chunk.order, &parsed.batch)?;
        progress.count_records(parsed.batch.len() as u64);
        progress.advance(chunk.file_bytes);
        stretches.push((chunk.order, Stretch::take(chunk.input, parsed)));
        Ok::<_, anyhow::Error>(())
    };
    let threads = budget.threads();
    let states = read_all(reader, threads, interrupt::flag(), || (loader.clone(), Vec::new()), take)?;
    let (loaders, stretches): (Vec<Loader>, Vec<Vec<(u64, Stretch)>>) = states.into_iter().unzip();
    let loaded = finish(loaders)?;
    let mut stretches: Vec<(u64, Stretch)> = stretches.into_iter().flatten().collect();
    stretches.sort_by_key(|(order, _)| *order);
    let stretches = stretches.into_iter().map(|(_, stretch)| stretch).collect();
    let records = Records::new(reader.inputs().to_vec(), 0, stretches);
    skipped::refuse_if_all(&records, records.len() == 0)?;
    check_places(&index.snapshot(), &records, (0..records.len()).filter(|record| records.is_called_by_place(*record)))?;
    let replaced = adopt(index, loaded, |record| records.name(record), None, progress).map_err(|error| {
        // If it is for an id that stands twice, say where.
        records.check_ids().err().unwrap_or(error)
    })?;
    Ok(Load { records, replaced })
}

/// Refuses records that are called by their place and would replace others that were called so: those of another file of that
/// name. Tells how many would be replaced by their ids.
pub(crate) fn check_places(
    snapshot: &Snapshot,
    records: &Records,
    added: impl IntoIterator<Item = usize>,
) -> Result<u64> {
    let mut replaced = 0;
    if snapshot.is_empty() {
        return Ok(replaced);
    }
    for record in added {
        let name = records.name(record);
        if snapshot.get(&name)?.is_none() {
            continue;
        }
        if records.is_called_by_place(record) {
            bail!(
                "the index has an item {name:?} already, which this record without an id would replace; name the field with the \
                 ids (--id), or call the file by another name"
            );
        }
        replaced += 1;
    }
    Ok(replaced)
}

/// How records are called that are added to an index.
pub(crate) struct Called<'a> {
    /// The records, in input order.
    pub(crate) names: Vec<Cow<'a, str>>,
    /// All of them together, if the index is to remember that.
    pub(crate) addition: Option<&'a str>,
}

/// Puts the records of these inputs into an index that are `wanted`. `check` tells if the inputs are still what they were when they
/// got their names.
pub(crate) fn load_some(
    index: &mut Index,
    reader: &Reader,
    budget: &Budget,
    wanted: impl Fn(RecordNumber) -> bool + Sync,
    called: &Called<'_>,
    check: impl FnOnce() -> lookalike_io::Result<()>,
    progress: &Progress,
) -> Result<u64> {
    let loader = index.loader(segment_memory(budget));
    let take = |(loader, batch): &mut (Loader, Batch), chunk: &Chunk, parsed: &mut Parsed| {
        batch.clear();
        for (record, number) in parsed.batch.numbers().iter().enumerate().filter(|(_, number)| wanted(**number)) {
            match parsed.batch.content(record) {
                Content::Text(text) => batch.push_text(*number, text),
                Content::Set(items) => batch.push_set(*number, items.iter().copied()),
            }
        }
        loader.push(chunk.order, batch)?;
        Ok::<_, anyhow::Error>(())
    };
    let start = || (loader.clone(), Batch::new());
    let states = read_all(reader, budget.threads(), interrupt::flag(), start, take)?;
    let loaded = finish(states.into_iter().map(|(loader, _)| loader).collect())?;
    check()?;
    adopt(index, loaded, |record| Cow::Borrowed(&*called.names[record]), called.addition, progress)
}

/// Writes what the loaders still have, all at the same time.
fn finish(loaders: Vec<Loader>) -> Result<Vec<Loaded>> {
    let finished = loaders.into_par_iter().map(Loader::finish).collect::<lookalike::Result<Vec<_>>>()?;
    Ok(finished.into_iter().flatten().collect())
}

fn adopt<'a>(
    index: &mut Index,
    loaded: Vec<Loaded>,
    name: impl Fn(usize) -> Cow<'a, str> + Sync,
    addition: Option<&str>,
    progress: &Progress,
) -> Result<u64> {
    progress.begin(Stage::Write, None);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let replaced = match addition {
        Some(addition) => index.adopt_addition(addition, loaded, name, now)?,
        None => index.adopt_loaded(loaded, name, now)?,
    };
    settle(index, progress);
    Ok(replaced)
}

/// Waits until nothing is merged any more, and says if something could not be.
pub(crate) fn settle(index: &mut Index, progress: &Progress) {
    index.settle();
    if let Some(error) = index.take_trouble() {
        progress.note(&format!("{NOT_MERGED}: {error}"));
    }
}

/// What a merge that failed means.
pub(crate) const NOT_MERGED: &str =
    "all is written, but segments could not be merged, which is tried again with a later write";

fn segment_memory(budget: &Budget) -> usize {
    (budget.bytes / (3 * budget.threads() as u64)).min(MOST_SEGMENT_BYTES) as usize
}
