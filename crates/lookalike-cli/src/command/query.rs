//! `lookalike query`: what in an index is like this?

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use lookalike::{Match, Measure, Method, Query, Snapshot, Stage, Watch};
use lookalike_io::{Chunk, Parsed, Reader, read_all, refuse_overwriting, remove_abandoned};
use serde_json::json;

use crate::against::{note_bounded, note_sure_runs};
use crate::arguments::{GlobalArguments, MeasureName, ReadArguments, ResourceArguments, ResultArguments, parse_share};
use crate::exit::Exit;
use crate::interrupt;
use crate::names::{Records, Stretch};
use crate::progress::Progress;
use crate::results::{Cell, Column, Sink, Table};
use crate::skipped;

/// What `query` takes.
#[derive(Debug, Args)]
#[command(
    mut_arg("restart", |argument| argument.hide(true)),
    mut_arg("memory", |argument| argument.hide(true)),
    after_help = "\
Text output: record<TAB>item<TAB>similarity, records in input order, for each the best items first.
The exit status is 1 if nothing in the index is alike."
)]
pub(crate) struct QueryArguments {
    /// The folder of the index
    index: PathBuf,
    /// What is asked about: files, folders, globs, or - for standard input
    #[arg(value_name = "INPUT", help_heading = "Input")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArguments,
    /// How alike an item must be [default: as alike as the index was made for; with --limit, however
    /// little]
    #[arg(short, long, value_name = "T", help_heading = "Matching", value_parser = parse_share)]
    threshold: Option<f64>,
    /// At most so many items for a record, the best
    #[arg(long, value_name = "N", help_heading = "Matching")]
    limit: Option<NonZeroUsize>,
    /// What alike means, if the index was made with --exact: jaccard or containment, which is how much
    /// of the record is in the item
    #[arg(long, value_name = "MEASURE", help_heading = "Matching")]
    measure: Option<MeasureName>,
    #[command(flatten)]
    result: ResultArguments,
    #[command(flatten)]
    resources: ResourceArguments,
}

/// The answers for one chunk: for each record that has any, its index in the chunk and the items.
struct Answered {
    order: u64,
    stretch: Stretch,
    records: usize,
    found: Vec<(usize, Vec<Match>)>,
    bounded: u64,
}

pub(crate) fn run(arguments: &QueryArguments, global: &GlobalArguments) -> Result<Exit> {
    let progress = Progress::new(global);
    let snapshot = Snapshot::open(&arguments.index)?;
    let query = Query {
        threshold: arguments.threshold,
        limit: arguments.limit.map(NonZeroUsize::get),
        measure: arguments.measure.map(Measure::from),
        with_text: false,
    };
    let plan = snapshot.plan();
    let made_for = plan.settings().threshold;
    let is_below = match arguments.threshold {
        Some(threshold) => threshold < made_for,
        None => arguments.limit.is_some(),
    };
    if is_below && matches!(plan.method(), Method::Sketches(_)) {
        progress.note(&format!("the index was made for {made_for}; below that, not everything is found"));
    }
    note_sure_runs(plan, &progress);
    arguments.resources.limit_threads()?;
    let inputs = arguments.read.resolve(&arguments.inputs, &arguments.resources.tmp())?;
    if let Some(file) = arguments.result.file() {
        refuse_overwriting(&inputs, &[file])?;
    }
    remove_abandoned(arguments.result.file());
    let sink = Sink::open(arguments.result.file())?;
    progress.begin(Stage::Read, Some(inputs.iter().map(|input| input.size).sum()));
    let reader = Reader::open(inputs, arguments.read.options())?;
    let ask = |answered: &mut Vec<Answered>, chunk: &Chunk, parsed: &mut Parsed| {
        let (mut found, mut bounded) = (Vec::new(), 0);
        for record in 0..parsed.batch.len() {
            let answer = snapshot.query(parsed.batch.content(record), &query)?;
            bounded += u64::from(answer.bounded > 0);
            if !answer.matches.is_empty() {
                found.push((record, answer.matches));
            }
        }
        progress.count_records(parsed.batch.len() as u64);
        progress.advance(chunk.file_bytes);
        let records = parsed.batch.len();
        let stretch = Stretch::take(chunk.input, parsed);
        answered.push(Answered { order: chunk.order, stretch, records, found, bounded });
        Ok::<_, anyhow::Error>(())
    };
    let threads = arguments.resources.threads();
    let mut answered: Vec<Answered> =
        read_all(&reader, threads, interrupt::flag(), Vec::new, ask)?.into_iter().flatten().collect();
    answered.sort_by_key(|answered| answered.order);
    let bounded: u64 = answered.iter().map(|answered| answered.bounded).sum();
    note_bounded(bounded, &progress);
    progress.finish();
    let (mut found, mut stretches, mut asked) = (Vec::new(), Vec::new(), 0);
    for answered in answered {
        found.extend(answered.found.into_iter().map(|(record, matches)| (asked + record, matches)));
        stretches.push(answered.stretch);
        asked += answered.records;
    }
    let records = Records::new(reader.inputs().to_vec(), 0, stretches);
    skipped::refuse_if_all(&records, asked == 0)?;
    let (skipped, alike) = (skipped::skipped(&records), found.len());
    write(arguments, sink, &records, &found)?;
    if global.json {
        let report = json!({
            "records": asked, "alike": alike, "bad": skipped.len(), "skipped": skipped, "bounded": bounded,
            "seconds": progress.seconds(),
        });
        progress.say(&report.to_string());
    } else if !global.quiet {
        skipped::list(&skipped, " (--json lists all)", &progress);
        let bad = if skipped.is_empty() { String::new() } else { format!("; {} bad", skipped.len()) };
        progress.say(&format!("{alike} of {asked} records are like an item of the index{bad}"));
    }
    Ok(if alike > 0 { Exit::Done } else { Exit::No })
}

/// Writes the answers: for each record that has any, the items.
fn write(arguments: &QueryArguments, sink: Sink, records: &Records, found: &[(usize, Vec<Match>)]) -> Result<()> {
    const COLUMNS: &[Column] = &[Column::Text("record"), Column::Text("item"), Column::Similarity("similarity")];
    let mut table = Table::new(sink, arguments.result.format(), COLUMNS)?;
    for (record, matches) in found {
        let name = records.name(*record);
        for item in matches {
            table.push(&[Cell::Text(&name), Cell::Text(&item.id), Cell::Similarity(item.similarity)])?;
        }
    }
    table.finish()?.commit()
}
