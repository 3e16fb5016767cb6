//! An index as it was at one moment: what readers see, whatever the writer does meanwhile.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::analyzer::Analyzer;
use super::failure::{damaged, failed, unreadable};
use super::live::Live;
use super::log::{self, Frame};
use super::manifest::{self, Addition, Manifest};
use super::memory;
use super::segment::Segment;
use super::stored::StoredColumns;
use crate::columns::Magic;
use crate::error::Result;
use crate::hash::{combine, hash_bytes};
use crate::plan::Plan;

/// What the file of deleted sequences begins with.
pub(super) const DELETED_MAGIC: Magic = *b"LKADELT\x01";

/// How often a reader tries again if the writer replaced the files that it was about to open.
const ATTEMPTS: usize = 20;

/// An index at one moment. Cheap to clone, and shared among threads.
#[derive(Clone, Debug)]
pub struct Snapshot(pub(super) Arc<State>);

/// What a snapshot consists of.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) path: PathBuf,
    pub(super) analyzer: Arc<Analyzer>,
    pub(super) store_text: bool,
    pub(super) lives: Vec<Live>,
    pub(super) log_bytes: u64,
    pub(super) next_sequence: u64,
    pub(super) additions: Arc<Vec<Addition>>,
    /// Of the index and the files that it consists of. No two files of an index ever have the same name.
    pub(super) files: u64,
}

/// An item of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it is called; no other item has the same id.
    pub id: String,
    /// The number of the write that made it: later writes have higher ones.
    pub sequence: u64,
    /// When it was written, in milliseconds since 1970.
    pub time: u64,
    /// How many different shingles or elements it has.
    pub shingles: u64,
    /// Its text, if the index stores texts.
    pub text: Option<String>,
}

/// What an index consists of.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// Items that can be found.
    pub items: u64,
    /// Items that are deleted but still take room.
    pub deleted: u64,
    /// Segments on disk and in memory: all are looked at by a query.
    pub segments: u64,
    /// Bytes of the segments and the log.
    pub bytes: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// The sequence of the last write.
    pub sequence: u64,
    /// Whether texts are stored.
    pub stores_text: bool,
}

impl Snapshot {
    /// Opens an index for reading, as it is now. A writer may be at work.
    pub fn open(path: &Path) -> Result<Self> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let manifest = Manifest::load(path)?;
            match State::load(path, &manifest) {
                // If the manifest has been replaced meanwhile, the log may speak of segments that were not there yet.
                Ok(state) if attempt == ATTEMPTS || Manifest::load(path)? == manifest => {
                    return Ok(Self(Arc::new(state)));
                }
                Ok(_) => {}
                // The writer may have replaced what the manifest listed.
                Err(error) if attempt == ATTEMPTS || Manifest::load(path)? == manifest => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// The plan that the index was made for.
    pub fn plan(&self) -> &Plan {
        self.0.analyzer.plan()
    }

    /// How many items there are.
    pub fn len(&self) -> u64 {
        self.0.lives.iter().map(|live| live.len() as u64).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item with this id.
    pub fn get(&self, id: &str) -> Result<Option<Item>> {
        match self.0.find(id)? {
            Some((live, item)) => self.item(live, item).map(Some),
            None => Ok(None),
        }
    }

    /// All items, in no order.
    pub fn items(&self) -> impl Iterator<Item = Result<Item>> + '_ {
        self.0.lives.iter().flat_map(|live| live.items().map(|item| self.item(live, item)))
    }

    fn item(&self, live: &Live, item: u32) -> Result<Item> {
        let segment = &live.segment;
        Ok(Item {
            id: segment.id(item)?.into(),
            sequence: segment.sequence(item)?,
            time: segment.time(item)?,
            shingles: segment.set_size(item)? as u64,
            text: segment.text(item)?.map(str::to_owned),
        })
    }

    /// What the index consists of.
    pub fn info(&self) -> Info {
        let lives = &self.0.lives;
        let on_disk = lives.iter().filter(|live| live.segment.name().is_some());
        Info {
            items: self.len(),
            deleted: lives.iter().map(|live| live.deleted() as u64).sum(),
            segments: lives.len() as u64,
            bytes: on_disk.map(|live| live.segment.size()).sum::<u64>() + self.0.log_bytes,
            log_bytes: self.0.log_bytes,
            sequence: self.0.next_sequence - 1,
            stores_text: self.0.store_text,
        }
    }

    /// The index as if nothing had been added under this name ([`Index::adopt_addition`]); None if nothing was. What the addition
    /// replaced is not there either.
    ///
    /// [`Index::adopt_addition`]: super::Index::adopt_addition
    pub fn without_addition(&self, name: &str) -> Result<Option<Self>> {
        let Some(sequences) = self.0.addition(name) else { return Ok(None) };
        let mut state = State::clone(&self.0);
        state.lives.iter_mut().try_for_each(|live| live.delete_range(sequences.clone()))?;
        state.files = combine(&[state.files, hash_bytes(name.as_bytes())]);
        Ok(Some(Self(Arc::new(state))))
    }

    /// A number that is another one for another index, or another state of it.
    pub fn state(&self) -> u64 {
        combine(&[self.0.files, self.0.log_bytes, self.0.next_sequence])
    }

    /// Looks at every byte of the index, and at what must hold between them. How many items are fine.
    pub fn check(&self) -> Result<u64> {
        for live in &self.0.lives {
            live.segment.check()?;
            for item in live.items() {
                let id = live.segment.id(item)?;
                let same = self.0.lives.iter().map(|live| live.with_id(id).map(|found| usize::from(found.is_some())));
                if same.sum::<Result<usize>>()? != 1 {
                    return Err(failed(format!("the index {} holds the id {id:?} twice", self.0.path.display()))
                        .advise("build it again"));
                }
            }
        }
        Ok(self.len())
    }
}

impl State {
    /// Reads what a manifest lists.
    fn load(path: &Path, manifest: &Manifest) -> Result<Self> {
        let mut state = Self::without_logs(path, manifest)?;
        let (current, earlier) = manifest.logs.split_last().ok_or_else(|| damaged(&path.join(manifest::NAME)))?;
        earlier.iter().try_for_each(|name| state.replay_whole(name, manifest.stamp()))?;
        let log = path.join(current);
        let (frames, length) = log::read(&log, manifest.stamp())?;
        state.replay(&frames, &log, manifest.stamp())?;
        state.log_bytes += log::frame_bytes(length);
        Ok(state)
    }

    /// What a manifest lists, but for its logs.
    pub(super) fn without_logs(path: &Path, manifest: &Manifest) -> Result<Self> {
        let analyzer = Arc::new(Analyzer::new(&manifest.plan(path)?));
        let mut lives = Vec::new();
        for listed in &manifest.segments {
            let segment = Segment::open(path, &listed.name, manifest.stamp(), analyzer.slots())?;
            if segment.size() != listed.bytes || segment.has_texts() != manifest.store_text {
                return Err(damaged(&segment.path()));
            }
            lives.push(Live::new(Arc::new(segment)));
        }
        if let Some(name) = &manifest.deleted {
            let file = StoredColumns::map(&path.join(name), DELETED_MAGIC, manifest.stamp())?;
            let sequences = file.column(0)?;
            lives.iter_mut().try_for_each(|live| live.delete(sequences))?;
        }
        Ok(Self {
            path: path.into(),
            analyzer,
            store_text: manifest.store_text,
            lives,
            log_bytes: 0,
            next_sequence: manifest.next_sequence,
            additions: Arc::new(manifest.additions.clone()),
            files: manifest.files(),
        })
    }

    /// Does again what a log did that is not appended to any more.
    pub(super) fn replay_whole(&mut self, name: &str, stamp: u128) -> Result<()> {
        let path = self.path.join(name);
        let (frames, length) = log::read(&path, stamp)?;
        let size = path.metadata().map_err(|error| unreadable(&path, &error))?.len();
        if length < size {
            return Err(damaged(&path));
        }
        self.log_bytes += log::frame_bytes(length);
        self.replay(&frames, &path, stamp)
    }

    /// Does again what the frames of a log did.
    pub(super) fn replay(&mut self, frames: &[Frame], path: &Path, stamp: u128) -> Result<()> {
        frames.iter().try_for_each(|frame| self.apply(frame, path, stamp, |_| true))
    }

    /// Does what a commit does. Segments in memory that `may_go` are merged as they pile up.
    pub(super) fn apply(
        &mut self,
        frame: &Frame,
        path: &Path,
        stamp: u128,
        may_go: impl Fn(&Segment) -> bool,
    ) -> Result<()> {
        self.lives.iter_mut().try_for_each(|live| live.delete(&frame.deleted))?;
        if !frame.added.is_empty() {
            let segment = Segment::of_bytes(path, &frame.added, stamp, self.analyzer.slots())?;
            self.next_sequence = self.next_sequence.max(segment.sequence_bounds().1 + 1);
            self.lives.push(Live::new(Arc::new(segment)));
            memory::tidy(&mut self.lives, path, stamp, self.analyzer.slots(), may_go)?;
        }
        Ok(())
    }

    /// The sequences of what was added under this name.
    pub(super) fn addition(&self, name: &str) -> Option<Range<u64>> {
        self.additions.iter().find(|addition| addition.name == name).map(|addition| addition.sequences.clone())
    }

    /// The item with this id.
    pub(super) fn find(&self, id: &str) -> Result<Option<(&Live, u32)>> {
        // The newest are asked for most often.
        for live in self.lives.iter().rev() {
            if let Some(item) = live.with_id(id)? {
                return Ok(Some((live, item)));
            }
        }
        Ok(None)
    }
}
