//! What the handlers share.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use lookalike::{Index, Plan, Settings, Snapshot};
use tokio::sync::Semaphore;

use super::access::Access;
use super::metrics::Metrics;
use super::problem::Problem;
use super::shown_index::ShownIndex;
use super::writer::Writer;

/// How much the service does at once, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Queries and comparisons that are worked on at the same time.
    pub(crate) threads: usize,
    /// Requests that may be under way or wait.
    pub(crate) requests: usize,
    /// Bytes of a body.
    pub(crate) body: usize,
    /// Time for a request.
    pub(crate) time: Duration,
}

/// The index that is served.
pub(super) struct Served {
    pub(super) shown: Arc<ShownIndex>,
    /// None where writes are not taken.
    writer: Option<Writer>,
}

impl Served {
    /// Opens an index to read and write it.
    pub(super) fn open(path: &Path, metrics: &Arc<Metrics>) -> Result<Self> {
        let index = Index::open(path).map_err(|error| {
            let can_be_read = Snapshot::open(path).is_ok();
            let advice = if can_be_read { "; to serve the index without writes, add --read-only" } else { "" };
            anyhow!("{error}{advice}")
        })?;
        let shown = Arc::new(ShownIndex::new(index.snapshot(), Arc::clone(metrics)));
        let writer = Writer::start(index, Arc::clone(&shown), Arc::clone(metrics));
        Ok(Self { shown, writer: Some(writer.context("cannot start a thread for the writer")?) })
    }

    /// Opens an index to read it, beside whoever writes it.
    pub(super) fn open_to_read(path: &Path, metrics: &Arc<Metrics>) -> Result<Self> {
        let shown = ShownIndex::new(Snapshot::open(path)?, Arc::clone(metrics));
        Ok(Self { shown: Arc::new(shown), writer: None })
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.writer.is_none()
    }

    pub(super) fn writer(&self) -> Result<&Writer, Problem> {
        let refusal = "this service does not write; it was started with --read-only";
        self.writer.as_ref().ok_or_else(|| Problem::forbidden(refusal))
    }

    /// Why it cannot be relied upon at the moment.
    pub(super) fn trouble(&self) -> Option<String> {
        let stopped = || self.writer.as_ref().is_some_and(|writer| !writer.is_alive());
        self.shown.trouble().or_else(|| stopped().then(|| "the writer has stopped; start the service again".into()))
    }
}

/// What the handlers share.
pub(super) struct Service {
    pub(super) limits: Limits,
    pub(super) access: Access,
    pub(super) metrics: Arc<Metrics>,
    served: Option<Served>,
    /// The plan of comparisons where there is no index.
    default_plan: Arc<Plan>,
    /// Places for requests; and for those of them that compute.
    pub(super) places: Arc<Semaphore>,
    workers: Arc<Semaphore>,
    is_stopping: AtomicBool,
}

impl Service {
    pub(super) fn new(limits: Limits, access: Access, metrics: Arc<Metrics>, served: Option<Served>) -> Result<Self> {
        let default_plan = Arc::new(Settings::default().plan()?);
        Ok(Self {
            limits,
            access,
            metrics,
            served,
            default_plan,
            places: Arc::new(Semaphore::new(limits.requests)),
            workers: Arc::new(Semaphore::new(limits.threads)),
            is_stopping: AtomicBool::new(false),
        })
    }

    pub(super) fn served(&self) -> Result<&Served, Problem> {
        self.served.as_ref().ok_or_else(Problem::no_index)
    }

    pub(super) fn snapshot(&self) -> Result<Snapshot, Problem> {
        Ok(self.served()?.shown.snapshot())
    }

    /// The plan of the index, or the defaults where there is none.
    pub(super) fn plan(&self) -> Plan {
        match &self.served {
            Some(served) => served.shown.snapshot().plan().clone(),
            None => (*self.default_plan).clone(),
        }
    }

    /// Computes something, on a thread that may take its time; only so many do at once. The place is given back when the
    /// work is done, not when whoever asked has lost patience.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = Arc::clone(&self.workers).acquire_owned().await.map_err(|_| Problem::busy())?;
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        });
        done.await.map_err(|_| Problem::internal("this request brought its thread down; the others go on"))?
    }

    /// Why the service should get no requests at the moment.
    pub(super) fn trouble(&self) -> Option<String> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Some("the service is stopping".into());
        }
        self.served.as_ref().and_then(Served::trouble)
    }

    pub(super) fn is_about_to_stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Writes what waits, and closes the index.
    pub(super) async fn close(&self) {
        if let Some(Ok(writer)) = self.served.as_ref().map(Served::writer) {
            writer.stop().await;
        }
    }
}
