//! `lookalike audit`: measured recall and precision on this data, against the exact answer.

use std::io::Write;

use anyhow::{Result, bail};
use clap::Args;
use lookalike::{Audit, Interval};
use lookalike_io::{FinishedFile, Input};

use super::Found;
use crate::arguments::{GlobalArguments, InputArguments, MatchArguments, ResourceArguments};
use crate::boilerplate;
use crate::exit::Exit;
use crate::intake::{self, KeepShingles, Part, Request};
use crate::progress::Progress;
use crate::report::ReportArguments;
use crate::skipped;

/// What `audit` takes.
#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    matching: MatchArguments,
    /// Records whose exact neighbours are looked up in the whole collection
    #[arg(long, value_name = "N", default_value_t = 1000, help_heading = "Output")]
    sample: usize,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    resources: ResourceArguments,
}

pub(crate) fn run(arguments: &AuditArguments, global: &GlobalArguments) -> Result<Exit> {
    let progress = Progress::new(global);
    if !arguments.input.against.is_empty() {
        bail!("audit measures one collection; leave --against out, or name its files as inputs");
    }
    arguments.resources.limit_threads()?;
    let request = Request {
        command: "audit",
        input: &arguments.input,
        output: None,
        resources: &arguments.resources,
        shingles: KeepShingles::Yes,
        part: Part::Everything,
        adds: false,
    };
    let plan = boilerplate::leave_out(arguments.matching.plan()?, &request, &progress)?;
    let report = arguments.report.open()?;
    let check = |old: &[Input], new: &[Input]| arguments.report.check(old, new).map(|()| 0);
    let intake = intake::read(&request, check, &plan, &progress)?;
    intake.records.check_ids()?;
    let records = intake.old.into_iter().chain(intake.new).collect();
    let (audit, outcome) = plan.audit(records, arguments.sample, &progress)?;
    let found = Found {
        plan,
        records: intake.records,
        outcome,
        reader: intake.reader,
        is_against_index: false,
        work: None,
        addition: None,
    };
    let report = report.write(&found, Some(&audit), progress.seconds())?;
    progress.finish();
    if !global.quiet {
        skipped::list(&skipped::skipped(&found.records), "", &progress);
    }
    let mut out = anstream::stdout().lock();
    if global.json {
        writeln!(out, "{}", serde_json::to_string(&audit)?)?;
    } else {
        write!(out, "{}", in_words(&audit, found.plan.settings().threshold))?;
    }
    report.map(FinishedFile::appear).transpose()?;
    Ok(Exit::Done)
}

fn in_words(audit: &Audit, threshold: f64) -> String {
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let with_interval = |interval: &Interval| {
        format!("{} (95 %: {} to {})", percent(interval.share), percent(interval.low), percent(interval.high))
    };
    let mut words =
        format!("sample     {} of {} records, compared with all of them exactly\n", audit.sampled, audit.records);
    words += &match &audit.recall {
        Some(recall) => format!("recall     {}: {} of {} pairs\n", with_interval(recall), audit.found, audit.alike),
        None => format!("recall     unknown: nothing in the sample is alike to anything at {threshold}\n"),
    };
    words += &match &audit.precision {
        Some(precision) => {
            format!("precision  {}: {} of {} pairs\n", with_interval(precision), audit.correct, audit.reported)
        }
        None => "precision  unknown: nothing was reported for the sample\n".to_owned(),
    };
    words += &format!("promised   {} of pairs at {threshold}\n", percent(audit.promised));
    if let Some(expected) = audit.expected {
        words += &format!("expected   {} of the pairs that are there\n", percent(expected));
    }
    words
}
