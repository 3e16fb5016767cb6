//! Merging beside the writer: which segments become one, and the thread that does it.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::folder::Folder;
use super::live::Live;
use super::merge::merge;
use super::segment::{MAGIC, Segment};
use crate::error::{Error, ErrorKind, Result};

/// So many segments of like size become one.
const FEWEST: usize = 8;
/// Segments are of like size if their sizes lie within the same power of this.
const LIKE: u64 = 8;
/// Segments up to this size are all of like size.
const SMALL_BYTES: u64 = 16 << 20;
/// Larger segments are merged only when somebody asks for it.
const LARGEST_BYTES: u64 = 16 << 30;

/// A merge that is under way.
#[derive(Debug)]
pub(super) struct Job {
    thread: JoinHandle<Result<Option<Segment>>>,
    /// What is merged.
    sources: Vec<Arc<Segment>>,
    /// Logs that are of no use once the merged segment is there.
    logs: Vec<String>,
    /// What the merged segment is called.
    pub(super) name: String,
}

impl Job {
    /// Begins to merge.
    pub(super) fn start(folder: &Folder, name: String, sources: Vec<Live>, logs: Vec<String>, slots: usize) -> Self {
        let segments = sources.iter().map(|live| Arc::clone(&live.segment)).collect();
        let (folder, file) = (folder.clone(), name.clone());
        let thread = std::thread::spawn(move || write_merged(&folder, &file, &sources, slots));
        Self { thread, sources: segments, logs, name }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Whether a segment is being merged.
    pub(super) fn has(&self, segment: &Segment) -> bool {
        self.sources.iter().any(|source| std::ptr::eq(&**source, segment))
    }

    /// Waits for the merged segment; none if nothing is left of its sources.
    pub(super) fn wait(self) -> (Result<Option<Segment>>, Vec<Arc<Segment>>, Vec<String>) {
        let merged =
            self.thread.join().unwrap_or_else(|_| Err(Error::new(ErrorKind::Index, "a merge of segments failed")));
        (merged, self.sources, self.logs)
    }
}

/// Merges segments into a new file.
pub(super) fn write_merged(folder: &Folder, name: &str, sources: &[Live], slots: usize) -> Result<Option<Segment>> {
    if sources.iter().all(|live| live.len() == 0) {
        return Ok(None);
    }
    let mut file = folder.create_columns(name, MAGIC)?;
    merge(sources, &mut file.columns, &folder.file(name))?;
    file.finish()?;
    Segment::open(&folder.path, name, folder.stamp, slots).map(Some)
}

/// The segments on disk that should become one, if any.
pub(super) fn worth_merging(lives: &[Live]) -> Option<Vec<Live>> {
    let on_disk = || lives.iter().filter(|live| live.segment.name().is_some());
    // More than half of it is deleted: written anew, it takes half the room.
    if let Some(emptied) = on_disk().find(|live| live.deleted() > live.len()) {
        return Some(vec![emptied.clone()]);
    }
    let tier = |live: &Live| (live.segment.size() / SMALL_BYTES).max(1).ilog(LIKE);
    let mut tiers: Vec<Vec<Live>> = Vec::new();
    for live in on_disk().filter(|live| live.segment.size() < LARGEST_BYTES / FEWEST as u64) {
        let tier = tier(live) as usize;
        tiers.resize(tiers.len().max(tier + 1), Vec::new());
        tiers[tier].push(live.clone());
    }
    tiers.into_iter().find(|tier| tier.len() >= FEWEST)
}
