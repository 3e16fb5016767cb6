//! `lookalike dedup`: the records without their near-duplicates.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use lookalike::{Index, Outcome, Shard, Stage, Watch};
use lookalike_io::{
    Annotation, AtomicFile, Compression, FinishedFile, Format, Input, RawSpan, Reader, Rewrite, annotate, read_start,
    remove_abandoned, rewrite, rewrite_to_file,
};

use super::pairs::{PairLimit, write_pairs};
use super::{Found, Ready};
use crate::arguments::{GlobalArguments, InputArguments, MatchArguments, ResourceArguments, ResultFormat};
use crate::copies::Copies;
use crate::destinations::{Destinations, Wanted};
use crate::exit::{Exit, is_closed_pipe};
use crate::intake::{KeepShingles, Part, Request};
use crate::load::{Called, check_places, load_some};
use crate::memory::Budget;
use crate::names::Records;
use crate::progress::Progress;
use crate::report::{Report, ReportArguments};
use crate::results::{Cell, Column, Sink, Table};
use crate::summary::{self, First};
use crate::try_each::try_each;

/// So many files are made durable together: each by itself would wait longer for the disk than it takes to write it.
const MANY_FILES: usize = 64;

/// What `dedup` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Kept records leave in input order, unchanged. One input gives one file; several, or a folder, give a folder with
the same relative paths, formats and compression. Outputs appear whole or not at all.")]
pub(crate) struct DedupArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    pub(super) matching: MatchArguments,
    #[command(flatten)]
    output: DedupOutput,
    #[command(flatten)]
    limit: PairLimit,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    pub(super) resources: ResourceArguments,
}

impl DedupArguments {
    /// What is read for it.
    pub(super) fn request(&self, part: Part) -> Request<'_> {
        Request {
            command: "dedup",
            input: &self.input,
            output: self.output.file(),
            resources: &self.resources,
            shingles: KeepShingles::No,
            part,
            adds: self.output.add,
        }
    }

    /// Where the records go, once the old and the new inputs are known.
    pub(super) fn destinations(&self, old: &[Input], new: &[Input]) -> Result<Destinations> {
        let output = &self.output;
        let wanted = Wanted {
            typed: &self.input.inputs,
            output: output.file(),
            lists: [&output.dropped, &output.pairs, &self.report.report]
                .into_iter()
                .flatten()
                .map(PathBuf::as_path)
                .collect(),
            writes_records: output.writes_records(),
            annotates: output.annotate,
        };
        Destinations::plan(&wanted, old, new)
    }
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
    /// Raise the threshold as far as this many records are kept at most
    #[arg(long, value_name = "N")]
    target_size: Option<u64>,
    /// Keep all records, and add to each its group, role, group size and similarity
    #[arg(long)]
    annotate: bool,
    /// Take what was kept into the index that --against names
    #[arg(long, requires = "against", conflicts_with_all = ["check", "dry_run"])]
    add: bool,
    /// Do not write the records; the exit status is 1 if there are near-duplicates
    #[arg(long)]
    check: bool,
    /// Do not write the records; say how many would be dropped (--dropped lists them)
    #[arg(short = 'n', long)]
    dry_run: bool,
}

impl DedupOutput {
    /// Where the records go; none for standard output.
    fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| path.as_os_str() != "-")
    }

    /// Whether the records are copied as soon as it is known that they are kept.
    fn is_copied(&self) -> bool {
        self.target_size.is_none() && !self.annotate
    }

    /// Whether the records themselves are written.
    fn writes_records(&self) -> bool {
        !self.check && !self.dry_run
    }
}

pub(crate) fn run(arguments: &DedupArguments, global: &GlobalArguments) -> Result<Exit> {
    run_part(arguments, global, Part::Everything, Shard::ALL)
}

/// Finds what is alike, and writes one part of the outputs: the first part has the lists, and the records of the inputs
/// are dealt out.
pub(super) fn run_part(arguments: &DedupArguments, global: &GlobalArguments, part: Part, shard: Shard) -> Result<Exit> {
    let progress = Progress::new(global);
    let progress = if part == Part::Everything { progress } else { progress.expecting_reuse() };
    let output = &arguments.output;
    // Opened first, so that nobody else changes it meanwhile.
    let mut index = match (output.add, arguments.input.against_index()) {
        (false, _) => None,
        (true, Some(path)) => Some(Index::open(path)?),
        (true, None) => match arguments.input.against.as_slice() {
            [path] => bail!(
                "--add takes what was kept into an index, and {} is none; make one with `lookalike index build`",
                lookalike_io::error::Shown(path)
            ),
            _ => bail!("--add takes what was kept into an index; name one with --against"),
        },
    };
    // Parts that write at the same time must not take each other's unfinished files for abandoned ones.
    if part == Part::Everything {
        remove_abandoned([&output.dropped, &output.pairs].into_iter().flatten().map(PathBuf::as_path));
    }
    // Opened first: a list that cannot be written is said before hours of work.
    let open = |path: &Option<PathBuf>| {
        let path = path.as_deref().filter(|_| shard.number() == 1);
        path.map(|path| Sink::open(Some(path))).transpose()
    };
    let (dropped, pairs) = (open(&output.dropped)?, open(&output.pairs)?);
    let report = if shard.number() == 1 { arguments.report.open()? } else { Report::none() };
    let mut destinations = Destinations::Nowhere;
    let plan_outputs = |old: &[Input], new: &[Input]| {
        destinations = arguments.destinations(old, new)?;
        if shard != Shard::ALL && matches!(destinations, Destinations::Stdout) {
            bail!("standard output is written in one part; name an output with -o, or leave --shard out");
        }
        if part == Part::Everything {
            destinations.clean();
        }
        Ok(destinations.bytes(new))
    };
    let ready = Ready::read(&arguments.request(part), plan_outputs, &arguments.matching, global, &progress)?;
    let copies = match &destinations {
        Destinations::Files(paths) if part == Part::Everything && output.is_copied() && ready.threads > 1 => {
            Copies::begin(&ready.intake.records, paths)
        }
        _ => None,
    };
    // Parts of a run were verified without knowing who is kept.
    let needs_pairs = output.pairs.is_some()
        || output.target_size.is_some()
        || arguments.report.report.is_some()
        || part != Part::Everything;
    let mut found = match ready.find(copies.as_ref(), needs_pairs, &progress) {
        Ok(found) => found,
        // If it ended because copying failed, that is what is told.
        Err(error) => return Err(copies.and_then(Copies::failure).unwrap_or(error)),
    };
    if let Some(size) = output.target_size {
        let threshold = found.outcome.threshold_for(size)?;
        found.outcome = found.outcome.at_threshold(threshold)?;
        // In full: rounded, it would not keep as many.
        progress.note(&format!("a threshold of {threshold} keeps {} records", found.outcome.summary().kept));
    }
    if let Some(index) = &index {
        check_names(index, &found, &progress)?;
    }
    let (outcome, records) = (&found.outcome, &found.records);

    // Lists first: a reader of the records who has seen enough must not cost them.
    let mut files = Vec::new();
    if let (Some(sink), Some(path)) = (dropped, &output.dropped) {
        files.extend(write_dropped(outcome, records, sink, ResultFormat::by_name(path))?.finish()?);
    }
    if let (Some(sink), Some(path)) = (pairs, &output.pairs) {
        arguments.limit.check(outcome)?;
        files.extend(write_pairs(outcome, records, sink, ResultFormat::by_name(path))?.finish()?);
    }
    files.extend(report.write(&found, None, progress.seconds())?);
    progress.begin(Stage::Write, Some(records.new_inputs().map(|(_, input)| input.size).sum()));
    let written = match copies {
        Some(copies) => copies.finish(records, outcome),
        None => write_records(arguments, outcome, records, &destinations, shard, &progress),
    };
    let seen_enough = match written {
        Ok(outputs) => {
            files.extend(outputs);
            None
        }
        Err(error) if is_closed_pipe(&error) => Some(error),
        Err(error) => return Err(error),
    };
    // All outputs are whole and durable; only now do they appear.
    FinishedFile::appear_all(files)?;
    if let Some(error) = seen_enough {
        return Err(error);
    }
    if let Some(index) = &mut index {
        add_kept(index, &found, arguments, &progress)?;
    }
    summary::report(First::Kept, global, &found.plan, outcome, records, &progress);
    let has_duplicates = outcome.summary().dropped > 0;
    if part == Part::Everything {
        found.settle();
    }
    Ok(if output.check && has_duplicates { Exit::No } else { Exit::Done })
}

/// Looks whether the index has items that are called like records to be added, which would take their place: refused where a
/// record is only called by where it stands, and told where it has that id.
fn check_names(index: &Index, found: &Found, progress: &Progress) -> Result<()> {
    let snapshot = index.snapshot();
    let without_added = found.addition.as_deref().map(|addition| snapshot.without_addition(addition)).transpose()?;
    let snapshot = without_added.flatten().unwrap_or(snapshot);
    let replaced = check_places(&snapshot, &found.records, found.outcome.kept())?;
    if replaced > 0 {
        progress.note(&format!("{replaced} items of the index have the ids of kept records, and are replaced by them"));
    }
    Ok(())
}

/// Takes the records that were kept into an index.
fn add_kept(index: &mut Index, found: &Found, arguments: &DedupArguments, progress: &Progress) -> Result<()> {
    let (outcome, resources) = (&found.outcome, &arguments.resources);
    let new = outcome.old()..outcome.len();
    let kept = |record: &usize| outcome.is_kept(*record);
    let names = new.clone().filter(kept).map(|record| found.records.name(record)).collect();
    let called = Called { names, addition: found.addition.as_deref() };
    let numbers = &outcome.numbers()[new.clone()];
    let is_kept = |number| numbers.binary_search(&number).is_ok_and(|at| outcome.is_kept(new.start + at));
    let budget = Budget::new(resources.memory, resources.threads())?;
    // From the beginning, whatever an interrupted run had read before.
    let reader = Reader::open(found.records.inputs().to_vec(), arguments.input.read.options())?;
    let check = || found.records.new_inputs().try_for_each(|(_, input)| input.check_unchanged());
    load_some(index, &reader, &budget, is_kept, &called, check, progress)?;
    Ok(())
}

/// Writes the records of the inputs of a part; files have yet to appear, standard output is done.
fn write_records(
    arguments: &DedupArguments,
    outcome: &Outcome,
    records: &Records,
    destinations: &Destinations,
    shard: Shard,
    progress: &Progress,
) -> Result<Vec<FinishedFile>> {
    let writers: Vec<RecordWriter<'_>> =
        records.new_inputs().map(|(index, input)| RecordWriter { arguments, outcome, records, input, index }).collect();
    match destinations {
        Destinations::Nowhere => Ok(Vec::new()),
        Destinations::Files(paths) => {
            let files = try_each(&writers, |at, writer| {
                let are_many = paths.len() >= MANY_FILES;
                let file = shard.has(at as u64).then(|| writer.write_file(&paths[at], are_many)).transpose()?;
                progress.advance(writer.input.size);
                Ok(file)
            })?;
            Ok(files.into_iter().flatten().collect())
        }
        Destinations::Stdout => {
            refuse_other_headers(outcome, records)?;
            // Among the pool's threads, not beside them: there are as many as were asked for.
            rayon::scope(|_| write_stdout(&writers, progress))?;
            Ok(Vec::new())
        }
    }
}

/// Writes all records to standard output.
fn write_stdout(writers: &[RecordWriter<'_>], progress: &Progress) -> Result<()> {
    let mut sink = Sink::open(None)?;
    // The header of the first input with records serves all; without any, that of the first. An input without records adds
    // nothing to others, not even its header.
    let has_records = |writer: &RecordWriter<'_>| writer.first_position() < u64::MAX;
    let first = writers.iter().position(has_records).unwrap_or(0);
    for (at, writer) in writers.iter().enumerate() {
        if at == first || has_records(writer) {
            let how = Rewrite {
                // Like that of a file, it follows the name, and there is none.
                compression: Compression::None,
                from: if at > first { writer.first_position() } else { 0 },
                close_last_line: at + 1 < writers.len(),
            };
            writer.write(how, &mut sink)?;
        }
        progress.advance(writer.input.size);
    }
    sink.commit()
}

/// Refuses to put tables with different headers under one.
fn refuse_other_headers(outcome: &Outcome, records: &Records) -> Result<()> {
    let mut first: Option<(Vec<u8>, &Input)> = None;
    for (index, input) in records.new_inputs().filter(|(_, input)| matches!(input.format, Format::Csv | Format::Tsv)) {
        let Some(end) = first_position(outcome, records, index) else { continue };
        let header = read_start(input, end)?;
        let (header_of_first, first) = first.get_or_insert_with(|| (header.clone(), input));
        if header.trim_ascii() != header_of_first.trim_ascii() {
            bail!(
                "{} and {} have different headers, so their rows cannot stand in one table; name a folder for them with -o",
                lookalike_io::error::Shown(&first.name),
                lookalike_io::error::Shown(&input.name)
            );
        }
    }
    Ok(())
}

/// Where the first record of an input stands, good or bad.
fn first_position(outcome: &Outcome, records: &Records, index: usize) -> Option<u64> {
    let good = records.of_input(index).next().map(|record| outcome.numbers()[record].position());
    let bad = records.bad_of_input(index).next().map(|span| span.position);
    good.into_iter().chain(bad).min()
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
    /// Writes to a new file, by the quickest way there is. A text file is a record: dropped, it leaves no file at all, nor one
    /// that an earlier run left.
    fn write_file(&self, path: &Path, is_one_of_many: bool) -> Result<FinishedFile> {
        let annotates = self.arguments.output.annotate;
        let is_whole_file = matches!(self.input.format, Format::Text | Format::Html);
        if is_whole_file && !annotates && self.left_out().next().is_some() {
            return Ok(FinishedFile::none(path));
        }
        let mut file = AtomicFile::create_with_folders(path)?;
        let how = Rewrite::to_file(self.input, path);
        let written = if annotates {
            self.write(how, &mut file)
        } else {
            rewrite_to_file(self.input, self.left_out(), how, &mut file)
        };
        written.map_err(|error| error.at_file(path))?;
        Ok(if is_one_of_many { file.close()? } else { file.finish()? })
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
        first_position(self.outcome, self.records, self.index).unwrap_or(u64::MAX)
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
fn write_dropped(outcome: &Outcome, records: &Records, sink: Sink, format: ResultFormat) -> Result<Sink> {
    const COLUMNS: &[Column] = &[Column::Text("id"), Column::Text("kept"), Column::Similarity("similarity")];
    let mut table = Table::new(sink, format, COLUMNS)?;
    for record in outcome.old()..outcome.len() {
        if let Some((keeper, similarity)) = outcome.original_of(record) {
            let (id, kept) = (records.name(record), records.name(keeper));
            table.push(&[Cell::Text(&id), Cell::Text(&kept), Cell::Similarity(similarity)])?;
        }
    }
    table.finish()
}
