//! Long work for Python: without the GIL, with progress, and ended by Ctrl-C.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use lookalike::{Stage, Watch};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// How often somebody looks for Ctrl-C and tells of progress.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// What a run says and hears.
#[derive(Default)]
struct Ears {
    /// The stage, and how much of it there is to do.
    stage: Mutex<Option<(Stage, Option<u64>)>>,
    done: AtomicU64,
    is_cancelled: AtomicBool,
}

impl Watch for Ears {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = Some((stage, total));
        self.done.store(0, Ordering::Relaxed);
    }

    fn advance(&self, done: u64) {
        self.done.fetch_add(done, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}

impl Ears {
    /// Calls `progress(stage, done, total)`.
    fn tell(&self, py: Python<'_>, progress: &Py<PyAny>) -> PyResult<()> {
        let stage = *self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((stage, total)) = stage {
            progress.call1(py, (stage.to_string(), self.done.load(Ordering::Relaxed), total))?;
        }
        Ok(())
    }
}

/// Works without the GIL, on so many threads (or all), and tells `progress` how far it is. An exception, Ctrl-C too, ends it.
pub(crate) fn work<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
    task: impl FnOnce(&dyn Watch) -> lookalike::Result<T> + Send,
) -> PyResult<T> {
    let ears = Ears::default();
    let threads = threads.or_else(own_threads);
    let pool = threads.map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build()).transpose();
    let pool = pool.map_err(|error| PyRuntimeError::new_err(format!("threads cannot be started: {error}")))?;
    let bell = Bell::default();
    std::thread::scope(|scope| {
        let (ears, bell) = (&ears, &bell);
        let worker = scope.spawn(move || {
            let _rings = RingsAtTheEnd(bell);
            match pool {
                Some(pool) => pool.install(|| task(ears)),
                None => task(ears),
            }
        });
        let mut interrupted = None;
        while !py.detach(|| bell.wait()) {
            let told = match progress {
                Some(progress) if interrupted.is_none() => ears.tell(py, progress),
                _ => Ok(()),
            };
            if let Err(error) = told.and_then(|()| py.check_signals()) {
                ears.is_cancelled.store(true, Ordering::Relaxed);
                interrupted.get_or_insert(error);
            }
        }
        match (worker.join(), interrupted) {
            (Err(panic), _) => std::panic::resume_unwind(panic),
            (Ok(_), Some(interrupted)) => Err(interrupted),
            (Ok(result), None) => result.or_raise(py),
        }
    })
}

/// Does work that does not look up. An exception, Ctrl-C too, does not wait for its end: it ends by itself, unheard.
pub(crate) fn unless_interrupted<T: Send + 'static>(
    py: Python<'_>,
    task: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = sync_channel(1);
    let worker = std::thread::spawn(move || {
        // Nobody may be there any more.
        let _ = sender.send(task());
    });
    loop {
        let receiver = &mut receiver;
        match py.detach(move || receiver.recv_timeout(BETWEEN_LOOKS)) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err(PyRuntimeError::new_err("the work ended without a result")),
            },
        }
    }
}

/// How many threads of its own a forked process starts for some work: the common ones stayed with the process that it was forked
/// from.
fn own_threads() -> Option<usize> {
    static HAS_COMMON_THREADS: OnceLock<u32> = OnceLock::new();
    let this = std::process::id();
    let is_forked = *HAS_COMMON_THREADS.get_or_init(|| this) != this;
    is_forked.then(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Rings when the work is over.
#[derive(Default)]
struct Bell {
    is_over: Mutex<bool>,
    rings: Condvar,
}

impl Bell {
    /// Waits a moment; whether the work is over.
    fn wait(&self) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.rings.wait_timeout_while(is_over, BETWEEN_LOOKS, |is_over| !*is_over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Rings the bell when it goes, after a panic too.
struct RingsAtTheEnd<'a>(&'a Bell);

impl Drop for RingsAtTheEnd<'_> {
    fn drop(&mut self) {
        *self.0.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.rings.notify_all();
    }
}
