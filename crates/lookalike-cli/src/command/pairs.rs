//! `lookalike pairs`: every similar pair, with its similarity.

use anyhow::{Result, bail};
use clap::Args;
use lookalike::Outcome;
use lookalike_io::{FinishedFile, Input, remove_abandoned};

use super::find;
use crate::arguments::{
    GlobalArguments, InputArguments, MatchArguments, ResourceArguments, ResultArguments, ResultFormat,
};
use crate::exit::Exit;
use crate::intake::{KeepShingles, Part, Request};
use crate::names::Records;
use crate::progress::Progress;
use crate::report::ReportArguments;
use crate::results::{Cell, Column, Sink, Table};
use crate::summary::{self, First};

/// What `pairs` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Text output: left<TAB>right<TAB>similarity, left before right in input order, sorted by left, then right.
With --measure containment the contained record is on the left.")]
pub(crate) struct PairsArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    matching: MatchArguments,
    #[command(flatten)]
    result: ResultArguments,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    limit: PairLimit,
    #[command(flatten)]
    resources: ResourceArguments,
}

/// How many pairs are too many.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PairLimit {
    /// Refuse to write more pairs than this
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
    max_pairs: u64,
}

pub(crate) fn run(arguments: &PairsArguments, global: &GlobalArguments) -> Result<Exit> {
    let progress = Progress::new(global).saying_pairs(!global.quiet && !global.json);
    remove_abandoned(arguments.result.file());
    let sink = Sink::open(arguments.result.file())?;
    let report = arguments.report.open()?;
    let request = Request {
        command: "pairs",
        input: &arguments.input,
        output: arguments.result.file(),
        resources: &arguments.resources,
        shingles: KeepShingles::No,
        part: Part::Everything,
        adds: false,
    };
    // A list is nothing beside its inputs.
    let check = |old: &[Input], new: &[Input]| arguments.result.check(arguments.report.file(), old, new).map(|()| 0);
    let found = find(&request, check, &arguments.matching, global, &progress)?;
    arguments.limit.check(&found.outcome)?;
    let report = report.write(&found, None, progress.seconds())?;
    write_pairs(&found.outcome, &found.records, sink, arguments.result.format())?.commit()?;
    report.map(FinishedFile::appear).transpose()?;
    summary::report(First::Pairs, global, &found.plan, &found.outcome, &found.records, &progress);
    found.settle();
    Ok(Exit::Done)
}

impl PairLimit {
    /// Refuses what is too large to be meant.
    pub(crate) fn check(&self, outcome: &Outcome) -> Result<()> {
        let pairs = outcome.count_pairs();
        if pairs > self.max_pairs {
            bail!(
                "there are {pairs} pairs, more than --max-pairs {}; raise the limit or the threshold, or use groups or \
                 dedup, whose output is never larger than the input",
                self.max_pairs
            );
        }
        Ok(())
    }
}

/// Writes every pair.
pub(crate) fn write_pairs(outcome: &Outcome, records: &Records, sink: Sink, format: ResultFormat) -> Result<Sink> {
    const COLUMNS: &[Column] = &[Column::Text("left"), Column::Text("right"), Column::Similarity("similarity")];
    let mut table = Table::new(sink, format, COLUMNS)?;
    // Pairs come by their left record, so its name is looked up once for all of them.
    let mut left = (usize::MAX, "".into());
    for pair in outcome.pairs() {
        if left.0 != pair.left {
            left = (pair.left, records.name(pair.left));
        }
        let right = records.name(pair.right);
        table.push(&[Cell::Text(&left.1), Cell::Text(&right), Cell::Similarity(pair.similarity)])?;
    }
    table.finish()
}
