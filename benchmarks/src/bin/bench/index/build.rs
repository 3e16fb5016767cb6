//! Building an index in bulk, beside `pairs` on the same file; how large it is and how fast it opens.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;
use benchmarks::definition::Definition;
use benchmarks::resources::run_measured;
use lookalike::{Info, Snapshot};

use super::latency::Latencies;
use crate::timing::Timing;
use crate::{DATA, program};

/// How often an index is opened.
const OPENED: usize = 10;

/// What building took.
pub(crate) struct Built {
    pub(crate) pairs: Timing,
    pub(crate) build: Timing,
    pub(crate) info: Info,
    pub(crate) open: Latencies,
    pub(crate) index: PathBuf,
}

/// Runs both in turn. The last index stays.
pub(crate) fn measure(definition: &Definition, corpus: &Path) -> Result<Built> {
    let threads = definition.most_threads();
    let index = Path::new(DATA).join(format!("{}.idx", definition.name));
    let pairs_file = Path::new(DATA).join(format!("{}-pairs.tsv", definition.name));
    let timing = |name: &str| Timing { name: name.to_string(), threads, runs: Vec::new() };
    let (mut pairs, mut build) = (timing("pairs -o"), timing("index build"));
    for run in 1..=definition.runs {
        let mut command = Command::new(program("lookalike")?);
        command.arg("pairs").arg(corpus).arg("-o").arg(&pairs_file);
        pairs.runs.push(run_measured(with_settings(&mut command, definition))?);
        std::fs::remove_file(&pairs_file)?;
        if index.exists() {
            std::fs::remove_dir_all(&index)?;
        }
        let mut command = Command::new(program("lookalike")?);
        command.args(["index", "build"]).arg(&index).arg(corpus);
        build.runs.push(run_measured(with_settings(&mut command, definition))?);
        for timing in [&pairs, &build] {
            let usage = timing.runs[run - 1];
            eprintln!(
                "  run {run} of {}: {:<11} {:>7.3} s wall {:>7.3} s CPU",
                definition.runs, timing.name, usage.wall, usage.cpu
            );
        }
    }
    Ok(Built { pairs, build, info: Snapshot::open(&index)?.info(), open: open(&index)?, index })
}

/// Opens an index, again and again.
pub(crate) fn open(index: &Path) -> Result<Latencies> {
    let mut times = Latencies::default();
    for _ in 0..OPENED {
        times.time(|| Ok(Snapshot::open(index)?))?;
    }
    Ok(times)
}

fn with_settings<'a>(command: &'a mut Command, definition: &Definition) -> &'a mut Command {
    let (threshold, threads) = (definition.threshold.to_string(), definition.most_threads().to_string());
    command.args(["-t", &threshold, "-j", &threads, "-q"]).stdin(Stdio::null()).stdout(Stdio::null())
}
