//! `lookalike dedup`: the records without their near-duplicates.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use lookalike::{Outcome, Stage, Watch};
use lookalike_io::{
    Annotation, AtomicFile, Compression, FinishedFile, Format, Input, RawSpan, Rewrite, annotate, plan_outputs,
    refuse_overwriting, rewrite, rewrite_to_file,
};

use super::find;
use super::pairs::{PairLimit, write_pairs_file};
use crate::arguments::{GlobalArguments, InputArguments, MatchArguments, ResourceArguments, ResultFormat};
use crate::exit::Exit;
use crate::names::Records;
use crate::progress::Progress;
use crate::results::{Cell, Column, Sink, Table};
use crate::summary;

/// What `dedup` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Kept records leave in input order, unchanged. One input gives one file; several, or a folder, give a folder with
the same relative paths, formats and compression. Outputs appear whole or not at all.")]
pub(crate) struct DedupArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    matching: MatchArguments,
    #[command(flatten)]
    output: DedupOutput,
    #[command(flatten)]
    limit: PairLimit,
    #[command(flatten)]
    resources: ResourceArguments,
}

/// Where everything goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
struct DedupOutput {
    /// A file for one input, a folder for several [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// List what was dropped: id, kept id, similarity
    #[arg(long, value_name = "FILE")]
    dropped: Option<PathBuf>,
    /// List every similar pair
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// Keep all records, and add to each its group, role, group size and similarity
    #[arg(long)]
    annotate: bool,
    /// Write nothing; the exit status is 1 if there are near-duplicates
    #[arg(long)]
    check: bool,
    /// Write nothing; say what would be dropped
    #[arg(short = 'n', long)]
    dry_run: bool,
}

impl DedupOutput {
    /// Every file that is written; for several inputs, the folder that theirs go to.
    fn paths(&self) -> impl Iterator<Item = &Path> {
        [&self.output, &self.dropped, &self.pairs].into_iter().flatten().map(PathBuf::as_path)
    }

    /// Whether the records themselves are written.
    fn writes_records(&self) -> bool {
        !self.check && !self.dry_run
    }
}

pub(crate) fn run(arguments: &DedupArguments, global: &GlobalArguments) -> Result<Exit> {
    let progress = Progress::new(global);
    let output = &arguments.output;
    check_destinations(output)?;
    let outputs: Vec<_> = output.paths().collect();
    let found = find(&arguments.input, &outputs, &arguments.matching, &arguments.resources, global, &progress)?;
    let (outcome, records) = (&found.outcome, &found.records);
    // The list of pairs is the only output that can be larger than the input: it is refused before any is written.
    if output.pairs.is_some() {
        arguments.limit.check(outcome)?;
    }
    progress.begin(Stage::Write, Some(records.new_inputs().map(|(_, input)| input.size).sum()));
    let mut files = Vec::new();
    if output.writes_records() {
        let new: Vec<Input> = records.new_inputs().map(|(_, input)| input.clone()).collect();
        let destinations = Destinations::choose(output.output.as_deref(), &arguments.input.inputs, &new)?;
        if let Destinations::Files(paths) = &destinations {
            // The old inputs, which have no output of their own, must not be overwritten either.
            refuse_overwriting(records.inputs(), paths)?;
        }
        files = write_records(arguments, outcome, records, &destinations, &progress)?;
    }
    if let Some(path) = &output.dropped {
        files.extend(write_dropped(outcome, records, path)?.finish()?);
    }
    if let Some(path) = &output.pairs {
        files.extend(write_pairs_file(outcome, records, path)?.finish()?);
    }
    // All outputs are whole and durable; only now do they appear.
    for file in files {
        file.appear()?;
    }
    summary::report(global, &found.plan, outcome, records, &progress);
    let has_duplicates = outcome.summary().dropped > 0;
    Ok(if output.check && has_duplicates { Exit::No } else { Exit::Done })
}

/// Refuses, before anything is read, lists that would overwrite each other.
fn check_destinations(output: &DedupOutput) -> Result<()> {
    let files: Vec<&Path> = output.paths().collect();
    for (at, file) in files.iter().enumerate() {
        if files[..at].contains(file) {
            bail!("two outputs would be written to {}; give each a file of its own", lookalike_io::error::Shown(file));
        }
    }
    if let Some(path) = [&output.dropped, &output.pairs].into_iter().flatten().find(|path| path.is_dir()) {
        bail!("{} is a folder; name a file in it", lookalike_io::error::Shown(path));
    }
    Ok(())
}

/// Where the records of each input go.
enum Destinations {
    Files(Vec<PathBuf>),
    Stdout,
}

impl Destinations {
    fn choose(output: Option<&Path>, typed: &[PathBuf], inputs: &[Input]) -> Result<Self> {
        if let Some(output) = output {
            let into_folder = lookalike_io::is_folder_output(typed, inputs);
            return Ok(Self::Files(plan_outputs(inputs, output, into_folder)?));
        }
        let [first, rest @ ..] = inputs else { return Ok(Self::Stdout) };
        let same = |input: &Input| input.format == first.format && input.compression == first.compression;
        let joins = !matches!(first.format, Format::Text | Format::Html | Format::Parquet) && rest.iter().all(same);
        if !rest.is_empty() && !joins {
            bail!("these inputs cannot be written one after another; name a folder for them with -o");
        }
        Ok(Self::Stdout)
    }
}

/// Writes the records of every input; files have yet to appear, standard output is done.
fn write_records(
    arguments: &DedupArguments,
    outcome: &Outcome,
    records: &Records,
    destinations: &Destinations,
    progress: &Progress,
) -> Result<Vec<FinishedFile>> {
    let mut sink = Sink::open(None)?;
    let mut files = Vec::new();
    let last = records.inputs().len() - 1;
    for (at, (index, input)) in records.new_inputs().enumerate() {
        let is_whole_file = matches!(input.format, Format::Text | Format::Html);
        let writer = RecordWriter { arguments, outcome, records, input, index };
        match destinations {
            Destinations::Files(paths) => {
                // A text file is a record: dropped, it leaves no file at all.
                let is_dropped = is_whole_file && !arguments.output.annotate && writer.left_out().next().is_some();
                if !is_dropped {
                    let mut file = AtomicFile::create_with_folders(&paths[at])?;
                    let compression = Compression::by_name(&paths[at]).unwrap_or_else(|| {
                        let same_name = paths[at].file_name() == input.relative.file_name();
                        if same_name { input.compression } else { Compression::None }
                    });
                    writer
                        .write_file(Rewrite { compression, ..Rewrite::default() }, &mut file)
                        .map_err(|error| error.at_file(&paths[at]))?;
                    files.push(file.finish()?);
                }
            }
            // An input without records adds nothing to those before it, not even its header.
            Destinations::Stdout if at > 0 && writer.first_position() == u64::MAX => {}
            Destinations::Stdout => {
                let how = Rewrite {
                    compression: input.compression,
                    // The header of the first input serves all.
                    from: if at > 0 { writer.first_position() } else { 0 },
                    close_last_line: index < last,
                };
                writer.write(how, &mut sink)?;
            }
        }
        progress.advance(input.size);
    }
    sink.commit()?;
    Ok(files)
}

/// Writes the records of one input.
struct RecordWriter<'a> {
    arguments: &'a DedupArguments,
    outcome: &'a Outcome,
    records: &'a Records,
    input: &'a Input,
    index: usize,
}

impl RecordWriter<'_> {
    /// Writes to a new file, on all threads where that helps.
    fn write_file(&self, how: Rewrite, file: &mut AtomicFile) -> lookalike_io::Result<()> {
        if self.arguments.output.annotate {
            return self.write(how, file);
        }
        rewrite_to_file(self.input, self.left_out(), how, file)
    }

    fn write(&self, how: Rewrite, out: &mut (dyn std::io::Write + Send)) -> lookalike_io::Result<()> {
        if self.arguments.output.annotate {
            let spans = self.records.of_input(self.index).map(|record| self.span(record));
            let annotations = self.records.of_input(self.index).map(|record| self.annotation(record));
            annotate(self.input, self.first_position(), spans.zip(annotations), how, out)
        } else {
            rewrite(self.input, self.left_out(), how, out)
        }
    }

    /// Where the first record stands, good or bad; behind everything if there is none.
    fn first_position(&self) -> u64 {
        let good = self.records.of_input(self.index).next().map(|record| self.span(record).position);
        let bad = self.records.bad_of_input(self.index).next().map(|span| span.position);
        good.into_iter().chain(bad).min().unwrap_or(u64::MAX)
    }

    fn span(&self, record: usize) -> RawSpan {
        RawSpan { position: self.outcome.numbers()[record].position(), length: self.records.raw_length(record).into() }
    }

    /// The raw bytes of the records that are dropped or bad, in input order.
    fn left_out(&self) -> impl Iterator<Item = RawSpan> + '_ {
        let dropped = self
            .records
            .of_input(self.index)
            .filter(|record| !self.outcome.is_kept(*record))
            .map(|record| self.span(record));
        let mut bad = self.records.bad_of_input(self.index).peekable();
        let mut dropped = dropped.peekable();
        std::iter::from_fn(move || match (dropped.peek(), bad.peek()) {
            (Some(record), Some(span)) if record.position > span.position => bad.next(),
            (None, _) => bad.next(),
            _ => dropped.next(),
        })
    }

    fn annotation(&self, record: usize) -> Annotation {
        let (keeper, similarity) = self.outcome.original_of(record).unwrap_or((record, 1.0));
        let size = self.outcome.group_size(record);
        let role = match (keeper == record, size) {
            (true, 1) => "unique",
            (true, _) => "keeper",
            (false, _) => "duplicate",
        };
        Annotation { group: self.records.name(keeper).into_owned(), role, size, similarity: Some(similarity) }
    }
}

/// Writes what was dropped, and for whom.
fn write_dropped(outcome: &Outcome, records: &Records, path: &Path) -> Result<Sink> {
    const COLUMNS: &[Column] = &[Column::Text("id"), Column::Text("kept"), Column::Similarity("similarity")];
    let mut table = Table::new(Sink::open(Some(path))?, ResultFormat::by_name(path), COLUMNS)?;
    for record in outcome.old()..outcome.len() {
        if let Some((keeper, similarity)) = outcome.original_of(record) {
            let (id, kept) = (records.name(record), records.name(keeper));
            table.push(&[Cell::Text(&id), Cell::Text(&kept), Cell::Similarity(similarity)])?;
        }
    }
    table.finish()
}
