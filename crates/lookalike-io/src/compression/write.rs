//! Content in members or frames that end at fixed counts.

use std::io::{self, Write};

use super::Compression;
use super::convoy::Convoy;
use super::parcel::Parcel;

/// Uncompressed bytes after which a member or frame ends, and enough for a parcel.
const BLOCK_BYTES: usize = 4 << 20;

/// Compresses what is written to it. Call [`CompressedWriter::finish`] at the end: dropping it loses the last blocks.
///
/// A block, which is a gzip member or a zstd frame, is compressed in one call once it is whole, so the bytes are a
/// function of the content alone. Blocks are compressed on the threads of the rayon pool that the caller is in, or of the
/// global one, while the caller goes on writing; the caller's own thread helps.
pub struct CompressedWriter<W: Write> {
    out: W,
    compression: Compression,
    /// Gathered until there is enough to be sent.
    parcel: Parcel,
    convoy: Convoy,
    /// Parcels to be used again.
    empty: Vec<Parcel>,
    block_bytes: usize,
    has_blocks: bool,
}

impl<W: Write> CompressedWriter<W> {
    /// Compresses into `out` at the default level.
    pub fn new(out: W, compression: Compression) -> Self {
        Self {
            out,
            compression,
            parcel: Parcel::default(),
            convoy: Convoy::new(compression),
            empty: Vec::new(),
            block_bytes: BLOCK_BYTES,
            has_blocks: false,
        }
    }

    /// Ends the member or frame here; the next byte starts another.
    pub fn end_block(&mut self) -> io::Result<()> {
        if self.compression == Compression::None {
            return Ok(());
        }
        self.parcel.ends.push(self.parcel.content.len());
        self.has_blocks = true;
        if self.parcel.content.len() < self.block_bytes {
            // Small blocks travel together: each is compressed by itself, but not worth a thread's attention.
            return Ok(());
        }
        self.send()
    }

    /// Writes what is left and gives the sink back. Without any content there is still one, empty, member or frame.
    pub fn finish(mut self) -> io::Result<W> {
        if self.block_length() > 0 || !self.has_blocks {
            self.end_block()?;
        }
        if !self.parcel.ends.is_empty() {
            self.send()?;
        }
        while let Some(parcel) = self.convoy.arrive()? {
            self.out.write_all(&parcel.packed)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    /// Bytes of the block that has not ended yet.
    fn block_length(&self) -> usize {
        self.parcel.content.len() - self.parcel.ends.last().copied().unwrap_or(0)
    }

    fn send(&mut self) -> io::Result<()> {
        let next = self.empty.pop().unwrap_or_default();
        let parcel = std::mem::replace(&mut self.parcel, next);
        self.convoy.send(parcel, |mut parcel| {
            self.out.write_all(&parcel.packed)?;
            parcel.clear();
            self.empty.push(parcel);
            Ok(())
        })
    }
}

impl<W: Write> Write for CompressedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.compression == Compression::None {
            return self.out.write(bytes);
        }
        let count = bytes.len().min(self.block_bytes - self.block_length());
        self.parcel.content.extend_from_slice(&bytes[..count]);
        if self.block_length() == self.block_bytes {
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
    use std::io::Read;

    use super::*;
    use crate::compression::{open_decompressed, read_error};
    use crate::error::Result;

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
    fn the_bytes_are_those_of_one_block_after_the_other() {
        let content: Vec<u8> = (0..1000u32).flat_map(u32::to_le_bytes).collect();
        let mut expected = Vec::new();
        for block in content.chunks(300) {
            let mut encoder = flate2::write::GzEncoder::new(&mut expected, flate2::Compression::new(6));
            encoder.write_all(block).unwrap();
            encoder.finish().unwrap();
        }
        assert_eq!(compress(&content, Compression::Gzip, 1000, 300), expected);
        expected.clear();
        for block in content.chunks(300) {
            let mut encoder = zstd::bulk::Compressor::new(3).unwrap();
            encoder.include_checksum(true).unwrap();
            expected.extend(encoder.compress(block).unwrap());
        }
        assert_eq!(compress(&content, Compression::Zstd, 1000, 300), expected);
    }

    #[test]
    fn blocks_that_end_early_travel_together() {
        let blocks: Vec<Vec<u8>> = (0..100u8).map(|number| vec![number; usize::from(number)]).collect();
        let mut writer = CompressedWriter::new(Vec::new(), Compression::Gzip);
        writer.block_bytes = 64;
        for block in &blocks {
            writer.write_all(block).unwrap();
            writer.end_block().unwrap();
        }
        // A block that ends at the fixed count is followed by an empty one, if its end is asked for too.
        let expected: Vec<u8> = blocks
            .iter()
            .flat_map(|block| match block.len() {
                64.. => [
                    compress(&block[..64], Compression::Gzip, 64, 64),
                    compress(&block[64..], Compression::Gzip, 64, 64),
                ]
                .concat(),
                _ => compress(block, Compression::Gzip, 64, 64),
            })
            .collect();
        assert_eq!(writer.finish().unwrap(), expected);
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
