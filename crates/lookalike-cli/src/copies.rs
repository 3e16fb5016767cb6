//! Records that are kept are copied to the output while others are still being verified: a disk is slow, and has nothing else
//! to do then.

use std::iter::Peekable;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;

use anyhow::Result;
use lookalike::{Decided, Error, Outcome, RecordNumber};
use lookalike_io::{AtomicFile, FinishedFile, Input, RawSpan, Rewrite, can_be_taken_back, is_copied, rewrite_to_file};

use crate::names::Records;

/// Where there are several inputs, they are copied one after another if they have so many bytes; smaller ones are better
/// written many at a time.
const LARGE: u64 = 1 << 25;
/// So much may be told before it is copied.
const TOLD_AHEAD: usize = 1 << 16;
/// Bytes between two questions whether the copies are still wanted.
const BETWEEN_QUESTIONS: u64 = 1 << 26;

/// Copies of inputs without what is dropped, made beside the run that decides it. Given up before they are finished, they
/// leave nothing behind.
pub(crate) struct Copies {
    /// None once there is nothing more to tell.
    tell: Option<SyncSender<Told>>,
    /// Gives nothing if it was given up.
    copying: Option<JoinHandle<Result<Option<Vec<FinishedFile>>>>>,
    is_given_up: Arc<AtomicBool>,
    /// How many records have been decided.
    decided: AtomicUsize,
}

/// What is told to the thread that copies, in input order.
#[derive(Clone, Copy)]
enum Told {
    /// A stretch of an input is left out, and what lies before it and was not told of is kept, or bad.
    LeftOut(usize, RawSpan),
    Everything,
}

/// An input, what is bad in it, and where its copy goes.
struct Copied {
    index: usize,
    input: Input,
    bad: Vec<RawSpan>,
    path: PathBuf,
}

impl Copies {
    /// Begins to copy the new inputs to these files, unless they are better written when all is known.
    pub(crate) fn begin(records: &Records, paths: &[PathBuf]) -> Option<Self> {
        let copied: Vec<Copied> = records
            .new_inputs()
            .zip(paths)
            .map(|((index, input), path)| Copied {
                index,
                input: input.clone(),
                bad: records.bad_of_input(index).collect(),
                path: path.clone(),
            })
            .collect();
        let is_worth_it = copied.len() == 1 || copied.iter().all(|copied| copied.input.size >= LARGE);
        // Deciding on the way reads inputs in steps, which takes those long that cannot be begun anywhere.
        let are_plain = records.inputs().iter().all(|input| is_copied(input, Rewrite::default()));
        if !is_worth_it || !are_plain || !copied.iter().all(Copied::can_be_copied) {
            return None;
        }
        let is_given_up = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::sync_channel(TOLD_AHEAD);
        let is_unwanted = Arc::clone(&is_given_up);
        let copying = std::thread::spawn(move || {
            let mut told = told.into_iter().peekable();
            copied.iter().map(|copied| copied.copy(&mut told, &is_unwanted)).collect()
        });
        Some(Self { tell: Some(tell), copying: Some(copying), is_given_up, decided: AtomicUsize::new(0) })
    }

    /// Hears what was decided so far. If copying has failed there is no use in deciding more.
    pub(crate) fn hear(&self, records: &Records, decided: Decided<'_>) -> Result<(), Error> {
        let dropped = decided.dropped.iter().map(|record| *record as usize);
        let is_heard = self.tell(dropped.map(|record| (decided.numbers[record], records.raw_length(record))))
            // Nothing is left out up to the next record, and so much may be copied.
            && self.tell(decided.numbers.get(decided.behind).map(|number| (*number, 0)));
        self.decided.store(decided.behind, Ordering::Relaxed);
        if is_heard { Ok(()) } else { Err(Error::cancelled()) }
    }

    /// Hears all, and waits until the copies are whole and durable. They have yet to appear.
    pub(crate) fn finish(mut self, records: &Records, outcome: &Outcome) -> Result<Vec<FinishedFile>> {
        let rest = self.decided.load(Ordering::Relaxed).max(outcome.old())..outcome.len();
        let dropped = rest.filter(|record| !outcome.is_kept(*record));
        self.tell(dropped.map(|record| (outcome.numbers()[record], records.raw_length(record))));
        if let Some(tell) = self.tell.take() {
            let _ = tell.send(Told::Everything);
        }
        Ok(self.join()?.unwrap_or_default())
    }

    /// Why copying failed, if it did; otherwise it is given up.
    pub(crate) fn failure(mut self) -> Option<anyhow::Error> {
        self.give_up();
        self.join().err()
    }

    fn give_up(&mut self) {
        self.is_given_up.store(true, Ordering::Relaxed);
        self.tell = None;
    }

    fn join(&mut self) -> Result<Option<Vec<FinishedFile>>> {
        match self.copying.take().map(JoinHandle::join) {
            Some(Ok(files)) => files,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(None),
        }
    }

    /// Whether somebody hears it.
    fn tell(&self, spans: impl IntoIterator<Item = (RecordNumber, u32)>) -> bool {
        let Some(tell) = &self.tell else { return false };
        spans.into_iter().all(|(number, length)| {
            let span = RawSpan { position: number.position(), length: length.into() };
            tell.send(Told::LeftOut(number.input(), span)).is_ok()
        })
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        self.give_up();
        // Until what was written is removed again.
        let _ = self.copying.take().map(JoinHandle::join);
    }
}

impl Copied {
    /// Whether it is a copy, and goes where it can be taken back.
    fn can_be_copied(&self) -> bool {
        can_be_taken_back(&self.path) && is_copied(&self.input, Rewrite::to_file(&self.input, &self.path))
    }

    /// Nothing if it was given up.
    fn copy(
        &self,
        told: &mut Peekable<mpsc::IntoIter<Told>>,
        is_unwanted: &AtomicBool,
    ) -> Result<Option<FinishedFile>> {
        let mut file = AtomicFile::create_with_folders(&self.path)?;
        let bad = self.bad.iter().copied().peekable();
        let (index, size) = (self.index, self.input.size);
        let mut left_out = LeftOut { index, size, told, bad, is_unwanted, behind: 0, is_given_up: false };
        rewrite_to_file(&self.input, &mut left_out, Rewrite::default(), &mut file)
            .map_err(|error| error.at_file(&self.path))?;
        if left_out.is_given_up {
            return Ok(None);
        }
        Ok(Some(file.finish()?))
    }
}

/// What is left out of an input, bad or dropped, as it becomes known.
struct LeftOut<'a, B: Iterator> {
    index: usize,
    /// Bytes of the input.
    size: u64,
    told: &'a mut Peekable<mpsc::IntoIter<Told>>,
    bad: Peekable<B>,
    is_unwanted: &'a AtomicBool,
    /// Where the last stretch ended.
    behind: u64,
    is_given_up: bool,
}

impl<B: Iterator<Item = RawSpan>> Iterator for LeftOut<'_, B> {
    type Item = RawSpan;

    fn next(&mut self) -> Option<RawSpan> {
        if self.is_given_up {
            return None;
        }
        // Marks may stand in inputs that are only compared with.
        while self.told.next_if(|told| matches!(told, Told::LeftOut(index, _) if *index < self.index)).is_some() {}
        let is_unwanted = self.is_unwanted.load(Ordering::Relaxed);
        let dropped = match self.told.peek().filter(|_| !is_unwanted) {
            Some(Told::LeftOut(index, span)) => Some(*span).filter(|_| *index == self.index),
            Some(Told::Everything) => None,
            None => {
                // There is no more to come. What would be copied is of no use to anybody.
                self.is_given_up = true;
                return Some(RawSpan { position: self.behind, length: self.size.saturating_sub(self.behind) });
            }
        };
        let bad = self.bad.peek().copied();
        let end = RawSpan { position: self.size, length: 0 };
        let next = [dropped, bad, Some(end)].into_iter().flatten().min_by_key(|span| span.position)?;
        // A long stretch is copied in parts: nothing is left out between them, but it may not be wanted any more.
        let part = self.behind + BETWEEN_QUESTIONS;
        if part < next.position {
            self.behind = part;
            return Some(RawSpan { position: part, length: 0 });
        }
        if bad == Some(next) {
            self.bad.next();
        } else if dropped == Some(next) {
            self.told.next();
        } else {
            return None;
        }
        self.behind = next.position + next.length;
        Some(next)
    }
}
