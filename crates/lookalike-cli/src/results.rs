//! Lists of results: pairs, groups, dropped records, in the form that was asked for.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Result, bail};
use lookalike_io::error::Shown;
use lookalike_io::parquet::{ColumnKind, ResultTable, Value};
use lookalike_io::{AtomicFile, Compression, FinishedFile};
use serde_json::json;

use crate::arguments::ResultFormat;
use crate::destinations::STDOUT;

/// One value of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell<'a> {
    Text(&'a str),
    Similarity(f64),
}

/// What a column holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    Text(&'static str),
    Similarity(&'static str),
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Self::Text(name) | Self::Similarity(name) => name,
        }
    }
}

/// Somewhere to write: a file that appears when whole, or standard output.
pub(crate) enum Sink {
    File(Box<AtomicFile>),
    Stdout(BufWriter<File>),
}

impl Sink {
    /// The file, or standard output where there is none or it is called `-`.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        use std::os::fd::AsFd;
        match path {
            Some(path) if Compression::by_name(path).is_some() => {
                bail!("lists are not compressed, but {} is named so; leave the ending out", Shown(path))
            }
            Some(path) if path.as_os_str() != STDOUT => Ok(Self::File(Box::new(AtomicFile::create(path)?))),
            _ => {
                // A handle of its own: std's standard output would be flushed at every line.
                let stdout = io::stdout().as_fd().try_clone_to_owned()?;
                Ok(Self::Stdout(BufWriter::with_capacity(1 << 16, File::from(stdout))))
            }
        }
    }

    /// Writes everything out. A file has yet to appear; standard output is done.
    pub(crate) fn finish(self) -> Result<Option<FinishedFile>> {
        match self {
            Self::File(file) => Ok(Some(file.finish()?)),
            Self::Stdout(mut stdout) => {
                stdout.flush()?;
                Ok(None)
            }
        }
    }

    /// Makes everything that was written visible.
    pub(crate) fn commit(self) -> Result<()> {
        match self.finish()? {
            Some(file) => Ok(file.appear()?),
            None => Ok(()),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Stdout(stdout) => stdout.flush(),
        }
    }
}

/// A table of results, written row by row.
pub(crate) enum Table {
    Text(Sink),
    Jsonl(Sink, &'static [Column]),
    Csv(Sink),
    Parquet(Box<ResultTable<Sink>>),
}

impl Table {
    pub(crate) fn new(mut sink: Sink, format: ResultFormat, columns: &'static [Column]) -> Result<Self> {
        Ok(match format {
            ResultFormat::Text => Self::Text(sink),
            ResultFormat::Jsonl => Self::Jsonl(sink, columns),
            ResultFormat::Csv => {
                let names: Vec<_> = columns.iter().map(|column| column.name()).collect();
                writeln!(sink, "{}", names.join(","))?;
                Self::Csv(sink)
            }
            ResultFormat::Parquet => {
                let kinds: Vec<_> = columns
                    .iter()
                    .map(|column| match column {
                        Column::Text(name) => (*name, ColumnKind::Text),
                        Column::Similarity(name) => (*name, ColumnKind::Number),
                    })
                    .collect();
                Self::Parquet(Box::new(ResultTable::new(sink, &kinds)?))
            }
        })
    }

    pub(crate) fn push(&mut self, row: &[Cell<'_>]) -> Result<()> {
        match self {
            Self::Text(sink) => {
                for (at, cell) in row.iter().enumerate() {
                    sink.write_all(if at == 0 { b"" } else { b"\t" })?;
                    match cell {
                        Cell::Text(text) => write_escaped(sink, text)?,
                        Cell::Similarity(similarity) => write!(sink, "{similarity:.6}")?,
                    }
                }
                sink.write_all(b"\n")?;
            }
            Self::Jsonl(sink, columns) => {
                let object: serde_json::Map<_, _> = columns
                    .iter()
                    .zip(row)
                    .map(|(column, cell)| match cell {
                        Cell::Text(text) => (column.name().into(), json!(text)),
                        Cell::Similarity(similarity) => (column.name().into(), json!(similarity)),
                    })
                    .collect();
                // As what it is, an error of the system: a closed pipe must be known as one.
                serde_json::to_writer(&mut *sink, &object).map_err(io::Error::from)?;
                sink.write_all(b"\n")?;
            }
            Self::Csv(sink) => {
                for (at, cell) in row.iter().enumerate() {
                    sink.write_all(if at == 0 { b"" } else { b"," })?;
                    match cell {
                        Cell::Text(text) if text.contains(['"', ',', '\n', '\r']) => {
                            write!(sink, "\"{}\"", text.replace('"', "\"\""))?;
                        }
                        Cell::Text(text) => sink.write_all(text.as_bytes())?,
                        Cell::Similarity(similarity) => write!(sink, "{similarity:.6}")?,
                    }
                }
                sink.write_all(b"\n")?;
            }
            Self::Parquet(table) => {
                let values: Vec<_> = row
                    .iter()
                    .map(|cell| match cell {
                        Cell::Text(text) => Value::Text(text),
                        Cell::Similarity(similarity) => Value::Number(*similarity),
                    })
                    .collect();
                table.push(&values)?;
            }
        }
        Ok(())
    }

    /// Ends the table; what it was written to has yet to be committed.
    pub(crate) fn finish(self) -> Result<Sink> {
        match self {
            Self::Text(sink) | Self::Jsonl(sink, _) | Self::Csv(sink) => Ok(sink),
            Self::Parquet(table) => Ok(table.finish()?),
        }
    }
}

/// Writes an id so that it stays one field of one line and harmless to a terminal: tab, newline, backslash and other
/// control characters are escaped.
pub(crate) fn write_escaped(out: &mut impl Write, text: &str) -> io::Result<()> {
    if !text.contains(|character: char| character == '\\' || character.is_control()) {
        return out.write_all(text.as_bytes());
    }
    for character in text.chars() {
        match character {
            '\t' => out.write_all(b"\\t")?,
            '\n' => out.write_all(b"\\n")?,
            '\r' => out.write_all(b"\\r")?,
            '\\' => out.write_all(b"\\\\")?,
            control if control.is_control() => write!(out, "\\u{:04x}", u32::from(control))?,
            other => write!(out, "{other}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_one_field_of_one_line() {
        let mut out = Vec::new();
        write_escaped(&mut out, "a\tb\nc\\d\u{1b}[31me é").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a\\tb\\nc\\\\d\\u001b[31me é");
    }
}
