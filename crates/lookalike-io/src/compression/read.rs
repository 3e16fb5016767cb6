//! The decompressed bytes of a file.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Compression;
use crate::error::{Error, Result};

/// Compressed bytes read from a file at once.
const READ_BYTES: usize = 256 << 10;
/// The largest window that zstd defines (`--long=31`); it is allocated only for a frame that asks for it.
const MAX_WINDOW_LOG: u32 = 31;

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
    // What is read at a time is long, so the place is not known any better.
    let place = if position > 0 { format!(", behind the first {position} decompressed bytes") } else { String::new() };
    Error::new(format!("the {} data {what} ({error}){place}", compression.name()))
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
