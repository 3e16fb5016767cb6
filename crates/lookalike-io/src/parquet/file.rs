//! A Parquet file on disk, whose footer has been read.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;

use crate::error::{Error, Result};

/// How a Parquet file begins and ends.
const MAGIC: &[u8; 4] = b"PAR1";

/// An open Parquet file: its schema and where its row groups stand.
///
/// Row groups can be read from many threads at once.
#[derive(Debug)]
pub struct ParquetFile {
    pub(super) path: PathBuf,
    pub(super) metadata: ArrowReaderMetadata,
    /// For each row group, the rows of the file up to its end.
    pub(super) row_ends: Vec<u64>,
}

impl ParquetFile {
    /// Opens a file and reads its footer.
    ///
    /// # Errors
    /// If the file cannot be opened, is no Parquet file, or is cut short.
    pub fn open(path: &Path) -> Result<Self> {
        let file = open(path)?;
        check_ends(&file, path)?;
        let metadata = without_panic(path, || {
            ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
                .map_err(|error| damaged(path, "the footer of this Parquet file cannot be read", &error))
        })?;
        let rows = metadata.metadata().row_groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0));
        let row_ends = rows.scan(0, |end: &mut u64, rows| {
            *end = end.saturating_add(rows);
            Some(*end)
        });
        let row_ends = row_ends.collect();
        Ok(Self { path: path.into(), metadata, row_ends })
    }

    /// How many row groups there are.
    pub fn row_groups(&self) -> usize {
        self.row_ends.len()
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.row_ends.last().copied().unwrap_or(0)
    }

    /// Where the rows of a row group begin.
    pub(crate) fn first_row(&self, row_group: usize) -> u64 {
        row_group.checked_sub(1).and_then(|before| self.row_ends.get(before)).copied().unwrap_or(0)
    }
}

/// Opens the file anew. Every reader needs its own: copies of one handle share their position.
pub(super) fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| Error::io("cannot open", path, error))
}

/// An error of the Parquet library about a file.
pub(super) fn damaged(path: &Path, what: &str, error: &ParquetError) -> Error {
    Error::new(format!("{what} ({error})")).at_file(path).advise("copy or download the file again, or leave it out")
}

/// The error of the operating system that the Parquet library met while it wrote, if it was one: files are read by the same
/// library, but not so that a pipe is closed or a disk full.
pub(super) fn write_failure(error: &ParquetError) -> Option<io::Error> {
    let ParquetError::External(source) = error else { return None };
    let source = source.downcast_ref::<io::Error>()?;
    let is_of_output = matches!(
        source.kind(),
        ErrorKind::BrokenPipe
            | ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            | ErrorKind::FileTooLarge
            | ErrorKind::WriteZero
    );
    // It cannot be taken out of where it is.
    is_of_output.then(|| source.raw_os_error().map_or_else(|| source.kind().into(), io::Error::from_raw_os_error))
}

/// Does something with a file, and makes an error of a panic: the Parquet and Arrow libraries panic on some damaged
/// files (a footer that claims integers of 73 bits, for one), and a file must not end a program.
pub(super) fn without_panic<T>(path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    // What the work leaves behind is whole: it adds a record in one step, after the libraries have returned.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Error::new("this Parquet file is damaged in a way that its reader did not expect")
            .at_file(path)
            .advise("copy or download the file again, or leave it out"))
    })
}

/// Tells a file of another format, and one that was cut short, from a damaged one.
fn check_ends(mut file: &File, path: &Path) -> Result<()> {
    let cannot_read = |error| Error::io("cannot read", path, error);
    let length = file.seek(SeekFrom::End(0)).map_err(cannot_read)?;
    let mut magic_at = |position| {
        let mut magic = [0; 4];
        file.seek(SeekFrom::Start(position)).and_then(|_| file.read_exact(&mut magic)).map_err(cannot_read)?;
        Ok(&magic == MAGIC)
    };
    if length < 4 || !magic_at(0)? {
        return Err(Error::new("this is no Parquet file: it does not begin with PAR1")
            .at_file(path)
            .advise("name its format with --input-format"));
    }
    if length < 12 || !magic_at(length - 4)? {
        return Err(Error::new(format!("this Parquet file is cut short: its {length} bytes do not end with PAR1"))
            .at_file(path)
            .advise("copy or download it again, or leave it out"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_are_told_from_cut_ones() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("x.parquet");
        let cases: [(&[u8], &str); 5] = [
            (b"", "no Parquet file"),
            (b"{\"text\": \"a record\"}\n", "no Parquet file"),
            (b"PAR1", "cut short"),
            (b"PAR1 and some pages of", "cut short"),
            (b"PAR1 a footer \xff\0\0\0PAR1", "footer"),
        ];
        for (content, message) in cases {
            std::fs::write(&path, content)?;
            let error = ParquetFile::open(&path).expect_err("no Parquet file");
            assert!(error.message().contains(message), "{error}");
            assert!(error.advice().is_some() && error.place().is_some());
        }
        let error = ParquetFile::open(&folder.path().join("absent")).expect_err("no file");
        assert!(error.to_string().contains("cannot open"), "{error}");
        Ok(())
    }
}
