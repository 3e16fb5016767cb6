//! One work file: columns of numbers with checksums ([`crate::columns`]), under its name only when it is whole.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::Stamp;
use crate::columns::{BLOCK_BYTES, Column, ColumnWriter, Magic, Plain, read_directory};
use crate::error::{Error, ErrorKind, Result};

const MAGIC: Magic = *b"LKAWORK\x04";

/// A file under a name of its own until it is whole. It goes with this, unless it was given its proper name.
#[derive(Debug)]
pub struct HiddenFile(PathBuf);

impl HiddenFile {
    /// A name beside this path that nobody else has: others may be making the same file at this moment, on other machines
    /// too, each from its own beginning to its end.
    pub fn beside(path: &Path) -> Self {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("-{}-{:016x}.part", std::process::id(), RandomState::new().hash_one(path)));
        Self(name.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Gives it its proper name.
    pub fn rename_to(self, path: &Path) -> io::Result<()> {
        std::fs::rename(&self.0, path)
    }
}

impl Drop for HiddenFile {
    fn drop(&mut self) {
        // Mostly it is gone by now.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A work file on its way.
pub(crate) struct WorkWriter {
    columns: ColumnWriter<BufWriter<File>>,
    path: PathBuf,
    hidden: HiddenFile,
}

impl WorkWriter {
    pub(crate) fn create(path: &Path, stamp: Stamp) -> Result<Self> {
        let hidden = HiddenFile::beside(path);
        let columns = File::create(hidden.path())
            .and_then(|file| ColumnWriter::new(BufWriter::with_capacity(BLOCK_BYTES, file), MAGIC, stamp.0))
            .map_err(|error| unwritable(path, &error))?;
        Ok(Self { columns, path: path.into(), hidden })
    }

    /// Adds a column.
    pub(crate) fn column<T: Plain>(&mut self, values: &[T]) -> Result<()> {
        self.column_of([values])
    }

    /// Adds a column that comes in pieces.
    pub(crate) fn column_of<'a, T: Plain + 'a>(&mut self, pieces: impl IntoIterator<Item = &'a [T]>) -> Result<()> {
        self.columns.column_of(pieces).map_err(|error| unwritable(&self.path, &error))
    }

    /// Ends the file and gives it its name.
    ///
    /// It is not made durable: should the machine die before its bytes reach the disk, the checksums tell.
    pub(crate) fn finish(self) -> Result<WorkFile> {
        let Self { columns, path, hidden } = self;
        let finished = columns.finish().and_then(|(mut out, columns)| {
            out.flush()?;
            hidden.rename_to(&path)?;
            Ok((File::open(&path)?, columns))
        });
        let (file, columns) = finished.map_err(|error| unwritable(&path, &error))?;
        Ok(WorkFile { file, path, columns })
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
        let open = || {
            let file = File::open(path)?;
            let size = file.metadata()?.len();
            let columns = read_directory(size, MAGIC, stamp.0, |range| read_at(&file, range))?;
            Ok((file, columns))
        };
        match open().map_err(|error| unreadable(path, &error))? {
            (file, Some(columns)) => Ok(Self { file, path: path.into(), columns }),
            (_, None) => Err(damaged(path)),
        }
    }

    /// Looks at every checksum.
    pub(crate) fn check(&self) -> Result<()> {
        for (at, column) in self.columns.iter().enumerate() {
            for block in 0..column.blocks() {
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
        let buffer = read_at(&self.file, column.range_of(&blocks)).map_err(|error| unreadable(&self.path, &error))?;
        if column.is_whole(blocks, &buffer) { Ok(buffer) } else { Err(damaged(&self.path)) }
    }

    /// The error of a file whose content makes no sense.
    pub(crate) fn damaged(&self) -> Error {
        damaged(&self.path)
    }
}

fn read_at(file: &File, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; (range.end - range.start) as usize];
    file.read_exact_at(&mut buffer, range.start)?;
    Ok(buffer)
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
