//! A file of columns where it is: mapped from the disk, or in memory. A block's checksum is looked at when the block is
//! first used, so that opening costs nothing and no damaged byte ever reaches an answer.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::AnyBitPattern;
use memmap2::Mmap;

use super::failure::{damaged, unreadable};
use crate::columns::{BLOCK_BYTES, Column, Magic, read_directory};
use crate::error::Result;

#[cfg(target_endian = "big")]
compile_error!("the columns of an index are used as they lie in the file, which is little-endian");

/// Where the bytes are.
#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    /// In words as wide as any column's numbers, for their alignment; and how many bytes there are.
    Owned(Vec<u128>, usize),
}

impl Bytes {
    fn all(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(words, length) => &bytemuck::cast_slice(words)[..*length],
        }
    }
}

/// Columns of numbers that are used in place.
#[derive(Debug)]
pub(super) struct StoredColumns {
    /// What the file is called in errors.
    path: PathBuf,
    bytes: Bytes,
    columns: Vec<Column>,
    /// For each column, a bit for each block that was found whole.
    seen: Vec<Box<[AtomicU64]>>,
}

impl StoredColumns {
    /// Maps a file, which is never changed as long as it has this name.
    pub(super) fn map(path: &Path, magic: Magic, stamp: u128) -> Result<Self> {
        let file = File::open(path).map_err(|error| unreadable(path, &error))?;
        // SAFETY: files of an index are written once, under a hidden name, and never changed; the writer removes them and
        // makes others. Whoever overwrites them from outside breaks the index, as with every mapped file.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file) }.map_err(|error| unreadable(path, &error))?;
        Self::new(path, Bytes::Mapped(map), magic, stamp)
    }

    /// Takes the bytes of a file that was never written, or was part of another; `path` is that one's.
    pub(super) fn of_bytes(path: &Path, bytes: &[u8], magic: Magic, stamp: u128) -> Result<Self> {
        let mut words = vec![0u128; bytes.len().div_ceil(16)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self::new(path, Bytes::Owned(words, bytes.len()), magic, stamp)
    }

    fn new(path: &Path, bytes: Bytes, magic: Magic, stamp: u128) -> Result<Self> {
        let all = bytes.all();
        let read = |range: Range<u64>| Ok(all[range.start as usize..range.end as usize].to_vec());
        let columns = read_directory(all.len() as u64, magic, stamp, read)
            .map_err(|error| unreadable(path, &error))?
            .ok_or_else(|| damaged(path))?;
        let words = |column: &Column| (0..column.blocks().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let seen = columns.iter().map(words).collect();
        Ok(Self { path: path.into(), bytes, columns, seen })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the whole file.
    pub(super) fn size(&self) -> u64 {
        self.bytes.all().len() as u64
    }

    /// How many numbers a column holds.
    pub(super) fn len_of<T>(&self, column: usize) -> usize {
        self.columns.get(column).map_or(0, |column| column.bytes as usize / size_of::<T>())
    }

    /// A part of a column.
    pub(super) fn slice<T: AnyBitPattern>(&self, column: usize, range: Range<usize>) -> Result<&[T]> {
        let found =
            self.columns.get(column).filter(|_| range.start <= range.end && range.end <= self.len_of::<T>(column));
        let Some(found) = found else { return Err(self.damaged()) };
        if range.is_empty() {
            return Ok(&[]);
        }
        let bytes = range.start * size_of::<T>()..range.end * size_of::<T>();
        let (first, last) = (bytes.start / BLOCK_BYTES, (bytes.end - 1) / BLOCK_BYTES);
        for block in first..=last {
            let is_seen = self.seen[column][block / 64].load(Ordering::Relaxed) >> (block % 64) & 1 == 1;
            if !is_seen {
                self.look_at(column, block)?;
            }
        }
        let place = found.place as usize;
        Ok(bytemuck::cast_slice(&self.bytes.all()[place + bytes.start..place + bytes.end]))
    }

    /// Has the memory fetched where a number of a column lies, without waiting for it.
    pub(super) fn prefetch<T: AnyBitPattern>(&self, column: usize, index: usize) {
        let Some(column) = self.columns.get(column) else { return };
        let place = column.place as usize + index * size_of::<T>();
        if let Some(byte) = self.bytes.all().get(place) {
            prefetch(byte);
        }
    }

    /// A whole column.
    pub(super) fn column<T: AnyBitPattern>(&self, column: usize) -> Result<&[T]> {
        self.slice(column, 0..self.len_of::<T>(column))
    }

    /// One number of a column.
    pub(super) fn at<T: AnyBitPattern>(&self, column: usize, index: usize) -> Result<T> {
        Ok(self.slice(column, index..index + 1)?[0])
    }

    /// The part that the `index`-th entry of a column of ends bounds.
    pub(super) fn bounds(&self, ends: usize, index: usize) -> Result<Range<usize>> {
        let range = match index {
            0 => 0..self.at::<u64>(ends, 0)?,
            _ => match self.slice::<u64>(ends, index - 1..index + 1)? {
                [start, end] => *start..*end,
                _ => return Err(self.damaged()),
            },
        };
        Ok(range.start as usize..range.end as usize)
    }

    #[cold]
    fn look_at(&self, column: usize, block: usize) -> Result<()> {
        let found = &self.columns[column];
        let range = found.range_of(&(block..block + 1));
        if !found.is_whole(block..block + 1, &self.bytes.all()[range.start as usize..range.end as usize]) {
            return Err(self.damaged());
        }
        self.seen[column][block / 64].fetch_or(1 << (block % 64), Ordering::Relaxed);
        Ok(())
    }

    /// Looks at every checksum.
    pub(super) fn check(&self) -> Result<()> {
        for column in 0..self.columns.len() {
            (0..self.columns[column].blocks()).try_for_each(|block| self.look_at(column, block))?;
        }
        Ok(())
    }

    /// The error of a file whose content makes no sense.
    pub(super) fn damaged(&self) -> crate::error::Error {
        damaged(&self.path)
    }
}

/// Tells the processor that something will be looked at soon.
pub(super) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction, which changes nothing that a program can see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
