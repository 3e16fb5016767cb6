//! Asks the kernel to read ahead.
//!
//! By itself it reads so little ahead that a fast disk is idle most of the time.

use std::fs::File;

/// How far ahead of what is being read the kernel is asked to read.
pub(crate) const BYTES_AHEAD: u64 = 16 << 20;

/// Asks for some bytes of a file, which need not have as many. It is no more than advice: whoever does not take it reads as ever.
#[cfg(target_os = "linux")]
pub(crate) fn read_ahead(file: &File, from: u64, bytes: u64) {
    use rustix::fs::{Advice, fadvise};
    let Some(length) = std::num::NonZeroU64::new(bytes) else { return };
    if !is_in_memory(file, from + bytes - 1) {
        let _ = fadvise(file, from, Some(length), Advice::WillNeed);
    }
}

/// Whether a byte of a file is there and in memory. What is asked for is mostly there as a whole or not at all, and the kernel would look at
/// each of its pages.
#[cfg(target_os = "linux")]
fn is_in_memory(file: &File, position: u64) -> bool {
    use rustix::io::{ReadWriteFlags, preadv2};
    let mut byte = [0];
    preadv2(file, &mut [std::io::IoSliceMut::new(&mut byte)], position, ReadWriteFlags::NOWAIT)
        .is_ok_and(|read| read == 1)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn read_ahead(_: &File, _: u64, _: u64) {}
