//! Ctrl-C: the first asks the run to stop and clean up, the second ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use lookalike::Error;

/// How long an interruption can go unheard.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Listens for interruption and termination from now on.
pub(crate) fn listen() {
    // Without a handler the program still works: it just cannot clean up.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// Does work that does not look up, and does not wait for its end if the run is asked to stop. The program ends then, and the
/// work with it.
pub(crate) fn unless_requested<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    let (sender, receiver) = sync_channel(1);
    let worker = std::thread::spawn(move || {
        // Nobody waits for it any more if the program is about to end.
        let _ = sender.send(work());
    });
    loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) if is_requested() => return Err(Error::cancelled()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err(Error::cancelled()),
            },
        }
    }
}

/// Whether the run was asked to stop.
pub(crate) fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// The flag itself, for those who watch it.
pub(crate) fn flag() -> &'static AtomicBool {
    &REQUESTED
}
