//! The report: one HTML file that says what was found, why, and where to look twice. It needs no script and no network.

mod page;
mod picture;
mod side_by_side;
mod texts;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use lookalike::Audit;
use lookalike_io::{AtomicFile, FinishedFile, Input, refuse_overwriting, remove_abandoned};
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value, context};

use crate::command::Found;
use crate::destinations::STDOUT;

/// The page, with places for what was found.
const TEMPLATE: &str = include_str!("page.html");

/// Where the report goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ReportArguments {
    /// Write a report for people: what was found and why, the borderline cases, what is crowded
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
}

/// A report that is yet to be written. Its file is opened first: that it cannot be written is said before hours of work.
pub(crate) struct Report(Option<AtomicFile>);

impl ReportArguments {
    pub(crate) fn file(&self) -> Option<&Path> {
        self.report.as_deref()
    }

    /// Refuses to write it in place of an input.
    pub(crate) fn check(&self, old: &[Input], new: &[Input]) -> Result<()> {
        let file: Vec<&Path> = self.file().into_iter().collect();
        refuse_overwriting(old, &file)?;
        Ok(refuse_overwriting(new, &file)?)
    }

    /// Opens the file, if one is asked for.
    pub(crate) fn open(&self) -> Result<Report> {
        if self.file().is_some_and(|file| file.as_os_str() == STDOUT) {
            bail!("a report is a page to keep, and is not written to standard output; name a file");
        }
        remove_abandoned(self.file());
        Ok(Report(self.file().map(AtomicFile::create).transpose()?))
    }
}

impl Report {
    /// Nobody asked for one.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Writes the report; the file has yet to appear.
    pub(crate) fn write(self, found: &Found, audit: Option<&Audit>, seconds: f64) -> Result<Option<FinishedFile>> {
        let Some(mut file) = self.0 else { return Ok(None) };
        let path = file.path().to_owned();
        let page = page::Page::of(found, audit, seconds)?;
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.add_filter("thousands", thousands);
        environment.add_filter("fixed", |value: f64, digits: usize| format!("{value:.digits$}"));
        environment.add_template("page", TEMPLATE).context("the template of the report is broken")?;
        let filled = environment.get_template("page")?.render(context! { page => Value::from(Serde(&page)) });
        let html = filled.context("the report cannot be filled")?;
        file.write_all(html.as_bytes()).map_err(|error| lookalike_io::Error::sink(error).at_file(&path))?;
        Ok(Some(file.finish()?))
    }
}

/// A count with narrow spaces between the thousands.
fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        let shown = [0, 999, 1_000, 12_345_678].map(thousands);
        assert_eq!(shown, ["0", "999", "1\u{202f}000", "12\u{202f}345\u{202f}678"]);
    }
}
