//! Asks the kernel to read ahead.
//!
//! By itself it reads so little ahead that a fast disk is idle most of the time. What was asked for and is in memory already costs
//! next to nothing.

use std::fs::File;

/// How far ahead of what is being read the kernel is asked to read.
pub(crate) const BYTES_AHEAD: u64 = 16 << 20;

/// Asks for some bytes of a file, which need not have as many. It is no more than advice: whoever does not take it reads as ever.
#[cfg(target_os = "linux")]
pub(crate) fn read_ahead(file: &File, from: u64, bytes: u64) {
    use rustix::fs::{Advice, fadvise};
    if let Some(bytes) = std::num::NonZeroU64::new(bytes) {
        let _ = fadvise(file, from, Some(bytes), Advice::WillNeed);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn read_ahead(_: &File, _: u64, _: u64) {}
