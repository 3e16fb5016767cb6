//! `lookalike plan`: what settings mean. Reads no data.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use lookalike::{Method, Plan, Verify};
use lookalike_io::output::AtomicFile;

use crate::answer::PlanAnswer;
use crate::arguments::{GlobalArguments, MatchArguments};
use crate::estimate::{Estimate, LISTED_SHINGLE_BYTES};
use crate::exit::Exit;
use crate::memory::{Budget, Bytes, RECORD_BYTES};
use crate::plot;

/// What `plan` takes.
#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    matching: MatchArguments,
    /// Draw the S-curve into this SVG file too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    svg: Option<PathBuf>,
    /// Say what a run over so many records takes: memory, disk and time
    #[arg(long, value_name = "N", help_heading = "Resources")]
    records: Option<u64>,
    /// Bytes of those records in all [default: 1,500 each]
    #[arg(long, value_name = "SIZE", help_heading = "Resources", requires = "records")]
    bytes: Option<Bytes>,
}

/// Bytes of a text of 200 words, with what is around it.
const EXAMPLE_BYTES: u64 = 1_500;

pub(crate) fn run(arguments: &PlanArguments, global: &GlobalArguments) -> Result<Exit> {
    let plan = arguments.matching.plan()?;
    if let Some(path) = &arguments.svg {
        let mut file = AtomicFile::create(path)?;
        file.write_all(plot::svg(&plan).as_bytes())?;
        file.commit()?;
    }
    let budget = Budget::new(None, std::thread::available_parallelism().map_or(1, usize::from))?;
    let estimate = arguments.records.map(|records| {
        let bytes = arguments.bytes.map_or(EXAMPLE_BYTES * records, |bytes| bytes.0);
        Estimate::new(&plan, &budget, records, bytes)
    });
    let mut out = anstream::stdout().lock();
    if global.json {
        let answer = PlanAnswer::new(&plan, TENTHS, estimate.as_ref());
        writeln!(out, "{}", serde_json::to_value(answer)?)?;
        return Ok(Exit::Done);
    }
    writeln!(out, "{plan}")?;
    writeln!(out, "{}", memory(&plan))?;
    if let Some(estimate) = estimate {
        writeln!(out)?;
        writeln!(out, "{}", estimate.lines(budget.threads()))?;
    }
    writeln!(out)?;
    writeln!(out, "similarity  {}", tenths().map(|similarity| format!("{similarity:>7.1}")).collect::<String>())?;
    let compared = tenths().map(|similarity| format!("{:>7}", percent(plan.compares(similarity))));
    writeln!(out, "compared, % {}", compared.collect::<String>())?;
    writeln!(
        out,
        "found, %    {}",
        tenths().map(|similarity| format!("{:>7}", found(&plan, similarity))).collect::<String>()
    )?;
    writeln!(out)?;
    write!(out, "{}", plot::terminal(&plan))?;
    Ok(Exit::Done)
}

/// What a record takes.
fn memory(plan: &Plan) -> String {
    match plan.method() {
        Method::InvertedLists | Method::Fingerprints(_) => {
            format!("memory     {RECORD_BYTES} bytes a record, and {LISTED_SHINGLE_BYTES} for each of its shingles")
        }
        _ => format!(
            "memory     {} bytes a record; {} of them can be in work files (--memory)",
            RECORD_BYTES + plan.sketch_bytes(),
            plan.sketch_bytes()
        ),
    }
}

/// Points of the curve that are listed.
const TENTHS: u32 = 10;

fn tenths() -> impl Iterator<Item = f64> {
    (1..=TENTHS).map(|tenth| f64::from(tenth) / f64::from(TENTHS))
}

/// The share of pairs that are found and reported: below the threshold none is, unless candidates are not checked.
fn found(plan: &Plan, similarity: f64) -> String {
    let settings = plan.settings();
    if matches!(settings.verify, Verify::Exact | Verify::Edit) && similarity < settings.threshold {
        "–".into()
    } else {
        percent(plan.finds(similarity))
    }
}

/// A percentage in few digits that never says 100 for less.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let places = if (10.0..=99.9).contains(&percent) { 1 } else { 2 };
    let shown = format!("{percent:.places$}");
    if share < 1.0 && shown.parse() == Ok(100.0) { ">99.9".into() } else { shown }
}
