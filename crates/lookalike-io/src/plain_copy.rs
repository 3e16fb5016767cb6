//! Plain files are copied as they are, but for what is left out.
//!
//! Large files go to the disk past the kernel's cache, where that is possible: an output is on the disk before it appears,
//! and the way through the cache takes several times as long. One thread reads ahead while another waits for the disk; they
//! are no threads of the pool, for what is left out may still have to be found out there. More would not help: writers to one
//! file wait for each other in the kernel.

use std::fs::File;
use std::io::{self, IoSliceMut, Write};
use std::sync::mpsc;

use memmap2::MmapMut;

use crate::parsed::RawSpan;
use crate::read_ahead::{BYTES_AHEAD, read_ahead};

/// Bytes that are read before they are written: few enough to be still in the CPU's cache then.
const ROUND_BYTES: usize = 1 << 19;
/// The same for large files, at most: enough to keep a disk busy while the CPU has other things to do.
const LARGE_ROUND_BYTES: u64 = 1 << 22;
/// In so many rounds at least a large file is copied: memory that is new costs time as well.
const LEAST_ROUNDS: u64 = 64;
/// Rounds of a large file that are read or written at a time.
const ROUNDS: usize = 2;
/// So many bytes that are left out are rather read along, into a scrap, than passed over with a call of their own.
const SCRAP_BYTES: usize = 1 << 14;
/// Pieces that are read with one call at most.
const PIECES: usize = 62;
/// Files of so many bytes are large.
const LARGE: u64 = 1 << 25;
/// Past the cache, memory and positions must be multiples of this.
const ALIGNMENT: usize = 1 << 12;
/// Huge pages are so large. Memory that consists of them goes to the disk in a few long pieces instead of very many short ones.
const HUGE_PAGE: usize = 1 << 21;

/// Copies the first `length` bytes of `source`, but for what is left out, to `target`.
pub(crate) fn copy_all_but(
    source: &File,
    length: u64,
    left_out: impl Iterator<Item = RawSpan> + Send,
    target: &File,
) -> io::Result<()> {
    let scrap = vec![0; SCRAP_BYTES];
    let stretches = Stretches { source, left_out, position: 0, end: 0, next: 0, length, asked: 0, scrap };
    if length < LARGE { copy_small(stretches, target) } else { copy_large(stretches, target) }
}

fn copy_small(mut stretches: Stretches<'_, impl Iterator<Item = RawSpan>>, target: &File) -> io::Result<()> {
    let mut target = Target { file: target, is_direct: false };
    let mut round = Round::new(ROUND_BYTES)?;
    loop {
        stretches.read(&mut round)?;
        if round.bytes().is_empty() {
            return Ok(());
        }
        target.write(round.bytes())?;
    }
}

fn copy_large(mut stretches: Stretches<'_, impl Iterator<Item = RawSpan> + Send>, target: &File) -> io::Result<()> {
    let mut target = Target { file: target, is_direct: set_direct(target, true).is_ok() };
    let round_bytes = (stretches.length / LEAST_ROUNDS).min(LARGE_ROUND_BYTES) as usize / ALIGNMENT * ALIGNMENT;
    std::thread::scope(|scope| {
        let (fill, filled) = mpsc::channel::<io::Result<Round>>();
        let (empty, emptied) = mpsc::channel::<Round>();
        // Nobody is told if the other thread has stopped: then it has failed, and says so itself.
        for _ in 0..ROUNDS {
            let _ = empty.send(Round::new(round_bytes)?);
        }
        scope.spawn(move || {
            for mut round in emptied {
                let read = stretches.read(&mut round);
                let is_last = read.is_err() || round.bytes().is_empty();
                if fill.send(read.map(|()| round)).is_err() || is_last {
                    break;
                }
            }
        });
        for round in filled {
            let round = round?;
            target.write(round.bytes())?;
            let _ = empty.send(round);
        }
        target.leave_direct()
    })
}

/// Memory for a round, aligned.
struct Round {
    memory: MmapMut,
    start: usize,
    size: usize,
    filled: usize,
}

impl Round {
    fn new(size: usize) -> io::Result<Self> {
        // What is never touched takes no memory.
        let alignment = if size < HUGE_PAGE { ALIGNMENT } else { HUGE_PAGE };
        let memory = MmapMut::map_anon(size + alignment)?;
        let start = memory.as_ptr().align_offset(alignment).min(alignment);
        #[cfg(target_os = "linux")]
        if size >= HUGE_PAGE {
            // Small pages do as well.
            let _ = memory.advise_range(memmap2::Advice::HugePage, start, size);
        }
        Ok(Self { memory, start, size, filled: 0 })
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.filled]
    }

    fn room(&mut self) -> &mut [u8] {
        &mut self.memory[self.start + self.filled..self.start + self.size]
    }
}

/// Where rounds are written, one after the other; all but the last are whole.
struct Target<'a> {
    file: &'a File,
    is_direct: bool,
}

impl Target<'_> {
    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if !bytes.len().is_multiple_of(ALIGNMENT) {
                self.leave_direct()?;
            }
            match self.file.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Not every file system can, and some say so only now.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput && self.is_direct => self.leave_direct()?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn leave_direct(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_direct) { set_direct(self.file, false) } else { Ok(()) }
    }
}

/// Whether what is written goes past the kernel's cache.
#[cfg(target_os = "linux")]
fn set_direct(file: &File, is_direct: bool) -> io::Result<()> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let mut flags = fcntl_getfl(file)?;
    flags.set(OFlags::DIRECT, is_direct);
    Ok(fcntl_setfl(file, flags)?)
}

#[cfg(not(target_os = "linux"))]
fn set_direct(_: &File, _: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
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
    /// How far the kernel was asked to read ahead.
    asked: u64,
    /// Where what is left out goes that is read along.
    scrap: Vec<u8>,
}

impl<I: Iterator<Item = RawSpan>> Stretches<'_, I> {
    /// Reads as much as fits; nothing at the end.
    fn read(&mut self, round: &mut Round) -> io::Result<()> {
        round.filled = 0;
        let ahead = (self.position + BYTES_AHEAD).min(self.length);
        read_ahead(self.source, self.asked, ahead.saturating_sub(self.asked));
        self.asked = self.asked.max(ahead);
        while !round.room().is_empty() {
            let read = self.read_near(round.room())?;
            round.filled += read;
            if read == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Reads what can be read with one call, as much as fits; nothing at the end.
    fn read_near(&mut self, mut room: &mut [u8]) -> io::Result<usize> {
        let mut scrap = std::mem::take(&mut self.scrap);
        let mut rest = scrap.as_mut_slice();
        let mut pieces: Vec<IoSliceMut<'_>> = Vec::with_capacity(PIECES + 1);
        let (mut from, mut read) = (self.position, 0);
        let mut position = from;
        while !room.is_empty() && pieces.len() < PIECES {
            if self.position == self.end {
                // Between two that are left out there may be nothing.
                if self.advance() {
                    continue;
                }
                break;
            }
            if pieces.is_empty() {
                from = self.position;
            } else if position < self.position {
                let gap = (self.position - position).try_into().unwrap_or(usize::MAX);
                let Some((piece, behind)) = std::mem::take(&mut rest).split_at_mut_checked(gap) else { break };
                pieces.push(IoSliceMut::new(piece));
                rest = behind;
            }
            let count = (self.end - self.position).min(room.len() as u64) as usize;
            let (piece, behind) = std::mem::take(&mut room).split_at_mut(count);
            pieces.push(IoSliceMut::new(piece));
            room = behind;
            read += count;
            self.position += count as u64;
            position = self.position;
        }
        read_exact_at(self.source, &mut pieces, from)?;
        self.scrap = scrap;
        Ok(read)
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

/// Fills all of these with what stands in the file from here on.
fn read_exact_at(file: &File, mut pieces: &mut [IoSliceMut<'_>], mut position: u64) -> io::Result<()> {
    while !pieces.is_empty() {
        match rustix::io::preadv(file, pieces, position) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                IoSliceMut::advance_slices(&mut pieces, count);
                position += count as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    /// Copies a file of so many numbers, with gaps from nothing to several rounds.
    fn check(numbers: u32) {
        let content: Vec<u8> = (0..numbers).flat_map(u32::to_le_bytes).collect();
        let mut source = tempfile::tempfile().unwrap();
        source.write_all(&content).unwrap();
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
        // Written to as usual from here on.
        target.write_all(b"more").unwrap();
        expected.extend_from_slice(b"more");
        let mut copied = Vec::new();
        target.rewind().unwrap();
        target.read_to_end(&mut copied).unwrap();
        assert!(copied == expected);
        // Nothing is kept of most of it.
        let neighbours = (0..content.len() as u64 / 100 - 7).map(|at| RawSpan { position: at * 100, length: 100 });
        let (kept, mut target) = ((content.len() / 100 - 7) * 100, tempfile::tempfile().unwrap());
        copy_all_but(&source, content.len() as u64, neighbours, &target).unwrap();
        target.rewind().unwrap();
        copied.clear();
        target.read_to_end(&mut copied).unwrap();
        assert!(copied == content[kept..]);
        let all = copy_all_but(&source, content.len() as u64 + 1, std::iter::empty(), &target);
        assert_eq!(all.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn everything_is_copied_but_what_is_left_out() {
        check(3_000_000);
    }

    #[test]
    fn a_large_file_is_copied_whole() {
        let numbers = (LARGE / 4) as u32 + 1_000_001;
        check(numbers);
    }
}
