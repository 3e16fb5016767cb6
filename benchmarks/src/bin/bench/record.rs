//! The page that is kept of a measurement.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use benchmarks::definition::Definition;
use benchmarks::resources::cpu_model;

use crate::accuracy::{Accuracy, Of, Truth};
use crate::engines::EngineRuns;
use crate::kernel;
use crate::packing::Packed;
use crate::timing::{DEDUP, EXACT, FLOOR, Timing};

/// The engine that finds all pairs exactly, as `pairs --exact` does.
const EXACT_ENGINE: &str = "setsimilaritysearch";

/// The page of one definition.
pub(crate) fn page(
    definition: &Definition,
    corpus: &Path,
    timings: &[Timing],
    engines: &[EngineRuns],
    truth: Option<&Truth>,
) -> Result<String> {
    let megabytes = megabytes_of(corpus)?;
    let mut page = heading(definition, megabytes)?;
    writeln!(
        page,
        "- the sketch kernel by itself: {:.0} thousand records/s on one core ({} shingles, {} values)",
        kernel::measure() / 1e3,
        kernel::SHINGLES,
        kernel::VALUES
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
        let floor = named(timings, FLOOR, timing.threads)?;
        writeln!(
            page,
            "| {} | {} | {} | {:.2} | {:.2} |",
            timing.name,
            timing.threads,
            columns(timing, megabytes),
            timing.wall() / floor.wall(),
            timing.cpu() / floor.cpu()
        )?;
    }
    let accuracy = match truth {
        Some(truth) => {
            let accuracy = truth.of_lookalike(definition, corpus)?;
            writeln!(
                page,
                "\n`pairs` against `pairs --exact`: {} of {} pairs found, {} reported: recall {:.5}, precision {}",
                accuracy.right,
                accuracy.exact,
                accuracy.found,
                accuracy.recall(),
                accuracy.precision()
            )?;
            Some(accuracy)
        }
        None => {
            page.push_str("\nRecall and precision are measured on the smaller corpus of the same kind.\n");
            None
        }
    };
    if !engines.is_empty() {
        add_engines(&mut page, definition, megabytes, timings, engines, truth.zip(accuracy.as_ref()))?;
    }
    Ok(page)
}

/// The size of a file.
pub(crate) fn megabytes_of(file: &Path) -> Result<f64> {
    let bytes = file.metadata().with_context(|| format!("cannot look at {}", file.display()))?.len();
    Ok(bytes as f64 / 1e6)
}

/// What every page begins with: what made it, where, and of what.
pub(crate) fn heading(definition: &Definition, megabytes: f64) -> Result<String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut page = format!("# {}\n\nWritten by `cargo xtask bench {}`.\n\n", definition.name, definition.name);
    writeln!(page, "- CPU: {}, {threads} threads", cpu_model())?;
    writeln!(
        page,
        "- corpus: {} {} records, seed {}, {megabytes:.1} MB of JSONL; threshold {}",
        definition.records, definition.kind, definition.seed, definition.threshold
    )?;
    Ok(page)
}

/// The same programs on an ordinary corpus.
pub(crate) fn add_ordinary(
    page: &mut String,
    definition: &Definition,
    timings: &[Timing],
    ordinary: &[Timing],
) -> Result<()> {
    let Some(records) = definition.beside else { return Ok(()) };
    writeln!(page, "\n## Beside an ordinary corpus\n\n{records} natural records, with the same flags.\n")?;
    page.push_str("| program | threads | wall s here | there | ratio | CPU s here | there | ratio |\n");
    page.push_str("|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for timing in timings {
        let there = named(ordinary, &timing.name, timing.threads)?;
        writeln!(
            page,
            "| {} | {} | {:.3} | {:.3} | {:.2} | {:.3} | {:.3} | {:.2} |",
            timing.name,
            timing.threads,
            timing.wall(),
            there.wall(),
            timing.wall() / there.wall(),
            timing.cpu(),
            there.cpu(),
            timing.cpu() / there.cpu()
        )?;
    }
    Ok(())
}

/// Compressed inputs and outputs, beside what their compression costs alone.
pub(crate) fn add_packed(page: &mut String, packed: &[Packed]) -> Result<()> {
    if packed.is_empty() {
        return Ok(());
    }
    page.push_str(
        "\n## Compressed\n\nThe parts are measured one by one: to decompress the corpus on one thread, to run on the plain corpus, and, for `dedup`,\n\
         to compress what is kept on one thread at the same level. The ratio is the compressed run over their sum.\n\n\
         | program | compression | threads | wall s | sum of the parts | ratio | CPU s | sum of the parts | ratio |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in packed {
        let (wall, cpu) = (row.run.wall(), row.run.cpu());
        let (parts_wall, parts_cpu): (f64, f64) =
            (row.parts.iter().map(Timing::wall).sum(), row.parts.iter().map(Timing::cpu).sum());
        writeln!(
            page,
            "| {} | {} | {} | {wall:.3} | {parts_wall:.3} | {:.2} | {cpu:.3} | {parts_cpu:.3} | {:.2} |",
            row.run.name,
            row.compression,
            row.run.threads,
            wall / parts_wall,
            cpu / parts_cpu
        )?;
    }
    Ok(())
}

/// The engines beside the runs of `lookalike` with as many threads.
fn add_engines(
    page: &mut String,
    definition: &Definition,
    megabytes: f64,
    timings: &[Timing],
    engines: &[EngineRuns],
    truth: Option<(&Truth, &Accuracy)>,
) -> Result<()> {
    let threads = definition.most_threads();
    let (floor, dedup) = (named(timings, FLOOR, threads)?, named(timings, DEDUP, threads)?);
    writeln!(
        page,
        "\n## Engines\n\nWith {threads} threads, as far as an engine uses them. The times are of whole runs, from the file to the pairs; an engine is"
    )?;
    page.push_str(
        "run after the programs, and once if it takes over a minute. Peak memory is that of the largest process.\n\
         Recall and precision are against `pairs --exact`.\n\n\
         | engine | wall s | spread | CPU s | MB/s | peak MB | CPU / floor | wall / dedup | CPU / dedup | recall | precision | of |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n",
    );
    let mut add = |name: &str, timing: &Timing, accuracy: Option<&Accuracy>| {
        writeln!(
            page,
            "| {name} | {} | {:.1} | {:.1} | {:.1} | {} |",
            columns(timing, megabytes),
            timing.cpu() / floor.cpu(),
            timing.wall() / dedup.wall(),
            timing.cpu() / dedup.cpu(),
            accuracy.map_or_else(|| "– | – | –".to_string(), shares)
        )
    };
    for timing in timings.iter().filter(|timing| timing.threads == threads && timing.name != FLOOR) {
        // What `dedup` drops it drops for the pairs that `pairs` prints; the exact answer is what is compared with.
        let accuracy = truth.filter(|_| timing.name != EXACT).map(|(_, accuracy)| accuracy);
        add(&format!("lookalike {}", timing.name), timing, accuracy)?;
    }
    for engine in engines {
        let accuracy = truth.map(|(truth, _)| truth.of_file(&engine.found)).transpose()?;
        add(&engine.timing.name, &engine.timing, accuracy.as_ref())?;
    }
    page.push('\n');
    for engine in engines {
        writeln!(page, "- {}: {}", engine.timing.name, engine.told)?;
    }
    let exact = timings.iter().find(|timing| timing.name == EXACT && timing.threads == threads);
    let exact_engine = engines.iter().find(|engine| engine.timing.name == EXACT_ENGINE);
    if let (Some(own), Some(other)) = (exact, exact_engine) {
        writeln!(
            page,
            "\nExact against exact: {EXACT_ENGINE} takes {:.1} times the CPU and {:.1} times the wall time of `{EXACT}`.",
            other.timing.cpu() / own.cpu(),
            other.timing.wall() / own.wall()
        )?;
    }
    Ok(())
}

/// The run of a program with a number of threads.
fn named<'a>(timings: &'a [Timing], name: &str, threads: usize) -> Result<&'a Timing> {
    let found = timings.iter().find(|timing| timing.name == name && timing.threads == threads);
    found.with_context(|| format!("{name} is measured with every number of threads"))
}

/// What every table tells of a program: wall, spread, CPU, throughput and memory.
pub(crate) fn columns(timing: &Timing, megabytes: f64) -> String {
    let spread = match timing.runs.len() {
        1 => "–".to_string(),
        _ => format!("{:.0} %", 100.0 * (timing.greatest(|run| run.wall) / timing.wall() - 1.0)),
    };
    let throughput = megabytes / timing.wall();
    format!(
        "{:.3} | {spread} | {:.3} | {throughput:.*} | {:.0}",
        timing.wall(),
        timing.cpu(),
        usize::from(throughput < 10.0),
        timing.greatest(|run| run.peak_bytes as f64) / 1e6
    )
}

/// Recall, precision and what they are shares of.
fn shares(accuracy: &Accuracy) -> String {
    let of = match accuracy.of {
        Of::Pairs => "pairs",
        Of::Records => "records",
    };
    format!("{:.4} | {:.4} | {of}", accuracy.recall(), accuracy.precision())
}
