//! Plain files are copied inside the kernel, as far as what is kept stands together.
//!
//! One thread does it: writers to one file wait for each other in the kernel anyway, and burn time doing so.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use crate::parsed::RawSpan;

/// Stretches of at least so many bytes are copied by the kernel; shorter ones are gathered, for calls cost time too.
const LARGE_BYTES: u64 = 1 << 16;

/// Bytes of short stretches that are written at once: few enough to be still in the cache when they are written.
const GATHERED_BYTES: usize = 1 << 18;

/// Copies the first `length` bytes of `source`, but for what is left out, to `target`.
pub(crate) fn copy_all_but(
    mut source: &File,
    length: u64,
    left_out: impl Iterator<Item = RawSpan>,
    mut target: &File,
) -> io::Result<()> {
    let mut gathered: Vec<u8> = Vec::with_capacity(GATHERED_BYTES);
    let mut copy = |position: u64, length: u64, gathered: &mut Vec<u8>| -> io::Result<()> {
        if length >= LARGE_BYTES {
            target.write_all(gathered)?;
            gathered.clear();
            source.seek(SeekFrom::Start(position))?;
            let copied = io::copy(&mut source.take(length), &mut target)?;
            return if copied == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        if gathered.len() + length as usize > GATHERED_BYTES {
            target.write_all(gathered)?;
            gathered.clear();
        }
        let start = gathered.len();
        gathered.resize(start + length as usize, 0);
        source.read_exact_at(&mut gathered[start..], position)
    };
    let mut position = 0;
    for span in left_out {
        copy(position, span.position - position, &mut gathered)?;
        position = span.position + span.length;
    }
    copy(position, length - position, &mut gathered)?;
    target.write_all(&gathered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_copied_but_what_is_left_out() {
        let content: Vec<u8> = (0..1_000_000u32).flat_map(u32::to_le_bytes).collect();
        let mut source = tempfile::tempfile().unwrap();
        source.write_all(&content).unwrap();
        // Gaps from nothing to several of the large stretches.
        let left_out: Vec<RawSpan> =
            (0..60u64).map(|at| RawSpan { position: at * at * 1100, length: at % 7 * 50 }).collect();
        let mut expected = content.clone();
        for span in left_out.iter().rev() {
            expected.drain(span.position as usize..(span.position + span.length) as usize);
        }
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
