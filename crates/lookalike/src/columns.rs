//! Files made of columns of numbers, each block of them with its checksum: work files and the segments of an index.
//!
//! Magic, stamp, magic, the columns one after another, each filled up to a multiple of 16 bytes, then the directory: for
//! each column its place, its length and the checksums of its blocks; at the very end the place, the length and the
//! checksum of the directory, and the magic once more. All numbers are little-endian.

use std::io::{self, Write};
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

/// What a file of columns begins and ends with; the last byte is the version of its format.
pub(crate) type Magic = [u8; 8];

/// Bytes before the first column: the magic, the stamp and the magic.
const HEADER_BYTES: usize = 8 + 16 + 8;
/// Bytes behind the directory.
const FOOTER_BYTES: usize = 4 * 8;
/// Every column begins at a multiple of this, so that it can be used where it is mapped.
const ALIGNMENT: u64 = 16;
/// Bytes with a checksum of their own: few enough that reading a few rows of a column stays cheap.
pub(crate) const BLOCK_BYTES: usize = 64 << 10;

/// Whether these bytes have this checksum. A fuzzer does not guess checksums, so it is let past them to what is behind.
pub(crate) fn has_checksum(bytes: &[u8], checksum: u64) -> bool {
    cfg!(fuzzing) || xxh3_64(bytes) == checksum
}

/// A number that a column can hold.
pub(crate) trait Plain: Copy {
    const BYTES: usize;
    fn write_to(self, bytes: &mut [u8]);
    fn of(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($number:ty),*) => {$(
        impl Plain for $number {
            const BYTES: usize = size_of::<$number>();

            #[inline]
            fn write_to(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
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
pub(crate) struct Column {
    pub(crate) place: u64,
    pub(crate) bytes: u64,
    checksums: Vec<u64>,
}

impl Column {
    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> usize {
        self.checksums.len()
    }

    /// Where some of the blocks are in the file.
    pub(crate) fn range_of(&self, blocks: &Range<usize>) -> Range<u64> {
        let start = (blocks.start * BLOCK_BYTES) as u64;
        let end = ((blocks.end * BLOCK_BYTES) as u64).min(self.bytes.next_multiple_of(ALIGNMENT));
        self.place + start..self.place + end.max(start)
    }

    /// Whether these are the bytes of these blocks.
    pub(crate) fn is_whole(&self, blocks: Range<usize>, bytes: &[u8]) -> bool {
        let Some(checksums) = self.checksums.get(blocks) else { return false };
        let chunks = bytes.chunks(BLOCK_BYTES);
        chunks.len() == checksums.len() && chunks.zip(checksums).all(|(bytes, checksum)| has_checksum(bytes, *checksum))
    }
}

/// Writes columns, one after another.
pub(crate) struct ColumnWriter<W: Write> {
    out: W,
    magic: Magic,
    position: u64,
    columns: Vec<Column>,
    /// Bytes of the open column that make no whole block yet.
    block: Vec<u8>,
}

impl<W: Write> ColumnWriter<W> {
    pub(crate) fn new(out: W, magic: Magic, stamp: u128) -> io::Result<Self> {
        let mut writer = Self { out, magic, position: 0, columns: Vec::new(), block: Vec::new() };
        writer.write(&magic)?;
        writer.write(&stamp.to_le_bytes())?;
        writer.write(&magic)?;
        Ok(writer)
    }

    /// What is written to, and how many bytes were.
    pub(crate) fn out(&self) -> (&W, u64) {
        (&self.out, self.position)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.position += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Adds a column.
    pub(crate) fn column<T: Plain>(&mut self, values: &[T]) -> io::Result<()> {
        self.column_of([values])
    }

    /// Adds a column that comes in pieces.
    pub(crate) fn column_of<'a, T: Plain + 'a>(&mut self, pieces: impl IntoIterator<Item = &'a [T]>) -> io::Result<()> {
        self.begin_column();
        pieces.into_iter().try_for_each(|piece| self.append(piece))?;
        self.end_column()
    }

    /// Begins a column that [`Self::append`] fills and [`Self::end_column`] ends.
    pub(crate) fn begin_column(&mut self) {
        self.columns.push(Column { place: self.position, bytes: 0, checksums: Vec::new() });
    }

    pub(crate) fn append<T: Plain>(&mut self, mut piece: &[T]) -> io::Result<()> {
        if let Some(column) = self.columns.last_mut() {
            column.bytes += (piece.len() * T::BYTES) as u64;
        }
        while !piece.is_empty() {
            let fitting = (BLOCK_BYTES - self.block.len()) / T::BYTES;
            let (now, later) = piece.split_at(fitting.min(piece.len()));
            let filled = self.block.len();
            self.block.resize(filled + now.len() * T::BYTES, 0);
            for (bytes, value) in self.block[filled..].chunks_exact_mut(T::BYTES).zip(now) {
                value.write_to(bytes);
            }
            piece = later;
            if self.block.len() == BLOCK_BYTES {
                self.end_block()?;
            }
        }
        Ok(())
    }

    pub(crate) fn end_column(&mut self) -> io::Result<()> {
        self.block.resize(self.block.len().next_multiple_of(ALIGNMENT as usize), 0);
        if self.block.is_empty() { Ok(()) } else { self.end_block() }
    }

    fn end_block(&mut self) -> io::Result<()> {
        if let Some(column) = self.columns.last_mut() {
            column.checksums.push(xxh3_64(&self.block));
        }
        let block = std::mem::take(&mut self.block);
        self.write(&block)?;
        self.block = block;
        self.block.clear();
        Ok(())
    }

    /// Writes the directory, and gives back what was written to and which columns there are.
    pub(crate) fn finish(mut self) -> io::Result<(W, Vec<Column>)> {
        let place = self.position;
        let mut numbers = vec![self.columns.len() as u64];
        for column in &self.columns {
            numbers.extend([column.place, column.bytes]);
            numbers.extend(&column.checksums);
        }
        let directory: Vec<u8> = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
        self.write(&directory)?;
        for number in [place, directory.len() as u64, xxh3_64(&directory)] {
            self.write(&number.to_le_bytes())?;
        }
        let magic = self.magic;
        self.write(&magic)?;
        Ok((self.out, self.columns))
    }
}

/// The columns of a file of so many bytes, of which `read` reads some; none if it is not whole or somebody else's.
pub(crate) fn read_directory(
    size: u64,
    magic: Magic,
    stamp: u128,
    read: impl Fn(Range<u64>) -> io::Result<Vec<u8>>,
) -> io::Result<Option<Vec<Column>>> {
    let footer_place = size.checked_sub(FOOTER_BYTES as u64).filter(|place| *place >= HEADER_BYTES as u64);
    let Some(footer_place) = footer_place else { return Ok(None) };
    let (header, footer) = (read(0..HEADER_BYTES as u64)?, read(footer_place..size)?);
    if header[..8] != magic || header[8..24] != stamp.to_le_bytes() || header[24..] != magic || footer[24..] != magic {
        return Ok(None);
    }
    let number = |at: usize| u64::of(&footer[8 * at..8 * at + 8]);
    let end = number(0).checked_add(number(1));
    if end != Some(footer_place) {
        return Ok(None);
    }
    let directory = read(number(0)..footer_place)?;
    if !has_checksum(&directory, number(2)) {
        return Ok(None);
    }
    Ok(columns_of(&directory, number(0)))
}

/// The columns that a directory lists, which all end before it begins.
fn columns_of(directory: &[u8], directory_place: u64) -> Option<Vec<Column>> {
    let mut numbers = directory.chunks_exact(8).map(u64::of);
    let mut columns = Vec::new();
    for _ in 0..numbers.next()? {
        let (place, bytes) = (numbers.next()?, numbers.next()?);
        let end = bytes.checked_next_multiple_of(ALIGNMENT).and_then(|padded| place.checked_add(padded));
        if end.is_none_or(|end| end > directory_place) || place % ALIGNMENT != 0 {
            return None;
        }
        let checksums = (0..bytes.div_ceil(BLOCK_BYTES as u64)).map(|_| numbers.next()).collect::<Option<_>>()?;
        columns.push(Column { place, bytes, checksums });
    }
    Some(columns)
}
