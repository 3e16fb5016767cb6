//! Records that are kept are copied to the output while others are still being verified: a disk is slow, and has nothing else
//! to do then.

use std::iter::Peekable;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use anyhow::{Result, anyhow};
use lookalike::{Decided, Outcome, RecordNumber};
use lookalike_io::{AtomicFile, FinishedFile, Input, RawSpan, Rewrite, is_copied, rewrite_to_file};

use crate::names::Records;

/// Where there are several inputs, they are copied one after another if they have so many bytes; smaller ones are better
/// written many at a time.
const LARGE: u64 = 1 << 25;

/// Copies of inputs without what is dropped, made beside the run that decides it. Given up before they are finished, they
/// leave nothing behind.
pub(crate) struct Copies {
    /// None once there is nothing more to tell.
    tell: Option<Sender<Told>>,
    copying: Option<JoinHandle<Result<Vec<FinishedFile>>>>,
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
        if !is_worth_it || !copied.iter().all(Copied::can_be_copied) {
            return None;
        }
        let (tell, told) = mpsc::channel();
        let copying = std::thread::spawn(move || {
            let mut told = told.into_iter().peekable();
            copied.iter().map(|copied| copied.copy(&mut told)).collect()
        });
        Some(Self { tell: Some(tell), copying: Some(copying), decided: AtomicUsize::new(0) })
    }

    /// Hears what was decided so far.
    pub(crate) fn hear(&self, records: &Records, decided: Decided<'_>) {
        let dropped = decided.dropped.iter().map(|record| *record as usize);
        self.tell(dropped.map(|record| (decided.numbers[record], records.raw_length(record))));
        // Nothing is left out up to the next record, and so much may be copied.
        self.tell(decided.numbers.get(decided.behind).map(|number| (*number, 0)));
        self.decided.store(decided.behind, Ordering::Relaxed);
    }

    /// Hears all, and waits until the copies are whole and durable. They have yet to appear.
    pub(crate) fn finish(mut self, records: &Records, outcome: &Outcome) -> Result<Vec<FinishedFile>> {
        let rest = self.decided.load(Ordering::Relaxed).max(outcome.old())..outcome.len();
        let dropped = rest.filter(|record| !outcome.is_kept(*record));
        self.tell(dropped.map(|record| (outcome.numbers()[record], records.raw_length(record))));
        if let Some(tell) = self.tell.take() {
            let _ = tell.send(Told::Everything);
        }
        match self.copying.take().map(JoinHandle::join) {
            Some(Ok(files)) => files,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(Vec::new()),
        }
    }

    fn tell(&self, spans: impl IntoIterator<Item = (RecordNumber, u32)>) {
        for (number, length) in spans {
            let span = RawSpan { position: number.position(), length: length.into() };
            // Whoever does not hear it any more has failed, and says so in the end.
            let _ = self.tell.as_ref().map(|tell| tell.send(Told::LeftOut(number.input(), span)));
        }
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        self.tell = None;
        // Until what was written is removed again.
        let _ = self.copying.take().map(JoinHandle::join);
    }
}

impl Copied {
    /// Whether it is a copy, and goes where it can be taken back.
    fn can_be_copied(&self) -> bool {
        let is_new = self.path.metadata().map_or(true, |there| there.is_file());
        is_new && is_copied(&self.input, Rewrite::to_file(&self.input, &self.path))
    }

    fn copy(&self, told: &mut Peekable<mpsc::IntoIter<Told>>) -> Result<FinishedFile> {
        let mut file = AtomicFile::create_with_folders(&self.path)?;
        let bad = self.bad.iter().copied().peekable();
        let mut left_out = LeftOut { index: self.index, told, bad, behind: 0, is_given_up: false };
        rewrite_to_file(&self.input, &mut left_out, Rewrite::default(), &mut file)
            .map_err(|error| error.at_file(&self.path))?;
        if left_out.is_given_up {
            return Err(anyhow!("the run was given up"));
        }
        Ok(file.finish()?)
    }
}

/// What is left out of an input, bad or dropped, as it becomes known.
struct LeftOut<'a, B: Iterator> {
    index: usize,
    told: &'a mut Peekable<mpsc::IntoIter<Told>>,
    bad: Peekable<B>,
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
        let dropped = match self.told.peek() {
            Some(Told::LeftOut(index, span)) => Some(*span).filter(|_| *index == self.index),
            Some(Told::Everything) => None,
            None => {
                // There is no more to come. What would be copied is of no use to anybody.
                self.is_given_up = true;
                return Some(RawSpan { position: self.behind, length: u64::MAX - self.behind });
            }
        };
        let is_before = |bad: &RawSpan| dropped.is_none_or(|dropped| bad.position < dropped.position);
        let next = self.bad.next_if(is_before).or_else(|| {
            self.told.next_if(|_| dropped.is_some());
            dropped
        })?;
        self.behind = next.position + next.length;
        Some(next)
    }
}
