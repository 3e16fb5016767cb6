//! The last line: what was read, kept and dropped, and what it cost.

use lookalike::{Outcome, Plan, Summary};
use serde::Serialize;

use crate::arguments::GlobalArguments;
use crate::names::Records;
use crate::progress::Progress;
use crate::skipped;

/// The summary of a run.
#[derive(Debug, Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    counts: &'a Summary,
    /// Similar pairs of records, where all are known.
    pairs: Option<u64>,
    bad: u64,
    /// What is wrong with each bad record, and where it stands.
    skipped: Vec<String>,
    bytes: u64,
    seconds: f64,
    peak_memory: Option<u64>,
    threshold: f64,
    finds_at_threshold: f64,
    /// Parts of the work that were there from an interrupted run.
    reused: u64,
    /// What is worth knowing.
    notes: Vec<String>,
}

/// What the summary begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// How many records are kept and dropped.
    Kept,
    /// How many pairs there are.
    Pairs,
}

/// Says on stderr how the run went: bad records, what was bounded, and the summary.
pub(crate) fn report(
    first: First,
    global: &GlobalArguments,
    plan: &Plan,
    outcome: &Outcome,
    records: &Records,
    progress: &Progress,
) {
    progress.finish();
    let skipped = skipped::skipped(records);
    let threshold = outcome.threshold();
    let mut notes = progress.take_notes();
    notes.extend(notes_on(first, plan, outcome));
    let report = Report {
        counts: outcome.summary(),
        pairs: outcome.knows_all_pairs().then(|| outcome.count_pairs()),
        bad: skipped.len() as u64,
        skipped,
        bytes: records.inputs().iter().map(|input| input.size).sum(),
        seconds: progress.seconds(),
        peak_memory: peak_memory(),
        threshold,
        finds_at_threshold: plan.finds(threshold),
        reused: progress.reused(),
        notes,
    };
    if global.json {
        progress.say(&serde_json::to_string(&report).unwrap_or_default());
    }
    if global.quiet || global.json {
        return;
    }
    skipped::list(&report.skipped, " (--json lists all)", progress);
    for note in &report.notes {
        progress.say(&format!("note: {note}"));
    }
    progress.say(&report.line(first));
}

/// What is worth knowing about a run: promises that were given up, and what was bounded or missing.
fn notes_on(first: First, plan: &Plan, outcome: &Outcome) -> Vec<String> {
    let mut notes: Vec<String> = plan.gives_up().into_iter().map(str::to_owned).collect();
    let counts = outcome.summary();
    if counts.bounded_buckets > 0 {
        let lost = counts.bounded_lost_pairs;
        let means = if outcome.knows_all_pairs() {
            let share = 100.0 * lost as f64 / (outcome.count_pairs() + lost).max(1) as f64;
            format!("which misses about {lost} pairs ({share:.2} % of all)")
        } else {
            format!("so about {lost} pairs of kept records may be alike")
        };
        notes.push(format!(
            "{} comparisons in {} large buckets were left out, {means}; none is dropped wrongly, and --exact compares all",
            counts.bounded_comparisons, counts.bounded_buckets,
        ));
    }
    let contained = outcome.contained_but_kept();
    if contained > 0 && first == First::Kept {
        notes.push(format!(
            "{contained} records are contained in records that come behind them in keep order, and so are kept; --keep longest \
             drops such records"
        ));
    }
    if counts.without_keep_field > 0 {
        let field = plan.settings().keep.field().unwrap_or_default();
        notes.push(format!(
            "{} records have no field {field:?} to keep them by, and come last",
            counts.without_keep_field
        ));
    }
    notes
}

impl Report<'_> {
    fn line(&self, first: First) -> String {
        let counts = self.counts;
        let megabytes = self.bytes as f64 / 1e6;
        let found = match first {
            First::Pairs => format!("{} pairs", self.pairs.unwrap_or_default()),
            First::Kept => {
                let share = 100.0 * counts.dropped as f64 / (counts.records.max(1)) as f64;
                format!("{} kept, {} dropped ({share:.1} %)", counts.kept, counts.dropped)
            }
        };
        let mut line = format!(
            "{} records: {found}, {} groups, largest {}, {} empty, {} short, {} bad; {:.2} s, {:.0} MB/s",
            counts.records,
            counts.groups,
            counts.largest,
            counts.empty,
            counts.short,
            self.bad,
            self.seconds,
            megabytes / self.seconds.max(1e-9),
        );
        if let Some(peak) = self.peak_memory {
            line.push_str(&format!(", {:.0} MB memory", peak as f64 / 1e6));
        }
        line
    }
}

/// The most memory that the program had, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
