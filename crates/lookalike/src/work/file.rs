//! One work file: columns of numbers, each block of them with its checksum.
//!
//! Magic, stamp, the columns one after another, then the directory: for each column its place, its length and the
//! checksums of its blocks; at the very end the place and the checksum of the directory. All numbers little-endian.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::Stamp;
use crate::error::{Error, ErrorKind, Result};

/// What a work file begins with; the last byte is the version of the format.
const MAGIC: [u8; 8] = *b"LKAWORK\x01";
/// Bytes before the first column.
const HEADER_BYTES: u64 = 8 + 16;
/// Bytes behind the directory: its place, its length, its checksum, and the magic once more.
const FOOTER_BYTES: u64 = 4 * 8;
/// Bytes with a checksum of their own: few enough that reading a few rows of a column stays cheap.
const BLOCK_BYTES: usize = 64 << 10;

/// A number that a column can hold.
pub(crate) trait Plain: Copy {
    const BYTES: usize;
    fn append_to(self, bytes: &mut Vec<u8>);
    fn of(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($number:ty),*) => {$(
        impl Plain for $number {
            const BYTES: usize = size_of::<$number>();

            #[inline]
            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn of(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as the number has"))
            }
        }
    )*};
}

plain!(u8, u16, u32, u64, u128, f64);

/// A column in a file.
#[derive(Clone, Debug)]
struct Column {
    place: u64,
    bytes: u64,
    checksums: Vec<u64>,
}

/// A work file on its way.
pub(crate) struct WorkWriter {
    out: BufWriter<File>,
    path: PathBuf,
    hidden: PathBuf,
    position: u64,
    columns: Vec<Column>,
    /// Bytes of the open column that make no whole block yet.
    block: Vec<u8>,
}

impl WorkWriter {
    pub(crate) fn create(path: &Path, stamp: Stamp) -> Result<Self> {
        // Others may be making the same file at this moment, each from its own beginning to its end.
        let mut hidden = path.as_os_str().to_owned();
        hidden.push(format!("-{}.part", std::process::id()));
        let hidden = PathBuf::from(hidden);
        let file = File::create(&hidden).map_err(|error| unwritable(path, &error))?;
        let mut writer = Self {
            out: BufWriter::with_capacity(BLOCK_BYTES, file),
            path: path.into(),
            hidden,
            position: 0,
            columns: Vec::new(),
            block: Vec::with_capacity(BLOCK_BYTES + 16),
        };
        writer.write(&MAGIC)?;
        writer.write(&stamp.0.to_le_bytes())?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.position += bytes.len() as u64;
        self.out.write_all(bytes).map_err(|error| unwritable(&self.path, &error))
    }

    /// Adds a column.
    pub(crate) fn column<T: Plain>(&mut self, values: &[T]) -> Result<()> {
        self.column_of([values])
    }

    /// Adds a column that comes in pieces.
    pub(crate) fn column_of<'a, T: Plain + 'a>(&mut self, pieces: impl IntoIterator<Item = &'a [T]>) -> Result<()> {
        let mut column = Column { place: self.position, bytes: 0, checksums: Vec::new() };
        self.block.clear();
        for mut piece in pieces {
            column.bytes += (piece.len() * T::BYTES) as u64;
            while !piece.is_empty() {
                let fitting = (BLOCK_BYTES - self.block.len()) / T::BYTES;
                let (now, later) = piece.split_at(fitting.min(piece.len()));
                now.iter().for_each(|value| value.append_to(&mut self.block));
                piece = later;
                if self.block.len() == BLOCK_BYTES {
                    self.end_block(&mut column)?;
                }
            }
        }
        if !self.block.is_empty() {
            self.end_block(&mut column)?;
        }
        self.columns.push(column);
        Ok(())
    }

    fn end_block(&mut self, column: &mut Column) -> Result<()> {
        column.checksums.push(xxh3_64(&self.block));
        let block = std::mem::take(&mut self.block);
        self.write(&block)?;
        self.block = block;
        self.block.clear();
        Ok(())
    }

    /// Ends the file and gives it its name.
    ///
    /// It is not made durable: should the machine die before its bytes reach the disk, the checksums tell.
    pub(crate) fn finish(mut self) -> Result<WorkFile> {
        let place = self.position;
        let mut directory = Vec::new();
        (self.columns.len() as u64).append_to(&mut directory);
        for column in &self.columns {
            column.place.append_to(&mut directory);
            column.bytes.append_to(&mut directory);
            column.checksums.iter().for_each(|checksum| checksum.append_to(&mut directory));
        }
        self.write(&directory)?;
        for number in [place, directory.len() as u64, xxh3_64(&directory)] {
            self.write(&number.to_le_bytes())?;
        }
        self.write(&MAGIC)?;
        let failed = |error: std::io::Error| unwritable(&self.path, &error);
        self.out.flush().map_err(failed)?;
        std::fs::rename(&self.hidden, &self.path).map_err(failed)?;
        let file = File::open(&self.path).map_err(failed)?;
        Ok(WorkFile { file, path: self.path, columns: self.columns })
    }
}

/// A work file that is whole. Its columns are read, and their checksums looked at, when they are asked for.
#[derive(Debug)]
pub(crate) struct WorkFile {
    file: File,
    path: PathBuf,
    columns: Vec<Column>,
}

impl WorkFile {
    /// Opens a file of this run.
    pub(crate) fn open(path: &Path, stamp: Stamp) -> Result<Self> {
        let file = File::open(path).map_err(|error| unreadable(path, &error))?;
        let size = file.metadata().map_err(|error| unreadable(path, &error))?.len();
        let read = |place: u64, bytes: u64| {
            let fits = place.checked_add(bytes).is_some_and(|end| end <= size);
            if !fits {
                return Err(damaged(path));
            }
            let mut buffer = vec![0; bytes as usize];
            file.read_exact_at(&mut buffer, place).map_err(|error| unreadable(path, &error))?;
            Ok(buffer)
        };
        let header = read(0, HEADER_BYTES)?;
        let footer = read(size.checked_sub(FOOTER_BYTES).ok_or_else(|| damaged(path))?, FOOTER_BYTES)?;
        let number = |at: usize| u64::of(&footer[8 * at..8 * at + 8]);
        if header[..8] != MAGIC || u128::of(&header[8..]) != stamp.0 || footer[24..] != MAGIC {
            return Err(damaged(path));
        }
        let directory = read(number(0), number(1))?;
        if xxh3_64(&directory) != number(2) {
            return Err(damaged(path));
        }
        let mut numbers = directory.chunks_exact(8).map(u64::of);
        let mut next = || numbers.next().ok_or_else(|| damaged(path));
        let mut columns = Vec::new();
        for _ in 0..next()? {
            let (place, bytes) = (next()?, next()?);
            let checksums = (0..bytes.div_ceil(BLOCK_BYTES as u64)).map(|_| next()).collect::<Result<_>>()?;
            columns.push(Column { place, bytes, checksums });
        }
        Ok(Self { file, path: path.into(), columns })
    }

    /// Looks at every checksum.
    pub(crate) fn check(&self) -> Result<()> {
        for (at, column) in self.columns.iter().enumerate() {
            let blocks = column.bytes.div_ceil(BLOCK_BYTES as u64) as usize;
            for block in 0..blocks {
                self.read_blocks(at, block..block + 1)?;
            }
        }
        Ok(())
    }

    /// How many numbers a column holds.
    pub(crate) fn len_of<T: Plain>(&self, column: usize) -> usize {
        self.columns.get(column).map_or(0, |column| column.bytes as usize / T::BYTES)
    }

    /// A whole column.
    pub(crate) fn column<T: Plain>(&self, column: usize) -> Result<Vec<T>> {
        self.read(column, 0..self.len_of::<T>(column))
    }

    /// A part of a column.
    pub(crate) fn read<T: Plain>(&self, column: usize, range: Range<usize>) -> Result<Vec<T>> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = range.start * T::BYTES..range.end * T::BYTES;
        let blocks = bytes.start / BLOCK_BYTES..bytes.end.div_ceil(BLOCK_BYTES);
        let skipped = blocks.start * BLOCK_BYTES;
        let buffer = self.read_blocks(column, blocks)?;
        let wanted = buffer.get(bytes.start - skipped..bytes.end - skipped).ok_or_else(|| damaged(&self.path))?;
        Ok(wanted.chunks_exact(T::BYTES).map(T::of).collect())
    }

    fn read_blocks(&self, column: usize, blocks: Range<usize>) -> Result<Vec<u8>> {
        let column = self.columns.get(column).ok_or_else(|| damaged(&self.path))?;
        let start = blocks.start * BLOCK_BYTES;
        let end = (blocks.end * BLOCK_BYTES).min(column.bytes as usize);
        let mut buffer = vec![0; end.saturating_sub(start)];
        self.file
            .read_exact_at(&mut buffer, column.place + start as u64)
            .map_err(|error| unreadable(&self.path, &error))?;
        let checksums = column.checksums.get(blocks).ok_or_else(|| damaged(&self.path))?;
        if !buffer.chunks(BLOCK_BYTES).map(xxh3_64).eq(checksums.iter().copied()) {
            return Err(damaged(&self.path));
        }
        Ok(buffer)
    }

    /// The error of a file whose content makes no sense.
    pub(crate) fn damaged(&self) -> Error {
        damaged(&self.path)
    }
}

fn damaged(path: &Path) -> Error {
    Error::new(ErrorKind::Work, format!("the work file {} is damaged", path.display()))
        .advise("run the same command again: what it held is made anew")
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Work, format!("cannot read the work file {} ({error})", path.display()))
        .advise("run the same command again: what it held is made anew")
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    let advice = if error.kind() == std::io::ErrorKind::StorageFull {
        "the disk is full: make room and run again"
    } else {
        "check the folder, or name another with --tmp; the same command goes on from here"
    };
    Error::new(ErrorKind::Work, format!("cannot write the work file {} ({error})", path.display())).advise(advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp(77);

    fn written(folder: &Path) -> PathBuf {
        let path = folder.join("file");
        let mut writer = WorkWriter::create(&path, STAMP).unwrap();
        let numbers: Vec<u64> = (0..30_000).collect();
        writer.column_of([&numbers[..10], &numbers[10..]]).unwrap();
        writer.column::<u16>(&[]).unwrap();
        writer.column(&[3u16, 1, 4]).unwrap();
        assert!(!path.exists());
        writer.finish().unwrap();
        path
    }

    #[test]
    fn columns_read_back_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = WorkFile::open(&written(folder.path()), STAMP).unwrap();
        file.check().unwrap();
        assert_eq!(file.column::<u64>(0).unwrap(), (0..30_000).collect::<Vec<_>>());
        assert_eq!(file.read::<u64>(0, 8_190..8_195).unwrap(), [8_190, 8_191, 8_192, 8_193, 8_194]);
        assert_eq!(file.read::<u64>(0, 29_999..30_000).unwrap(), [29_999]);
        assert!(file.column::<u16>(1).unwrap().is_empty());
        assert_eq!(file.column::<u16>(2).unwrap(), [3, 1, 4]);
        assert!(file.read::<u64>(0, 29_999..30_001).is_err());
        assert!(WorkFile::open(&folder.path().join("file"), Stamp(78)).is_err(), "another run's");
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let whole = std::fs::read(&path).unwrap();
        let is_good = || WorkFile::open(&path, STAMP).and_then(|file| file.check()).is_ok();
        assert!(is_good());
        let places = (0..100).chain((100..whole.len() - 300).step_by(997)).chain(whole.len() - 300..whole.len());
        for at in places {
            let mut broken = whole.clone();
            broken[at] ^= 0x10;
            std::fs::write(&path, &broken).unwrap();
            assert!(!is_good(), "byte {at}");
            if at % 5 == 0 {
                std::fs::write(&path, &whole[..at]).unwrap();
                assert!(!is_good(), "cut at {at}");
            }
        }
    }
}
