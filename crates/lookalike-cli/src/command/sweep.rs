//! `lookalike sweep`: what each threshold would drop, from one run.

use std::io::Write;

use anyhow::{Result, bail};
use clap::Args;
use lookalike::Summary;
use serde::Serialize;

use super::find;
use crate::arguments::{GlobalArguments, InputArguments, MatchArguments, ResourceArguments};
use crate::exit::Exit;
use crate::intake::{KeepShingles, Part, Request};
use crate::progress::Progress;
use crate::summary;

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
    records: u64,
    kept: u64,
    dropped: u64,
    groups: u64,
    largest: u64,
}

impl Line {
    fn new(threshold: f64, counts: &Summary) -> Self {
        let Summary { records, kept, dropped, groups, largest, .. } = *counts;
        Self { threshold, records, kept, dropped, groups, largest }
    }
}

pub(crate) fn run(arguments: &SweepArguments, global: &GlobalArguments) -> Result<Exit> {
    let progress = Progress::new(global);
    let thresholds = thresholds(arguments.matching.threshold, arguments.step)?;
    let request = Request {
        command: "sweep",
        input: &arguments.input,
        output: None,
        resources: &arguments.resources,
        shingles: KeepShingles::No,
        part: Part::Everything,
    };
    let found = find(&request, |_, _| Ok(0), &arguments.matching, global, &progress)?;
    let mut out = anstream::stdout().lock();
    let mut lines = Vec::new();
    for threshold in thresholds {
        let line = Line::new(threshold, &found.outcome.summary_at(threshold)?);
        if !global.json {
            let Line { dropped, kept, groups, largest, .. } = line;
            writeln!(out, "{threshold}\t{dropped}\t{kept}\t{groups}\t{largest}")?;
        }
        lines.push(line);
    }
    if global.json {
        writeln!(out, "{}", serde_json::to_string(&lines)?)?;
    } else {
        summary::report(global, &found.plan, &found.outcome, &found.records, &progress);
    }
    found.settle();
    Ok(Exit::Done)
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
