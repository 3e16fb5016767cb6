//! Runs the programs in turn, several times, and keeps what each run took.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;
use benchmarks::definition::Definition;
use benchmarks::resources::{Usage, run_measured};

use crate::{DATA, program};

/// All runs of one program with one number of threads.
#[derive(Debug)]
pub(crate) struct Timing {
    pub(crate) name: String,
    pub(crate) threads: usize,
    pub(crate) runs: Vec<Usage>,
}

/// The program that does nothing but read and hash.
pub(crate) const FLOOR: &str = "floor";
/// The run that engines are compared with.
pub(crate) const DEDUP: &str = "dedup";
/// The run that finds all pairs without sketches.
pub(crate) const EXACT: &str = "pairs --exact";

impl Timing {
    /// The least of what `of` tells of each run.
    fn least(&self, of: impl Fn(&Usage) -> f64) -> f64 {
        self.runs.iter().map(of).fold(f64::INFINITY, f64::min)
    }

    /// The seconds on the clock of the best run.
    pub(crate) fn wall(&self) -> f64 {
        self.least(|run| run.wall)
    }

    /// The CPU seconds of the best run.
    pub(crate) fn cpu(&self) -> f64 {
        self.least(|run| run.cpu)
    }

    /// The greatest of what `of` tells of each run.
    pub(crate) fn greatest(&self, of: impl Fn(&Usage) -> f64) -> f64 {
        self.runs.iter().map(of).fold(0.0, f64::max)
    }
}

/// Runs everything that a definition asks for. The programs take turns, so that whatever else the machine does meets
/// all of them.
pub(crate) fn measure(definition: &Definition, corpus: &Path) -> Result<Vec<Timing>> {
    let mut commands = vec![FLOOR];
    commands.extend(definition.programs.iter().map(String::as_str));
    if definition.exact && !definition.engines.is_empty() {
        commands.push(EXACT);
    }
    let mut timings = Vec::new();
    for threads in &definition.threads {
        for name in &commands {
            timings.push(Timing { name: (*name).to_string(), threads: *threads, runs: Vec::new() });
        }
    }
    for run in 1..=definition.runs {
        for timing in &mut timings {
            let usage = self::run(&timing.name, timing.threads, definition, corpus)?;
            eprintln!(
                "  run {run} of {}: {:<6} {} threads {:>7.3} s wall {:>7.3} s CPU",
                definition.runs, timing.name, timing.threads, usage.wall, usage.cpu
            );
            timing.runs.push(usage);
        }
    }
    Ok(timings)
}

/// Runs a program once. What an earlier run wrote is removed before: that is not its work. The corpus is read before, so that
/// every program finds it in the system's cache, as far as it fits.
pub(crate) fn run(name: &str, threads: usize, definition: &Definition, corpus: &Path) -> Result<Usage> {
    let kept = kept_of(corpus);
    if kept.exists() {
        std::fs::remove_file(&kept)?;
    }
    std::io::copy(&mut std::fs::File::open(corpus)?, &mut std::io::sink())?;
    run_measured(&mut command(name, threads, definition, corpus)?)
}

/// Where the records go that `dedup` keeps.
pub(crate) fn kept_of(corpus: &Path) -> PathBuf {
    let endings: Vec<String> =
        corpus.extension().into_iter().map(|ending| ending.to_string_lossy().into_owned()).collect();
    let ending = if endings == ["jsonl"] { String::new() } else { format!(".{}", endings.concat()) };
    Path::new(DATA).join(format!("kept.jsonl{ending}"))
}

fn command(name: &str, threads: usize, definition: &Definition, corpus: &Path) -> Result<Command> {
    let threads = threads.to_string();
    let mut command = if name == FLOOR {
        let mut command = Command::new(program("floor")?);
        command.args(["--threads", &threads]).arg(corpus);
        command
    } else {
        let mut command = Command::new(program("lookalike")?);
        command.args(name.split(' ')).arg(corpus).args(["-t", &definition.threshold.to_string(), "-j", &threads, "-q"]);
        if name == DEDUP {
            command.arg("-o").arg(kept_of(corpus));
        }
        if let Some(memory) = &definition.memory {
            command.args(["--memory", memory]);
        }
        command
    };
    command.stdout(Stdio::null()).stdin(Stdio::null());
    Ok(command)
}
