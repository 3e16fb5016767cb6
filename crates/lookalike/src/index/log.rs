//! The log: what was committed since the last segment was written, one frame for each commit.
//!
//! A frame is the number of its bytes, their checksum, the checksum of these two and of the frame's place, and the bytes:
//! the sequences of the items that the commit deletes, then a segment with the items that it adds.
//!
//! A program that is killed while it writes leaves a frame that is too short; a machine that dies may also leave sectors
//! of zeros. Such a frame at the end was never acknowledged and is cut off. Any other frame that does not match its
//! checksums has been damaged, and that is an error. The bytes are masked, so that no sector that was written is all zeros.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::failure::{damaged, unreadable, unwritable};
use crate::columns::has_checksum;
use crate::error::Result;
use crate::hash::SplitMix;

const MAGIC: [u8; 8] = *b"LKALOGF\x02";
/// Of logs from before frames were masked.
const UNMASKED_MAGIC: [u8; 8] = *b"LKALOGF\x01";
const HEADER_BYTES: usize = 8 + 16;
const FRAME_HEADER_BYTES: usize = 3 * 8;
/// What disks write as a whole.
const SECTOR_BYTES: usize = 512;

/// The log that commits are appended to.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    path: PathBuf,
    pub(super) name: String,
    /// Bytes of whole frames, header included.
    length: u64,
    is_masked: bool,
    /// Whether a write failed and could not be taken back.
    is_broken: bool,
}

/// What one commit did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// Sequences of items that it deleted.
    pub(super) deleted: Vec<u64>,
    /// The segment of the items that it added; empty if there are none.
    pub(super) added: Vec<u8>,
}

impl Frame {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 * (self.deleted.len() + 1) + self.added.len());
        bytes.extend((self.deleted.len() as u64).to_le_bytes());
        bytes.extend(self.deleted.iter().flat_map(|sequence| sequence.to_le_bytes()));
        bytes.extend(&self.added);
        bytes
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk::<8>()?;
        let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
        let (deleted, added) = rest.split_at_checked(count.checked_mul(8)?)?;
        let deleted = deleted.chunks_exact(8).map(number).collect();
        Some(Self { deleted, added: added.into() })
    }
}

impl Log {
    /// Makes an empty log, durable but for its name.
    pub(super) fn create(folder: &Path, name: &str, stamp: u128) -> Result<Self> {
        let path = folder.join(name);
        let header = [&MAGIC[..], &stamp.to_le_bytes()].concat();
        let made = File::create(&path).and_then(|mut file| {
            file.write_all(&header)?;
            file.sync_all()?;
            Ok(file)
        });
        let file = made.map_err(|error| unwritable(&path, &error))?;
        Ok(Self { file, path, name: name.into(), length: HEADER_BYTES as u64, is_masked: true, is_broken: false })
    }

    /// Opens a log to append to it, and cuts off what was never acknowledged.
    pub(super) fn open(folder: &Path, name: &str, stamp: u128) -> Result<(Self, Vec<Frame>)> {
        let path = folder.join(name);
        let Contents { frames, length, is_masked } = read_contents(&path, stamp)?;
        let opened = File::options().append(true).open(&path).and_then(|file| {
            if file.metadata()?.len() > length {
                file.set_len(length)?;
                file.sync_all()?;
            }
            Ok(file)
        });
        let file = opened.map_err(|error| unwritable(&path, &error))?;
        Ok((Self { file, path, name: name.into(), length, is_masked, is_broken: false }, frames))
    }

    /// Bytes of what is in it.
    pub(super) fn bytes(&self) -> u64 {
        frame_bytes(self.length)
    }

    /// Appends a frame; durable when this returns. If that fails, the log is as it was before.
    pub(super) fn append(&mut self, frame: &Frame) -> Result<()> {
        let mut payload = frame.to_bytes();
        if self.is_masked {
            mask(&mut payload, self.length);
        }
        let mut bytes = frame_header(&payload, self.length).to_vec();
        bytes.extend(payload);
        let written = if self.is_broken {
            Err(io::Error::other("an earlier write failed"))
        } else {
            self.file.write_all(&bytes).and_then(|()| self.file.sync_data())
        };
        if let Err(error) = written {
            // Half a frame in the middle would look like damage.
            self.is_broken = self.file.set_len(self.length).and_then(|()| self.file.sync_data()).is_err();
            return Err(unwritable(&self.path, &error));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }
}

/// Bytes of the frames of a log that has so many bytes in all.
pub(super) fn frame_bytes(length: u64) -> u64 {
    length.saturating_sub(HEADER_BYTES as u64)
}

fn frame_header(payload: &[u8], place: u64) -> [u8; FRAME_HEADER_BYTES] {
    let mut header = [0; FRAME_HEADER_BYTES];
    header[..8].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    header[8..16].copy_from_slice(&xxh3_64(payload).to_le_bytes());
    let checksum = xxh3_64_with_seed(&header[..16], place);
    header[16..].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// Makes the payload of the frame at this place unlike zeros, and again what it was.
fn mask(payload: &mut [u8], place: u64) {
    let mut random = SplitMix(place);
    for bytes in payload.chunks_mut(8) {
        bytes.iter_mut().zip(random.next().to_le_bytes()).for_each(|(byte, mask)| *byte ^= mask);
    }
}

/// What a log holds.
struct Contents {
    frames: Vec<Frame>,
    /// How many of its bytes are whole frames.
    length: u64,
    is_masked: bool,
}

/// The frames of a log, and how many of its bytes are whole frames.
pub(super) fn read(path: &Path, stamp: u128) -> Result<(Vec<Frame>, u64)> {
    read_contents(path, stamp).map(|contents| (contents.frames, contents.length))
}

fn read_contents(path: &Path, stamp: u128) -> Result<Contents> {
    let mut bytes = Vec::new();
    File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(|error| unreadable(path, &error))?;
    let is_masked = match bytes.get(..HEADER_BYTES) {
        Some(header) if header[8..] == stamp.to_le_bytes() && header[..8] == MAGIC => true,
        Some(header) if header[8..] == stamp.to_le_bytes() && header[..8] == UNMASKED_MAGIC => false,
        _ => return Err(damaged(path)),
    };
    let (mut frames, mut place) = (Vec::new(), HEADER_BYTES);
    while place < bytes.len() {
        match read_frame(&bytes[place..], place as u64, is_masked) {
            Found::Whole(frame, length) => {
                frames.push(frame);
                place += length;
            }
            Found::Unfinished => break,
            Found::Damaged => return Err(damaged(path)),
        }
    }
    Ok(Contents { frames, length: place as u64, is_masked })
}

enum Found {
    Whole(Frame, usize),
    Unfinished,
    Damaged,
}

fn read_frame(bytes: &[u8], place: u64, is_masked: bool) -> Found {
    let Some((header, rest)) = bytes.split_first_chunk::<FRAME_HEADER_BYTES>() else { return Found::Unfinished };
    // Only the last frame can be unfinished: nothing is appended to one that is.
    let bad = |is_last: bool| {
        if is_last && was_lost(bytes, place, is_masked) { Found::Unfinished } else { Found::Damaged }
    };
    if !cfg!(fuzzing) && !is_frame_header(header, place) {
        return bad(!has_later_frame(bytes, place));
    }
    let length = number(&header[..8]) as usize;
    let Some(payload) = rest.get(..length) else { return Found::Unfinished };
    if !has_checksum(payload, number(&header[8..16])) {
        return bad(rest.len() == length);
    }
    let mut payload = payload.to_vec();
    if is_masked {
        mask(&mut payload, place);
    }
    match Frame::of(&payload) {
        Some(frame) => Found::Whole(frame, FRAME_HEADER_BYTES + length),
        None => Found::Damaged,
    }
}

fn is_frame_header(header: &[u8], place: u64) -> bool {
    number(&header[16..]) == xxh3_64_with_seed(&header[..16], place)
}

/// Whether another frame begins behind the one at the beginning.
fn has_later_frame(bytes: &[u8], place: u64) -> bool {
    bytes.windows(FRAME_HEADER_BYTES).zip(place..).skip(1).any(|(header, place)| is_frame_header(header, place))
}

/// Whether a sector of the frame at this place of the file never reached the disk: it is all zeros. So may be the part of the frame in
/// the sector where it begins or ends.
fn was_lost(bytes: &[u8], place: u64, is_masked: bool) -> bool {
    /// So many bytes of a masked frame are never all zeros: neither the length that it begins with, nor what is masked.
    const NEVER_ALL_ZERO: usize = 8;
    let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    let is_lost_part = |part: &[u8]| is_masked && part.len() >= NEVER_ALL_ZERO && is_zero(part);
    let first = place.next_multiple_of(SECTOR_BYTES as u64) as usize - place as usize;
    let Some((begin, rest)) = bytes.split_at_checked(first) else { return is_zero(bytes) };
    let mut sectors = rest.chunks_exact(SECTOR_BYTES);
    is_zero(bytes) || is_lost_part(begin) || sectors.any(is_zero) || is_lost_part(sectors.remainder())
}

fn number(bytes: &[u8]) -> u64 {
    bytes[..8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: u128 = 9;

    /// Some are all zeros, as times and the ends of empty texts may be.
    fn frame(number: u64) -> Frame {
        let fill = if number % 4 == 3 { 0 } else { number as u8 };
        Frame { deleted: vec![number; number as usize % 3], added: vec![fill; 80 * number as usize] }
    }

    fn written(folder: &Path) -> PathBuf {
        let mut log = Log::create(folder, "log", STAMP).unwrap();
        (0..30).for_each(|at| log.append(&frame(at)).unwrap());
        folder.join("log")
    }

    #[test]
    fn frames_read_back_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let (frames, length) = read(&path, STAMP).unwrap();
        assert_eq!(frames, (0..30).map(frame).collect::<Vec<_>>());
        assert_eq!(length, path.metadata().unwrap().len());
        assert!(read(&path, STAMP + 1).is_err(), "another index's");
    }

    #[test]
    fn an_unfinished_frame_is_cut_off_and_a_flipped_byte_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let whole = std::fs::read(&path).unwrap();
        for cut in (HEADER_BYTES..whole.len()).step_by(61) {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let (mut log, frames) = Log::open(folder.path(), "log", STAMP).unwrap();
            assert!(frames.len() < 30 && frames.iter().enumerate().all(|(at, found)| *found == frame(at as u64)));
            log.append(&frame(77)).unwrap();
            assert_eq!(read(&path, STAMP).unwrap().0.last(), Some(&frame(77)));
        }
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            std::fs::write(&path, &flipped).unwrap();
            assert!(read(&path, STAMP).is_err(), "byte {at}");
        }
        // A machine that died: some sectors of the last frame never reached the disk.
        let last = whole.len() - FRAME_HEADER_BYTES - frame(29).to_bytes().len();
        for sector in last / SECTOR_BYTES + 1..whole.len() / SECTOR_BYTES {
            let mut lost = whole.clone();
            lost[sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES].fill(0);
            std::fs::write(&path, &lost).unwrap();
            assert_eq!(read(&path, STAMP).unwrap().0.len(), 29, "sector {sector}");
        }
        // Or its part of the sector in which it begins, or ends.
        let (begin_ends, end_begins) = (last.next_multiple_of(SECTOR_BYTES), whole.len() / SECTOR_BYTES * SECTOR_BYTES);
        for part in [last..begin_ends, end_begins..whole.len()] {
            assert!(part.len() >= 8, "{part:?}");
            let mut lost = whole.clone();
            lost[part.clone()].fill(0);
            std::fs::write(&path, &lost).unwrap();
            assert_eq!(read(&path, STAMP).unwrap().0.len(), 29, "{part:?}");
        }
        // What others follow was on the disk once.
        for sector in 0..=last / SECTOR_BYTES {
            let mut lost = whole.clone();
            lost[sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES].fill(0);
            std::fs::write(&path, &lost).unwrap();
            assert!(read(&path, STAMP).is_err(), "sector {sector}");
        }
    }

    #[test]
    fn a_log_from_before_frames_were_masked_is_read_and_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut bytes = [&UNMASKED_MAGIC[..], &STAMP.to_le_bytes()].concat();
        let payload = frame(7).to_bytes();
        bytes.extend(frame_header(&payload, bytes.len() as u64));
        bytes.extend(payload);
        std::fs::write(&path, &bytes).unwrap();
        let (mut log, frames) = Log::open(folder.path(), "log", STAMP).unwrap();
        assert_eq!(frames, [frame(7)]);
        log.append(&frame(8)).unwrap();
        assert_eq!(read(&path, STAMP).unwrap().0, [frame(7), frame(8)]);
    }
}
