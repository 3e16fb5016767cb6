//! The decompressed bytes of a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::GzDecoder;

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
            Box::new(Members { member: Some(GzDecoder::new(BufReader::with_capacity(READ_BYTES, counted))) })
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

/// What the members of a gzip file hold, one after another. Zeros between and behind them are passed over, as gzip does: files that
/// come in blocks are filled up with them.
struct Members<R> {
    /// None at the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if let Some(mut rest) = self.member.take().map(GzDecoder::into_inner)
                && pass_zeros(&mut rest)?
            {
                self.member = Some(GzDecoder::new(rest));
            }
        }
        Ok(0)
    }
}

/// Passes over zeros, and tells whether something else follows.
fn pass_zeros(rest: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = rest.fill_buf()?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let (is_end, goes_on) = (bytes.is_empty(), zeros < bytes.len());
        rest.consume(zeros);
        if is_end || goes_on {
            return Ok(goes_on);
        }
    }
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
