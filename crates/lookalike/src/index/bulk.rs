//! Many items at once, on all threads: each thread fills segments of its own, and the index takes them together.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::analyzer::Analyzer;
use super::failure::{failed, unwritable};
use super::folder::{Folder, HiddenColumns};
use super::live::Live;
use super::manifest::Addition;
use super::segment::{Contents, MAGIC, Owners, Segment};
use super::table::item_of;
use super::writer::Index;
use crate::batch::{Batch, Content};
use crate::error::Result;
use crate::shingle::Shingler;

/// Fills segments with batches of records. One a thread.
///
/// What the records are called, and their sequences, is said at the end ([`Index::adopt_loaded`]): who reads in parallel
/// knows only then how many records stand before one.
pub struct Loader {
    folder: Folder,
    analyzer: Arc<Analyzer>,
    names: Arc<AtomicU64>,
    shingler: Shingler,
    store_text: bool,
    memory: usize,
    /// The open segment: its file, once there is one, what is still in memory of it, and its batches by order and number
    /// of records.
    file: Option<HiddenColumns>,
    contents: Contents,
    batches: Vec<(u64, usize)>,
    loaded: Vec<Loaded>,
}

/// Bytes in memory that are worth writing.
const WORTH_WRITING: usize = 1 << 20;

/// A segment whose items have no names yet.
pub struct Loaded {
    file: HiddenColumns,
    batches: Vec<(u64, usize)>,
}

impl Index {
    /// What fills segments until they take about so many bytes of memory; clone it for every thread. On disk a segment
    /// takes several times as much.
    pub fn loader(&mut self, memory: usize) -> Loader {
        Loader {
            folder: self.folder().clone(),
            analyzer: Arc::clone(self.analyzer()),
            names: Arc::default(),
            shingler: self.plan().shingler(),
            store_text: self.stores_text(),
            memory,
            file: None,
            contents: Contents::default(),
            batches: Vec::new(),
            loaded: Vec::new(),
        }
    }

    /// Takes what loaders have loaded into the index and commits it. Records come in the order of their batches; `name`
    /// says what a record is called, by its index in that order. Items with the same ids are replaced, and it is said how
    /// many; two new records with the same id are refused, and nothing changes.
    pub fn adopt_loaded<'a>(
        &mut self,
        loaded: Vec<Loaded>,
        name: impl Fn(usize) -> Cow<'a, str> + Sync,
        time: u64,
    ) -> Result<u64> {
        self.adopt_as(None, loaded, name, time)
    }

    /// [`Index::adopt_loaded`], and the addition is remembered under a name, so that somebody who adds the same again can look
    /// at the index without it ([`Snapshot::without_addition`]). It takes the place of an earlier one with the same name. Of very
    /// many additions the oldest are forgotten.
    ///
    /// [`Snapshot::without_addition`]: super::Snapshot::without_addition
    pub fn adopt_addition<'a>(
        &mut self,
        addition: &str,
        loaded: Vec<Loaded>,
        name: impl Fn(usize) -> Cow<'a, str> + Sync,
        time: u64,
    ) -> Result<u64> {
        self.adopt_as(Some(addition), loaded, name, time)
    }

    fn adopt_as<'a>(
        &mut self,
        addition: Option<&str>,
        loaded: Vec<Loaded>,
        name: impl Fn(usize) -> Cow<'a, str> + Sync,
        time: u64,
    ) -> Result<u64> {
        self.commit()?;
        let files: Vec<String> = loaded.iter().map(|_| self.name_segment()).collect();
        let adopted = self.own(loaded, &files, name, time).and_then(|(added, sequences)| {
            refuse_same_ids(&added)?;
            let mut gone = self.replaced_by(&added)?;
            let replaced = gone.len() as u64;
            // What the same addition left the last time under other ids goes too.
            let committed = self.snapshot().0;
            if let Some(earlier) = addition.and_then(|name| committed.addition(name)) {
                for live in &committed.lives {
                    gone.append(&mut live.sequences_in(earlier.clone())?);
                }
            }
            self.adopt(added, &gone, addition.map(|name| Addition { name: name.into(), sequences }))?;
            Ok(replaced)
        });
        if adopted.is_err() {
            files.iter().for_each(|file| self.discard(file));
        }
        self.tend();
        adopted
    }

    /// Says whose the loaded items are, and gives the segments these names. Tells their sequences.
    fn own<'a>(
        &mut self,
        loaded: Vec<Loaded>,
        files: &[String],
        name: impl Fn(usize) -> Cow<'a, str> + Sync,
        time: u64,
    ) -> Result<(Vec<Live>, Range<u64>)> {
        let mut batches: Vec<(u64, usize)> = loaded.iter().flat_map(|loaded| loaded.batches.iter().copied()).collect();
        batches.sort_unstable();
        let (mut firsts, mut records) = (HashMap::new(), 0);
        for (order, count) in batches {
            firsts.insert(order, records);
            records += count;
        }
        let sequence = self.take_sequences(records as u64);
        let (folder, slots) = (self.folder(), self.analyzer().slots());
        let finish = |(Loaded { mut file, batches }, segment): (Loaded, &String)| {
            let mut owners = Owners::default();
            for record in batches.iter().flat_map(|(order, count)| firsts[order]..firsts[order] + count) {
                owners.push(&name(record), sequence + record as u64, time);
            }
            owners.write(&mut file.columns).map_err(|error| unwritable(&file.path, &error))?;
            file.rename_to(&folder.file(segment));
            file.finish()?;
            let segment = Segment::open(&folder.path, segment, folder.stamp, slots)?;
            Ok(Live::new(Arc::new(segment)))
        };
        let added = loaded.into_par_iter().zip(files).map(finish).collect::<Result<_>>()?;
        Ok((added, sequence..sequence + records as u64))
    }

    /// The sequences of the items that have the same ids as these.
    fn replaced_by(&self, added: &[Live]) -> Result<Vec<u64>> {
        let committed = self.snapshot().0;
        let old_one = |segment: &Segment, item: u32| match committed.find(segment.id(item)?)? {
            Some((old, item)) => old.segment.sequence(item).map(Some),
            None => Ok(None),
        };
        let pieces = added.iter().map(|live| {
            let items = (0..live.segment.len() as u32).into_par_iter();
            items.map(|item| old_one(&live.segment, item)).collect::<Result<Vec<_>>>()
        });
        Ok(pieces.collect::<Result<Vec<_>>>()?.into_iter().flatten().flatten().collect())
    }
}

impl Clone for Loader {
    fn clone(&self) -> Self {
        Self {
            folder: self.folder.clone(),
            analyzer: Arc::clone(&self.analyzer),
            names: Arc::clone(&self.names),
            shingler: self.shingler.clone(),
            file: None,
            contents: Contents::default(),
            batches: Vec::new(),
            loaded: Vec::new(),
            ..*self
        }
    }
}

impl Loader {
    /// Adds a batch. Batches are numbered by their place among all that are loaded.
    pub fn push(&mut self, order: u64, batch: &Batch) -> Result<()> {
        let is_behind = self.batches.last().is_some_and(|(last, _)| *last > order);
        if self.contents.bytes() >= self.memory || is_behind {
            self.end_segment()?;
        }
        for record in 0..batch.len() {
            let content = batch.content(record);
            let text = self.store_text.then_some(match content {
                Content::Text(text) => text,
                Content::Set(_) => "",
            });
            self.contents.push(&self.analyzer.analyze(&mut self.shingler, content), text);
        }
        self.batches.push((order, batch.len()));
        if self.contents.set_bytes() >= WORTH_WRITING {
            let (contents, file) = self.open_file()?;
            contents.write_sets(&mut file.columns).map_err(|error| unwritable(&file.path, &error))?;
            file.sync_beside();
        }
        Ok(())
    }

    /// What is in memory of the open segment, and its file.
    fn open_file(&mut self) -> Result<(&mut Contents, &mut HiddenColumns)> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let name = format!("segment-load-{}", self.names.fetch_add(1, Ordering::Relaxed));
                self.folder.create_columns(&name, MAGIC)?
            }
        };
        Ok((&mut self.contents, self.file.insert(file)))
    }

    /// Writes what is open, and gives back all that was loaded.
    pub fn finish(mut self) -> Result<Vec<Loaded>> {
        self.end_segment()?;
        Ok(self.loaded)
    }

    fn end_segment(&mut self) -> Result<()> {
        if self.contents.len() == 0 {
            return Ok(());
        }
        let (contents, file) = self.open_file()?;
        std::mem::take(contents).write(&mut file.columns).map_err(|error| unwritable(&file.path, &error))?;
        let batches = std::mem::take(&mut self.batches);
        self.loaded.extend(self.file.take().map(|file| Loaded { file, batches }));
        Ok(())
    }
}

/// Refuses new segments in which two items have the same id.
fn refuse_same_ids(lives: &[Live]) -> Result<()> {
    let mut entries: Vec<(u32, u32, u32)> = Vec::new();
    for (at, live) in (0u32..).zip(lives) {
        entries.extend(live.segment.id_entries()?.iter().map(|entry| ((entry >> 32) as u32, at, item_of(*entry))));
    }
    entries.sort_unstable();
    for same_key in entries.chunk_by(|left, right| left.0 == right.0).filter(|chunk| chunk.len() > 1) {
        let ids = same_key.iter().map(|(_, at, item)| lives[*at as usize].segment.id(*item));
        let mut ids = ids.collect::<Result<Vec<_>>>()?;
        ids.sort_unstable();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(failed(format!("the id {:?} occurs twice", twice[0]))
                .advise("ids must differ; name another field with --id, or number the records with --id none"));
        }
    }
    Ok(())
}
