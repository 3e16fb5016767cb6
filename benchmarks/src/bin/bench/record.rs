//! The page that is kept of a measurement.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use benchmarks::definition::Definition;
use benchmarks::resources::cpu_model;

use crate::accuracy::Accuracy;
use crate::timing::{FLOOR, Timing};

/// The page of one definition.
pub(crate) fn page(
    definition: &Definition,
    corpus: &Path,
    timings: &[Timing],
    accuracy: Option<&Accuracy>,
) -> Result<String> {
    let bytes = corpus.metadata().with_context(|| format!("cannot look at {}", corpus.display()))?.len();
    let megabytes = bytes as f64 / 1e6;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut page = format!("# {}\n\nWritten by `cargo xtask bench {}`.\n\n", definition.name, definition.name);
    writeln!(page, "- CPU: {}, {threads} threads", cpu_model())?;
    writeln!(
        page,
        "- corpus: {} {} records, seed {}, {megabytes:.1} MB of JSONL; threshold {}",
        definition.records, definition.kind, definition.seed, definition.threshold
    )?;
    writeln!(
        page,
        "- the programs take turns, {} runs each; the best counts, the spread is (worst − best) / best\n",
        definition.runs
    )?;
    page.push_str(
        "| program | threads | wall s | spread | CPU s | MB/s | peak MB | wall / floor | CPU / floor |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for timing in timings {
        let floor = timings
            .iter()
            .find(|other| other.name == FLOOR && other.threads == timing.threads)
            .context("the floor is measured with every number of threads")?;
        let (wall, cpu) = (timing.least(|run| run.wall), timing.least(|run| run.cpu));
        writeln!(
            page,
            "| {} | {} | {wall:.3} | {:.0} % | {cpu:.3} | {:.0} | {:.0} | {:.2} | {:.2} |",
            timing.name,
            timing.threads,
            100.0 * (timing.greatest(|run| run.wall) / wall - 1.0),
            megabytes / wall,
            timing.greatest(|run| run.peak_bytes as f64) / 1e6,
            wall / floor.least(|run| run.wall),
            cpu / floor.least(|run| run.cpu)
        )?;
    }
    match accuracy {
        Some(accuracy) => writeln!(
            page,
            "\n`pairs` against `pairs --exact`: {} of {} pairs found, {} reported: recall {:.5}, precision {}",
            accuracy.right,
            accuracy.exact,
            accuracy.found,
            accuracy.recall(),
            accuracy.precision()
        )?,
        None => page.push_str("\nRecall and precision are measured on the smaller corpus of the same kind.\n"),
    }
    Ok(page)
}
