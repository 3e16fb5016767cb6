//! `lookalike plan`: what settings mean. Reads no data.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use lookalike::{Method, Plan, Verify};
use lookalike_io::output::AtomicFile;
use serde_json::json;

use crate::arguments::{GlobalArguments, MatchArguments};
use crate::exit::Exit;
use crate::plot;

/// What `plan` takes.
#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    matching: MatchArguments,
    /// Draw the S-curve into this SVG file too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    svg: Option<PathBuf>,
}

/// The text whose memory is told: as many shingles as 200 words have.
const EXAMPLE_SHINGLES: f64 = 196.0;

pub(crate) fn run(arguments: &PlanArguments, global: &GlobalArguments) -> Result<Exit> {
    let plan = arguments.matching.plan()?;
    if let Some(path) = &arguments.svg {
        let mut file = AtomicFile::create(path)?;
        file.write_all(plot::svg(&plan).as_bytes())?;
        file.commit()?;
    }
    let mut out = anstream::stdout().lock();
    if global.json {
        writeln!(out, "{}", as_json(&plan))?;
        return Ok(Exit::Done);
    }
    writeln!(out, "{plan}")?;
    writeln!(out, "memory     {:.0} bytes for a record of 200 words", plan.bytes_per_record(EXAMPLE_SHINGLES))?;
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

fn tenths() -> impl Iterator<Item = f64> {
    (1..=10).map(|tenth| f64::from(tenth) / 10.0)
}

/// The share of pairs that are found and reported: below the threshold none is, unless candidates are not checked.
fn found(plan: &Plan, similarity: f64) -> String {
    let settings = plan.settings();
    if settings.verify == Verify::Exact && similarity < settings.threshold {
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

fn as_json(plan: &Plan) -> serde_json::Value {
    let settings = plan.settings();
    let rule = plan.bucket_rule();
    let curve: Vec<_> =
        tenths().map(|similarity| json!({"similarity": similarity, "compared": plan.compares(similarity), "found": plan.finds(similarity)})).collect();
    let scheme = match plan.method() {
        Method::Sketches(scheme) => json!({
            "hashes": scheme.slots,
            "bands": scheme.bands.to_string(),
            "least_agreement": scheme.least_agreement,
            "every_pair_up_to": rule.every_pair_up_to,
            "first_in_larger_buckets": rule.first,
        }),
        _ => serde_json::Value::Null,
    };
    json!({
        "settings": settings,
        "normalize": plan.normalize().to_string(),
        "scheme": scheme,
        "finds_at_threshold": plan.finds(settings.threshold),
        "curve": curve,
        "bytes_per_record_of_200_words": plan.bytes_per_record(EXAMPLE_SHINGLES),
        "gives_up": plan.gives_up(),
        "fingerprint": format!("{:016x}", plan.fingerprint()),
    })
}
