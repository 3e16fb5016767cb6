//! Ctrl-C: the first asks the run to stop and clean up, the second ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};

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

/// Whether the run was asked to stop.
pub(crate) fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// The flag itself, for those who watch it.
pub(crate) fn flag() -> &'static AtomicBool {
    &REQUESTED
}
