//! Which records to read.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use lookalike::index::is_index;
use lookalike_io::error::Shown;
use lookalike_io::{FieldPath, Format, Input, Inputs, OnError, PassedOver, ReadOptions, passed_over};

use crate::boilerplate::Commonness;
use crate::stdin::Stdin;

/// How records are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct ReadArguments {
    /// Fields that make the text, joined; dots reach inside; a list-valued field is a set
    #[arg(long, value_name = "FIELD,…", value_delimiter = ',', default_value = "text")]
    pub(crate) text: Vec<FieldPath>,
    /// Field that holds the id; without it, and for `none`, records are called FILE:RECORD
    #[arg(long, value_name = "FIELD|none", default_value = "id")]
    pub(crate) id: FieldPath,
    /// Format of every input: jsonl, csv, tsv, parquet, warc, html, txt (a file is a record), lines (a line is a record) or
    /// sets (a line is a set) [default: by name, then by content]
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub(crate) input_format: Option<Format>,
    /// What to do about a bad record: fail, or skip it and say so
    #[arg(long, value_name = "fail|skip", default_value = "fail", value_parser = parse_on_error)]
    pub(crate) on_error: OnError,
}

/// Which records to read, and which of them to compare.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArguments {
    /// Files, folders, globs, or - for standard input
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArguments,
    /// Compare with these records or this index too: new versus old. What is old is never dropped
    #[arg(long, value_name = "FILES|INDEX", num_args = 1, action = clap::ArgAction::Append)]
    pub(crate) against: Vec<PathBuf>,
    /// Leave out shingles that are in more than N records, or N % of them, as menus and licences are
    #[arg(long, value_name = "N|N%", help_heading = "Matching")]
    pub(crate) ignore_common: Option<Commonness>,
    /// Leave out the shingles of the texts in this file: a template, a licence
    #[arg(long, value_name = "FILE", help_heading = "Matching", num_args = 1, action = clap::ArgAction::Append)]
    pub(crate) ignore: Vec<PathBuf>,
    /// Compare only records that have the same value in this field
    #[arg(long, value_name = "FIELD")]
    pub(crate) within: Option<FieldPath>,
}

impl ReadArguments {
    /// What the reader is asked, without the fields that only some commands need.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.input_format,
            text: self.text.clone(),
            id: Some(self.id.clone()).filter(|field| field.as_str() != "none"),
            on_error: self.on_error,
            ..ReadOptions::default()
        }
    }

    /// The inputs that were typed, or standard input if there are none.
    pub(crate) fn resolve(&self, typed: &[PathBuf], tmp: &Path) -> Result<Vec<Input>> {
        let stdin = [PathBuf::from("-")];
        let typed = if !typed.is_empty() {
            typed
        } else if std::io::stdin().is_terminal() {
            bail!("no input; name files, folders or globs, or pipe records into standard input");
        } else {
            &stdin
        };
        let format = self.input_format;
        let inputs = Inputs::resolve_with(typed, format, tmp, &mut Stdin::default())?;
        let is_guess = |input: &Input| format.is_none() && input.is_stdin() && input.format == Format::Text;
        if inputs.iter().any(is_guess) {
            bail!(
                "the format of standard input cannot be told from its content; say which with --input-format: csv, tsv, \
                 lines, sets, or txt if all of it is one record"
            );
        }
        Ok(inputs)
    }
}

impl InputArguments {
    /// The old inputs, and the new ones.
    pub(crate) fn resolve(&self, tmp: &Path) -> Result<(Vec<Input>, Vec<Input>)> {
        let names_stdin = |paths: &[PathBuf]| paths.iter().any(|path| path.as_os_str() == "-");
        if (names_stdin(&self.inputs) || self.inputs.is_empty()) && names_stdin(&self.against) {
            bail!(
                "standard input cannot be both the records and what they are compared with; name a file for one of them"
            );
        }
        if let Some(index) = self.against.iter().find(|path| self.against.len() > 1 && is_index(path)) {
            bail!(
                "{} is an index, and records are compared with one index or with files; leave the others out",
                Shown(index)
            );
        }
        let new = self.read.resolve(&self.inputs, tmp)?;
        let format = self.read.input_format;
        let old = match self.against_index() {
            None if !self.against.is_empty() => {
                Inputs::resolve_with(&self.against, format, tmp, &mut Stdin::default())?
            }
            _ => Vec::new(),
        };
        refuse_both(&old, &new)?;
        Ok((old, new))
    }

    /// What is passed over in folders.
    pub(crate) fn passed_over(&self) -> Result<PassedOver> {
        let mut over = passed_over(&self.inputs, self.read.input_format)?;
        if self.against_index().is_none() {
            let of_old = passed_over(&self.against, self.read.input_format)?;
            over.unknown.extend(of_old.unknown);
            over.links.extend(of_old.links);
        }
        Ok(over)
    }

    /// The index that records are compared with, if it is one.
    pub(crate) fn against_index(&self) -> Option<&Path> {
        match self.against.as_slice() {
            [path] if is_index(path) => Some(path),
            _ => None,
        }
    }
}

/// Leaves out what an earlier run wrote: an output folder inside of a folder that is read, or that a glob reaches into, is no
/// input. Tells how many files that are.
pub(crate) fn leave_outputs_out(inputs: &mut Vec<Input>, output: &Path) -> usize {
    let Some(folder) = output.canonicalize().ok().filter(|output| output.is_dir()) else { return 0 };
    let is_output = |input: &Input| {
        let root = input.path.ancestors().nth(input.relative.components().count()).unwrap_or(&input.path);
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        let is_inside = root.canonicalize().is_ok_and(|root| folder != root && folder.starts_with(root));
        is_inside && input.path.canonicalize().is_ok_and(|path| path.starts_with(&folder))
    };
    let all = inputs.len();
    inputs.retain(|input| input.is_stdin() || !is_output(input));
    all - inputs.len()
}

/// Refuses a file that would be compared with itself.
fn refuse_both(old: &[Input], new: &[Input]) -> Result<()> {
    let old: HashSet<PathBuf> = old.iter().filter_map(|input| input.path.canonicalize().ok()).collect();
    let is_old = |input: &&Input| input.path.canonicalize().is_ok_and(|path| old.contains(&path));
    match new.iter().find(is_old) {
        Some(input) => bail!(
            "{} is an input, and --against holds it too, where its records would only find themselves; leave it out of one of \
             them",
            Shown(&input.name)
        ),
        None => Ok(()),
    }
}

fn parse_format(name: &str) -> Result<Format, String> {
    let found = Format::NAMES.iter().find(|(known, _)| *known == name).map(|(_, format)| *format);
    found.ok_or_else(|| {
        let known: Vec<_> = Format::NAMES.iter().map(|(name, _)| *name).collect();
        format!("it is none of {}", known.join(", "))
    })
}

fn parse_on_error(name: &str) -> Result<OnError, String> {
    match name {
        "fail" => Ok(OnError::Fail),
        "skip" => Ok(OnError::Skip),
        _ => Err("it is neither fail nor skip".into()),
    }
}
