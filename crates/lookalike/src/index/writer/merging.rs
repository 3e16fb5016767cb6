//! What becomes one segment, beside the writer or at once, and how it takes the place of what it is made of.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Index;
use crate::error::{Error, Result};
use crate::index::background::{Job, worth_merging, write_merged};
use crate::index::live::Live;
use crate::index::log::Log;
use crate::index::segment::Segment;
use crate::index::snapshot::State;

/// What failed beside the writer is not tried again for so long.
const PATIENCE: Duration = Duration::from_secs(5);

impl Index {
    /// Begins what should be done beside the writer: the logs become a segment, or segments become one. If that fails, it
    /// is tried again after a later commit; what is committed is safe.
    pub(in crate::index) fn tend(&mut self) {
        if self.job.is_some() || self.failed.is_some_and(|failed| failed.elapsed() < PATIENCE) {
            return;
        }
        let slots = self.analyzer().slots();
        if self.committed.0.log_bytes >= self.log_limit {
            match self.end_logs() {
                Ok(logs) => {
                    let name = self.name_segment();
                    self.job = Some(Job::start(&self.folder, name, self.in_memory(), logs, slots));
                }
                Err(error) => self.has_failed(error),
            }
        } else if let Some(sources) = worth_merging(&self.committed.0.lives) {
            let name = self.name_segment();
            self.job = Some(Job::start(&self.folder, name, sources, Vec::new(), slots));
        }
    }

    pub(super) fn in_memory(&self) -> Vec<Live> {
        self.committed.0.lives.iter().filter(|live| live.segment.name().is_none()).cloned().collect()
    }

    /// The logs that hold something; what is committed from now on goes to another.
    fn end_logs(&mut self) -> Result<Vec<String>> {
        let mut logs = self.manifest.logs.clone();
        if self.log.bytes() > 0 {
            self.begin_log()?;
        } else {
            logs.retain(|log| *log != self.log.name);
        }
        Ok(logs)
    }

    /// Begins a new log behind those that there are.
    fn begin_log(&mut self) -> Result<()> {
        let name = self.manifest.name_file("log");
        let log = Log::create(&self.folder.path, &name, self.folder.stamp)?;
        let state = self.snapshot().0;
        self.replace_manifest(&state, |manifest| manifest.logs.push(name))?;
        self.log = log;
        Ok(())
    }

    /// Puts a merged segment in the place of its sources, if it is finished, or waits for it. If it failed, its sources
    /// stay as they are. Whether there was one.
    pub(super) fn take_merged(&mut self, wait: bool) -> bool {
        let Some(job) = self.job.take_if(|job| wait || job.is_finished()) else { return false };
        let name = job.name.clone();
        let (merged, sources, logs) = job.wait();
        match merged.and_then(|merged| self.install(merged, &sources, &logs)) {
            Ok(()) => true,
            Err(error) => {
                self.discard(&name);
                self.has_failed(error);
                false
            }
        }
    }

    fn has_failed(&mut self, error: Error) {
        (self.trouble, self.failed) = (Some(error), Some(Instant::now()));
    }

    /// Why segments could not be merged, if that happened since somebody asked last. What is committed is safe; but the index
    /// takes more room and time than it should until a merge succeeds.
    pub fn take_trouble(&mut self) -> Option<Error> {
        self.trouble.take()
    }

    fn install(&mut self, merged: Option<Segment>, sources: &[Arc<Segment>], logs: &[String]) -> Result<()> {
        let mut state = State::clone(&self.committed.0);
        let is_source = |live: &Live| sources.iter().any(|source| Arc::ptr_eq(source, &live.segment));
        // What was deleted while the merge was under way.
        let mut deleted = Vec::new();
        for live in state.lives.iter().filter(|live| is_source(live)) {
            deleted.append(&mut live.deleted_sequences()?);
        }
        state.lives.retain(|live| !is_source(live));
        if let Some(merged) = merged {
            let mut live = Live::new(Arc::new(merged));
            live.delete(&deleted)?;
            state.lives.push(live);
            state.lives.sort_by_key(|live| live.segment.name().is_none());
        }
        self.replace_manifest(&state, |manifest| manifest.logs.retain(|log| !logs.contains(log)))?;
        if !logs.is_empty() {
            state.log_bytes = self.log.bytes();
        }
        self.publish(state);
        (self.trouble, self.failed) = (None, None);
        Ok(())
    }

    /// Makes one segment of everything that is committed, and removes what is deleted for good.
    pub fn compact(&mut self) -> Result<()> {
        self.take_merged(true);
        let lives = self.committed.0.lives.clone();
        let is_compact =
            lives.len() <= 1 && lives.iter().all(|live| live.deleted() == 0 && live.segment.name().is_some());
        if is_compact && self.log.bytes() == 0 { Ok(()) } else { self.merge_now(&lives) }
    }

    /// Makes a segment of what is in the log.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.take_merged(true);
        self.merge_now(&self.in_memory())
    }

    /// Makes one segment of these, with all that are in memory among them, and begins the log anew.
    fn merge_now(&mut self, lives: &[Live]) -> Result<()> {
        let logs = self.end_logs()?;
        let name = self.name_segment();
        let sources: Vec<Arc<Segment>> = lives.iter().map(|live| Arc::clone(&live.segment)).collect();
        let merged = write_merged(&self.folder, &name, lives, self.analyzer().slots());
        merged.and_then(|merged| self.install(merged, &sources, &logs)).inspect_err(|_| self.discard(&name))
    }

    /// Waits until nothing is merged in the background any more, or cannot be.
    pub fn settle(&mut self) {
        self.take_merged(true);
        self.failed = None;
        self.tend();
        while self.take_merged(true) {
            self.tend();
        }
    }
}
