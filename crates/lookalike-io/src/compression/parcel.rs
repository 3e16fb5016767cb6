//! Content that is compressed together, in one thread.

use std::io::{self, Write};

use super::Compression;

/// Some content, where its members or frames end, and what it is compressed. Used again and again.
#[derive(Default)]
pub(super) struct Parcel {
    pub(super) content: Vec<u8>,
    /// Where in the content a member or frame ends.
    pub(super) ends: Vec<usize>,
    /// All members or frames, once they are compressed.
    pub(super) packed: Vec<u8>,
}

impl Parcel {
    /// Compresses each member or frame by itself, so that the bytes are a function of its content alone.
    pub(super) fn pack(&mut self, compression: Compression) -> io::Result<()> {
        self.packed.clear();
        let mut start = 0;
        for end in &self.ends {
            pack_block(&self.content[start..*end], compression, &mut self.packed)?;
            start = *end;
        }
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.content.clear();
        self.ends.clear();
    }
}

fn pack_block(block: &[u8], compression: Compression, packed: &mut Vec<u8>) -> io::Result<()> {
    match compression {
        Compression::None => packed.extend_from_slice(block),
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(packed, flate2::Compression::default());
            encoder.write_all(block)?;
            encoder.finish()?;
        }
        Compression::Zstd => {
            let mut encoder = zstd::bulk::Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)?;
            encoder.include_checksum(true)?;
            packed.extend_from_slice(&encoder.compress(block)?);
        }
    }
    Ok(())
}
