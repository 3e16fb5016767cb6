//! Plain files are copied as they are, but for what is left out.
//!
//! Two threads do it: one reads ahead while the other writes. More would not help, for writers to one file wait for each
//! other in the kernel.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::thread::{self, ScopedJoinHandle};

use crate::parsed::RawSpan;

/// Bytes that are read while as many are written: few enough to be still in the cache when they are written.
const ROUND_BYTES: usize = 1 << 19;
/// Bytes that are worth bringing to the disk while others are copied: at the end there is less to wait for.
const WORTH_SYNCING: usize = 1 << 24;

/// Copies the first `length` bytes of `source`, but for what is left out, to `target`.
pub(crate) fn copy_all_but(
    source: &File,
    length: u64,
    left_out: impl Iterator<Item = RawSpan> + Send,
    mut target: &File,
) -> io::Result<()> {
    let mut stretches = Stretches { source, left_out, position: 0, end: 0, next: 0, length };
    let (mut ready, mut filling) = (Vec::with_capacity(ROUND_BYTES), Vec::with_capacity(ROUND_BYTES));
    stretches.read(&mut ready)?;
    thread::scope(|scope| {
        let (mut unsynced, mut syncing) = (0, None::<ScopedJoinHandle<'_, ()>>);
        while !ready.is_empty() {
            let (written, read) = rayon::join(|| target.write_all(&ready), || stretches.read(&mut filling));
            written?;
            read?;
            unsynced += ready.len();
            if unsynced >= WORTH_SYNCING && syncing.as_ref().is_none_or(ScopedJoinHandle::is_finished) {
                unsynced = 0;
                // Should it fail, so will the sync at the end.
                syncing = Some(scope.spawn(move || drop(target.sync_data())));
            }
            std::mem::swap(&mut ready, &mut filling);
        }
        Ok(())
    })
}

/// What is kept of a file, read from front to back.
struct Stretches<'a, I> {
    source: &'a File,
    left_out: I,
    /// From where to where the current stretch is still to be read.
    position: u64,
    end: u64,
    /// Where the next one begins.
    next: u64,
    length: u64,
}

impl<I: Iterator<Item = RawSpan>> Stretches<'_, I> {
    /// Reads as much as fits; nothing at the end.
    fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.clear();
        while buffer.len() < ROUND_BYTES {
            if self.position == self.end && !self.advance() {
                break;
            }
            let start = buffer.len();
            let count = (self.end - self.position).min((ROUND_BYTES - start) as u64);
            buffer.resize(start + count as usize, 0);
            self.source.read_exact_at(&mut buffer[start..], self.position)?;
            self.position += count;
        }
        Ok(())
    }

    /// Goes on to the next stretch; false if there is none.
    fn advance(&mut self) -> bool {
        self.position = self.next;
        let span = self.left_out.next();
        (self.end, self.next) =
            span.map_or((self.length, self.length), |span| (span.position, span.position + span.length));
        span.is_some() || self.position < self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    #[test]
    fn everything_is_copied_but_what_is_left_out() {
        let content: Vec<u8> = (0..3_000_000u32).flat_map(u32::to_le_bytes).collect();
        let mut source = tempfile::tempfile().unwrap();
        source.write_all(&content).unwrap();
        // Gaps from nothing to several rounds.
        let small = (0..5_000u64).map(|at| RawSpan { position: at * 300, length: at % 7 * 50 });
        let large = (0..40u64).map(|at| RawSpan { position: 1_600_000 + at * at * 6_000, length: at % 3 * 50 });
        let left_out: Vec<RawSpan> = small.chain(large).collect();
        let mut expected = Vec::new();
        let mut position = 0;
        for span in &left_out {
            expected.extend_from_slice(&content[position..span.position as usize]);
            position = (span.position + span.length) as usize;
        }
        expected.extend_from_slice(&content[position..]);
        let mut target = tempfile::tempfile().unwrap();
        copy_all_but(&source, content.len() as u64, left_out.into_iter(), &target).unwrap();
        let mut copied = Vec::new();
        target.rewind().unwrap();
        target.read_to_end(&mut copied).unwrap();
        assert!(copied == expected);
        let all = copy_all_but(&source, content.len() as u64 + 1, std::iter::empty(), &target);
        assert_eq!(all.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
