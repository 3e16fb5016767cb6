//! Where results go, and in which form.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use lookalike_io::error::Shown;
use lookalike_io::{Input, refuse_overwriting};

/// The form of a list of pairs, groups or dropped records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultFormat {
    /// Fields between tabs, no header
    Text,
    /// One JSON object a line
    Jsonl,
    /// Comma-separated, with a header
    Csv,
    /// Apache Parquet
    Parquet,
}

impl ResultFormat {
    /// The form that a file's name tells; text where it tells none.
    pub(crate) fn by_name(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl" | "ndjson" | "json") => Self::Jsonl,
            Some("csv") => Self::Csv,
            Some("parquet") => Self::Parquet,
            _ => Self::Text,
        }
    }
}

/// Where a list of results goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ResultArguments {
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Form of the result [default: by the name of the output, else text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ResultFormat>,
}

impl ResultArguments {
    /// The file to write; none for standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| path.as_os_str() != "-")
    }

    /// Refuses outputs that would take the place of an input, or of each other.
    pub(crate) fn check(&self, report: Option<&Path>, old: &[Input], new: &[Input]) -> Result<()> {
        let files: Vec<&Path> = self.file().into_iter().chain(report).collect();
        if let [result, report] = files[..]
            && result == report
        {
            bail!("two outputs would be written to {}; give each a file of its own", Shown(result));
        }
        refuse_overwriting(old, &files)?;
        Ok(refuse_overwriting(new, &files)?)
    }

    pub(crate) fn format(&self) -> ResultFormat {
        let by_name = || self.file().map_or(ResultFormat::Text, ResultFormat::by_name);
        self.format.unwrap_or_else(by_name)
    }
}
