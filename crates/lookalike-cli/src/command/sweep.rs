//! `lookalike sweep`: what each threshold would drop, from one run.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use lookalike::stages::{Dropped, RankedEdge};
use lookalike::{Grouping, Keep, Summary};
use serde::Serialize;

use super::find;
use crate::arguments::{GlobalArguments, InputArguments, MatchArguments, ResourceArguments};
use crate::exit::Exit;
use crate::intake::{KeepShingles, Part, Request};
use crate::progress::Progress;
use crate::stored_pairs::StoredPairs;
use crate::summary::{self, First};

/// What `sweep` takes.
#[derive(Debug, Args)]
#[command(
    mut_arg("threshold", |threshold| threshold.default_value("0.5").help("The lowest threshold")),
    after_help = "\
Prints for each threshold from the lowest to 1: threshold, dropped, kept, groups, largest group; a line each, between
tabs. Each line is what dedup would do at that threshold with the bands of the lowest one."
)]
pub(crate) struct SweepArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    matching: MatchArguments,
    /// Take pairs that were written before, with --keep first, instead of inputs
    #[arg(long, value_name = "FILE", help_heading = "Input", conflicts_with = "inputs")]
    pairs: Option<PathBuf>,
    /// How many records there were, if pairs are taken: those that are like nothing are not among them
    #[arg(long, value_name = "N", help_heading = "Input", requires = "pairs")]
    records: Option<u64>,
    /// From one threshold to the next
    #[arg(long, value_name = "STEP", default_value_t = 0.05, help_heading = "Output")]
    step: f64,
    #[command(flatten)]
    resources: ResourceArguments,
}

/// What a threshold would do.
#[derive(Debug, Serialize)]
struct Line {
    threshold: f64,
    records: Option<u64>,
    kept: Option<u64>,
    dropped: u64,
    groups: u64,
    largest: u64,
}

impl Line {
    fn new(threshold: f64, counts: &Summary) -> Self {
        let Summary { records, kept, dropped, groups, largest, .. } = *counts;
        Self { threshold, records: Some(records), kept: Some(kept), dropped, groups, largest }
    }

    /// Counts who would be dropped for whom; how many records there were is not known from pairs.
    fn of_pairs(threshold: f64, dropped: &[Dropped], records: Option<u64>) -> Self {
        let mut sizes: HashMap<u64, u64> = HashMap::new();
        for dropped in dropped {
            *sizes.entry(dropped.keeper).or_insert(1) += 1;
        }
        let (dropped, groups) = (dropped.len() as u64, sizes.len() as u64);
        let kept = records.map(|records| records - dropped);
        Self { threshold, records, kept, dropped, groups, largest: sizes.into_values().max().unwrap_or(0) }
    }
}

pub(crate) fn run(arguments: &SweepArguments, global: &GlobalArguments) -> Result<Exit> {
    let mut out = anstream::stdout().lock();
    if let Some(path) = &arguments.pairs {
        let lines = sweep_pairs(path, arguments, global)?;
        write_lines(&lines, global, &mut out)?;
        return Ok(Exit::Done);
    }
    let progress = Progress::new(global);
    let thresholds = thresholds(arguments.matching.threshold, arguments.step)?;
    let request = Request {
        command: "sweep",
        input: &arguments.input,
        output: None,
        resources: &arguments.resources,
        shingles: KeepShingles::No,
        part: Part::Everything,
        adds: false,
    };
    let found = find(&request, |_, _| Ok(0), &arguments.matching, global, &progress)?;
    let line = |threshold: &f64| Ok(Line::new(*threshold, &found.outcome.summary_at(*threshold)?));
    write_lines(&thresholds.iter().map(line).collect::<Result<Vec<_>>>()?, global, &mut out)?;
    if !global.json {
        summary::report(First::Kept, global, &found.plan, &found.outcome, &found.records, &progress);
    }
    found.settle();
    Ok(Exit::Done)
}

fn write_lines(lines: &[Line], global: &GlobalArguments, out: &mut impl Write) -> Result<()> {
    if global.json {
        writeln!(out, "{}", serde_json::to_string(lines)?)?;
        return Ok(());
    }
    for Line { threshold, dropped, kept, groups, largest, .. } in lines {
        let kept = kept.map_or_else(|| "-".to_owned(), |kept| kept.to_string());
        writeln!(out, "{threshold}\t{dropped}\t{kept}\t{groups}\t{largest}")?;
    }
    Ok(())
}

/// What each threshold would do, from pairs that were written before.
fn sweep_pairs(path: &Path, arguments: &SweepArguments, global: &GlobalArguments) -> Result<Vec<Line>> {
    let plan = arguments.matching.plan()?;
    if plan.settings().keep != Keep::First || plan.settings().group != Grouping::Anchored {
        bail!(
            "pairs tell the input order alone; leave --keep and --group out, or give the inputs instead of the pairs"
        );
    }
    let StoredPairs { pairs, records } = StoredPairs::read(path, &arguments.resources.tmp())?;
    if arguments.records.is_some_and(|given| given < records) {
        bail!("the pairs hold {records} records, more than --records {}", arguments.records.unwrap_or(0));
    }
    let least = pairs.iter().map(|pair| pair.2).fold(1.0, f64::min);
    // What was below the threshold of the run that wrote them is not there, so lower ones cannot be told.
    let is_known = |threshold: &f64| global.typed_threshold || *threshold >= least - arguments.step;
    let thresholds = thresholds(arguments.matching.threshold, arguments.step)?;
    if thresholds.iter().copied().filter(is_known).any(|threshold| threshold < least - arguments.step) {
        Progress::new(global).note(&format!(
            "the least alike of these pairs are {least} alike; if they were written with that threshold, lower ones would drop \
             more than is told here"
        ));
    }
    let line = |threshold: f64| {
        let edges: Vec<RankedEdge> = pairs
            .iter()
            .filter(|pair| pair.2 >= threshold)
            .map(|(left, right, similarity)| RankedEdge { left: *left, right: *right, similarity: *similarity })
            .collect();
        let mut members: Vec<(u64, u64)> = (0..records).map(|record| (record, record)).collect();
        Ok(Line::of_pairs(threshold, &plan.group_ranked(&mut members, &edges)?, arguments.records))
    };
    thresholds.into_iter().filter(is_known).map(line).collect()
}

/// The thresholds from the lowest up to 1, and 1 itself.
fn thresholds(lowest: f64, step: f64) -> Result<Vec<f64>> {
    const LEAST_STEP: f64 = 0.001;
    if !(LEAST_STEP..=1.0).contains(&step) {
        bail!("the step {step} is out of range; choose one from {LEAST_STEP} to 1, such as 0.05");
    }
    // Counted in thousandths of thousandths, so that 0.5 + 3 × 0.05 is 0.65.
    let rounded = |value: f64| (value * 1e6).round() / 1e6;
    let mut thresholds: Vec<f64> =
        (0..).map(|count| rounded(lowest + f64::from(count) * step)).take_while(|threshold| *threshold < 1.0).collect();
    thresholds.push(1.0);
    Ok(thresholds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_end_at_one() {
        assert_eq!(thresholds(0.8, 0.05).unwrap(), [0.8, 0.85, 0.9, 0.95, 1.0]);
        assert_eq!(thresholds(0.85, 0.1).unwrap(), [0.85, 0.95, 1.0]);
        assert_eq!(thresholds(1.0, 0.05).unwrap(), [1.0]);
        assert!(thresholds(0.5, 0.0).is_err());
    }
}
