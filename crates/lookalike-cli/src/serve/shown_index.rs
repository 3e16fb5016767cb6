//! The index as readers see it: the newest snapshot, exchanged behind each commit.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use lookalike::Snapshot;

use super::metrics::Metrics;

/// How often a read-only service looks for what another process has committed.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The newest snapshot.
pub(super) struct ShownIndex {
    snapshot: RwLock<Snapshot>,
    /// Why there is no newer one, where there should be.
    trouble: RwLock<Option<String>>,
    metrics: Arc<Metrics>,
}

impl ShownIndex {
    pub(super) fn new(snapshot: Snapshot, metrics: Arc<Metrics>) -> Self {
        metrics.has_items(snapshot.len());
        Self { snapshot: RwLock::new(snapshot), trouble: RwLock::new(None), metrics }
    }

    /// What is committed; it stays as it is for as long as it is held.
    pub(super) fn snapshot(&self) -> Snapshot {
        // A snapshot is exchanged in one step: a thread that panicked cannot have left half of one.
        self.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn replace(&self, snapshot: Snapshot) {
        self.metrics.has_items(snapshot.len());
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }

    /// Why what is shown may be old.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Follows the commits of another process, for ever.
    pub(super) async fn follow(self: Arc<Self>, path: PathBuf) {
        let mut seen = None;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let (shown, path) = (Arc::clone(&self), path.clone());
            let looked = tokio::task::spawn_blocking(move || {
                let now = traces(&path);
                let is_shown = seen.as_ref() == Some(&now) || shown.look_again(&path);
                // What could not be opened is tried again, even if nothing changes any more.
                is_shown.then_some(now)
            });
            seen = looked.await.ok().flatten();
        }
    }

    /// Opens the index anew; false if that fails.
    fn look_again(&self, path: &Path) -> bool {
        let trouble = match Snapshot::open(path) {
            Ok(snapshot) => {
                self.replace(snapshot);
                None
            }
            Err(error) => {
                tracing::error!(%error, "the index cannot be opened again; its last state is still shown");
                Some(error.to_string())
            }
        };
        let is_shown = trouble.is_none();
        *self.trouble.write().unwrap_or_else(PoisonError::into_inner) = trouble;
        is_shown
    }
}

/// What changes in a folder whenever something is committed: names, lengths and times of its files. Cheaper than to open the
/// index to find it as it was.
fn traces(path: &Path) -> Vec<(PathBuf, u64, Option<SystemTime>)> {
    let mut traces = Vec::new();
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else { continue };
        traces.push((entry.path(), about.len(), about.modified().ok()));
    }
    traces.sort();
    traces
}
