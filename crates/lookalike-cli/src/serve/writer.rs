//! The one writer: a thread that owns the index. All requests that wait are written with one commit, so that a hundred of
//! them cost one fsync, and each is answered when it is on disk.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use lookalike::{ErrorKind, Index};
use tokio::sync::{mpsc, oneshot};

use super::content::OwnContent;
use super::metrics::Metrics;
use super::problem::Problem;
use super::shown_index::ShownIndex;
use crate::load::NOT_MERGED;

/// Requests that are written with one commit.
const MOST_TOGETHER: usize = 1_000;

/// One change.
#[derive(Debug)]
pub(super) enum Operation {
    Insert { id: String, content: OwnContent, time: Option<u64> },
    Remove { id: String },
}

/// What a request changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// The index's sequence number behind the commit.
    pub(super) sequence: u64,
    /// Items that were there and are not any more.
    pub(super) removed: u64,
}

/// The changes of one request: all of them are made, or none.
struct Job {
    operations: Vec<Operation>,
    reply: oneshot::Sender<Result<Written, Problem>>,
}

enum Message {
    Write(Job),
    Stop,
}

/// A hand on the writer.
pub(super) struct Writer {
    messages: mpsc::Sender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(index: Index, shown: Arc<ShownIndex>, metrics: Arc<Metrics>) -> std::io::Result<Self> {
        let (messages, waiting) = mpsc::channel(MOST_TOGETHER);
        let work = move || Work { index, shown, metrics }.until_stopped(waiting);
        let thread = std::thread::Builder::new().name("writer".into()).spawn(work)?;
        Ok(Self { messages, thread: Mutex::new(Some(thread)) })
    }

    /// Makes these changes, all or none; they are on disk when this returns.
    pub(super) async fn write(&self, operations: Vec<Operation>) -> Result<Written, Problem> {
        let (reply, answer) = oneshot::channel();
        let gone = || Problem::not_ready("the writer has stopped; start the service again");
        self.messages.send(Message::Write(Job { operations, reply })).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.messages.is_closed()
    }

    /// Lets the thread write what waits, and ends it.
    pub(super) async fn stop(&self) {
        // Where there is nobody to tell, there is nothing to stop.
        let _ = self.messages.send(Message::Stop).await;
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            let ended = tokio::task::spawn_blocking(|| thread.join()).await;
            if !matches!(ended, Ok(Ok(()))) {
                tracing::error!("the writer did not end well; what it acknowledged is on disk");
            }
        }
    }
}

/// What the thread has.
struct Work {
    index: Index,
    shown: Arc<ShownIndex>,
    metrics: Arc<Metrics>,
}

impl Work {
    fn until_stopped(mut self, mut waiting: mpsc::Receiver<Message>) {
        let mut messages = Vec::new();
        while waiting.blocking_recv_many(&mut messages, MOST_TOGETHER) > 0 {
            let mut jobs = Vec::new();
            let mut is_last = false;
            for message in messages.drain(..) {
                match message {
                    // Nobody waits for it any more, and it is not acknowledged: such jobs must not pile up.
                    Message::Write(job) if job.reply.is_closed() => {}
                    Message::Write(job) => jobs.push(job),
                    Message::Stop => is_last = true,
                }
            }
            self.write_together(jobs);
            if let Some(error) = self.index.take_trouble() {
                self.metrics.merge_failed();
                tracing::warn!(%error, "{NOT_MERGED}");
            }
            if is_last {
                return;
            }
        }
    }

    /// Writes these jobs with one commit. One that cannot be done is refused by itself, and the others begin anew without it.
    fn write_together(&mut self, mut jobs: Vec<Job>) {
        while !jobs.is_empty() {
            let mut removed = Vec::with_capacity(jobs.len());
            let failure = jobs.iter().enumerate().find_map(|(at, job)| match self.apply(job) {
                Ok(count) => {
                    removed.push(count);
                    None
                }
                Err(error) => Some((at, error)),
            });
            if let Some((at, error)) = failure {
                self.index.rollback();
                answer(jobs.remove(at), Err(refusal(&error)));
                continue;
            }
            match self.index.commit() {
                Ok(sequence) => {
                    let snapshot = self.index.snapshot();
                    self.metrics.committed(jobs.iter().map(|job| job.operations.len() as u64).sum());
                    self.shown.replace(snapshot);
                    for (job, removed) in jobs.drain(..).zip(removed) {
                        answer(job, Ok(Written { sequence, removed }));
                    }
                }
                Err(error) => {
                    self.index.rollback();
                    tracing::error!(%error, "a commit failed");
                    for job in jobs.drain(..) {
                        answer(job, Err(refusal(&error)));
                    }
                }
            }
        }
    }

    /// Makes the changes of a job, up to the commit; gives how many items it removed.
    fn apply(&mut self, job: &Job) -> lookalike::Result<u64> {
        let mut removed = 0;
        for operation in &job.operations {
            match operation {
                Operation::Insert { id, content, time } => self.index.insert(id, content.as_content(), *time)?,
                Operation::Remove { id } => removed += u64::from(self.index.remove(id)?),
            }
        }
        Ok(removed)
    }
}

/// Whatever is not wrong with the request itself is a matter of storing it.
fn refusal(error: &lookalike::Error) -> Problem {
    match error.kind() {
        ErrorKind::Setting | ErrorKind::TooLarge => Problem::bad_request(error.to_string()),
        _ => Problem::cannot_store(error.to_string()),
    }
}

fn answer(job: Job, answer: Result<Written, Problem>) {
    // Whoever asked may have gone; the change is made all the same.
    let _ = job.reply.send(answer);
}
