//! gzip and zstd: told by their magic bytes, read whatever number of members or frames they have, and written in members
//! and frames that end at fixed counts, so that the bytes do not depend on who wrote them how.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// How an input is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// gzip, of one member or several.
    Gzip,
    /// Zstandard, of one frame or several.
    Zstd,
}

/// Uncompressed bytes after which a member or frame ends.
const BLOCK_BYTES: usize = 4 << 20;
/// Compressed bytes read from a file at once.
const READ_BYTES: usize = 256 << 10;
/// The largest window that zstd defines (`--long=31`); it is allocated only for a frame that asks for it.
const MAX_WINDOW_LOG: u32 = 31;

impl Compression {
    /// The compression that `start`, the first bytes of a file, tell.
    pub fn detect(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// The compression that a file's name tells, if it tells one.
    pub fn by_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "gz" => Some(Self::Gzip),
            "zst" | "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// What the compression is called in a message.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "uncompressed",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// The decompressed bytes of a file.
pub fn open_decompressed(path: &Path, compression: Compression) -> Result<Box<dyn Read + Send>> {
    open_counted(path, compression).map(|(reader, _)| reader)
}

/// The decompressed bytes of a file, and how many of the file's own bytes have been read for them so far.
pub(crate) fn open_counted(path: &Path, compression: Compression) -> Result<(Box<dyn Read + Send>, Arc<AtomicU64>)> {
    let file = File::open(path).map_err(|error| Error::io("cannot open", path, error))?;
    let read = Arc::new(AtomicU64::new(0));
    let counted = Counted { file, read: Arc::clone(&read) };
    let reader: Box<dyn Read + Send> = match compression {
        Compression::None => Box::new(counted),
        Compression::Gzip => {
            Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(READ_BYTES, counted)))
        }
        Compression::Zstd => {
            let buffered = BufReader::with_capacity(READ_BYTES, counted);
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered)
                .map_err(|error| Error::io("cannot start to decompress", path, error))?;
            decoder
                .window_log_max(MAX_WINDOW_LOG)
                .map_err(|error| Error::io("cannot start to decompress", path, error))?;
            Box::new(decoder)
        }
    };
    Ok((reader, read))
}

/// What a failed read of decompressed bytes means: the file's own bytes could not be read, or are damaged.
pub(crate) fn read_error(path: &Path, compression: Compression, position: u64, error: io::Error) -> Error {
    let damaged = compression != Compression::None && error.raw_os_error().is_none();
    if !damaged {
        return Error::io("cannot read", path, error);
    }
    let what = if error.kind() == io::ErrorKind::UnexpectedEof { "ends too early" } else { "is damaged" };
    Error::new(format!(
        "the {} data {what} ({error}), about {position} decompressed bytes into the file",
        compression.name()
    ))
    .at_file(path)
    .advise("get the file again, or decompress what is left of it by hand")
}

struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Compresses what is written to it. Call [`CompressedWriter::finish`] at the end: dropping it loses the last block.
///
/// A block is compressed when it is full, in one call, so the bytes are a function of the content alone.
pub struct CompressedWriter<W: Write> {
    out: W,
    compression: Compression,
    block: Vec<u8>,
    block_bytes: usize,
    blocks: u64,
}

impl<W: Write> CompressedWriter<W> {
    /// Compresses into `out` at the default level.
    pub fn new(out: W, compression: Compression) -> Self {
        Self { out, compression, block: Vec::new(), block_bytes: BLOCK_BYTES, blocks: 0 }
    }

    /// Ends the member or frame here; the next byte starts another.
    pub fn end_block(&mut self) -> io::Result<()> {
        match self.compression {
            Compression::None => self.out.write_all(&self.block)?,
            Compression::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(&mut self.out, flate2::Compression::default());
                encoder.write_all(&self.block)?;
                encoder.finish()?;
            }
            Compression::Zstd => {
                let mut encoder = zstd::bulk::Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                self.out.write_all(&encoder.compress(&self.block)?)?;
            }
        }
        self.block.clear();
        self.blocks += 1;
        Ok(())
    }

    /// Writes what is left and gives the sink back. Without any content there is still one, empty, member or frame.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.block.is_empty() || self.blocks == 0 {
            self.end_block()?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

impl<W: Write> Write for CompressedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.compression == Compression::None {
            return self.out.write(bytes);
        }
        let count = bytes.len().min(self.block_bytes - self.block.len());
        self.block.extend_from_slice(&bytes[..count]);
        if self.block.len() == self.block_bytes {
            self.end_block()?;
        }
        Ok(count)
    }

    /// Does nothing: a flush must not change where blocks end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compress(content: &[u8], compression: Compression, write_bytes: usize, block_bytes: usize) -> Vec<u8> {
        let mut writer = CompressedWriter::new(Vec::new(), compression);
        writer.block_bytes = block_bytes;
        for piece in content.chunks(write_bytes) {
            writer.write_all(piece).unwrap();
        }
        writer.finish().unwrap()
    }

    fn decompress(bytes: &[u8]) -> Result<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        let compression = Compression::detect(bytes);
        let mut content = Vec::new();
        match open_decompressed(&path, compression)?.read_to_end(&mut content) {
            Ok(_) => Ok(content),
            Err(error) => Err(read_error(&path, compression, content.len() as u64, error)),
        }
    }

    #[test]
    fn several_blocks_come_back_as_one_content_and_writes_do_not_matter() {
        let content: Vec<u8> = (0..1000u32).flat_map(u32::to_le_bytes).collect();
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            let bytes = compress(&content, compression, 7, 256);
            assert_eq!(bytes, compress(&content, compression, 4000, 256));
            assert_eq!(Compression::detect(&bytes), compression);
            assert_eq!(decompress(&bytes).unwrap(), content);
            let empty = compress(b"", compression, 1, 256);
            assert_eq!(Compression::detect(&empty), compression);
            assert_eq!(decompress(&empty).unwrap(), b"");
        }
    }

    #[test]
    fn a_skippable_frame_may_come_first() {
        let mut bytes = vec![0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        bytes.extend(compress(b"after", Compression::Zstd, 5, 256));
        assert_eq!(decompress(&bytes).unwrap(), b"after");
    }

    #[test]
    fn damage_is_told() {
        let content: Vec<u8> =
            (0..100_000u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        for compression in [Compression::Gzip, Compression::Zstd] {
            let whole = compress(&content, compression, 4096, BLOCK_BYTES);
            let cut = decompress(&whole[..whole.len() / 2]).unwrap_err().to_string();
            assert!(cut.contains("ends too early") && cut.contains("get the file again"), "{cut}");
            let mut damaged = whole.clone();
            let middle = damaged.len() - 8;
            damaged[middle..].fill(0xA5);
            let damaged = decompress(&damaged).unwrap_err().to_string();
            assert!(damaged.contains(compression.name()) && damaged.contains("is damaged"), "{damaged}");
        }
    }
}
