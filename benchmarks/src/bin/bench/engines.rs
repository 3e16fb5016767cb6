//! Runs the other libraries of `benchmarks/engines`, each in a Python environment of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use benchmarks::definition::Definition;
use benchmarks::resources::run_measured;

use crate::DATA;
use crate::timing::Timing;

/// Where the scripts and the versions of the engines are.
const ENGINES: &str = "benchmarks/engines";
/// An engine that takes more seconds than this is run once.
const SLOW: f64 = 60.0;

/// What an engine did.
#[derive(Debug)]
pub(crate) struct EngineRuns {
    pub(crate) timing: Timing,
    /// The file with what it found.
    pub(crate) found: PathBuf,
    /// What its script says of its settings.
    pub(crate) told: String,
}

/// Runs all engines of a definition. The environments are made before anything is measured.
pub(crate) fn measure(definition: &Definition, corpus: &Path) -> Result<Vec<EngineRuns>> {
    let mut places = Vec::new();
    for name in &definition.engines {
        places.push(Place::prepare(name).with_context(|| format!("{name} cannot be installed"))?);
    }
    places.iter().map(|place| place.measure(definition, corpus)).collect()
}

/// Where an engine is installed, and where its outputs go.
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
}

impl Place {
    /// Makes the engine's environment, if it is not there with the versions that are asked for.
    pub(crate) fn prepare(name: &str) -> Result<Self> {
        let place = Self { name: name.to_string(), folder: Path::new(DATA).join("engines").join(name) };
        let requirements = Path::new(ENGINES).join(name).join("requirements.txt");
        let asked = std::fs::read(&requirements).with_context(|| format!("cannot read {}", requirements.display()))?;
        // What is installed is written down last, so that a half-made environment is made again.
        let installed = place.folder.join("installed.txt");
        // A package of this repository changes without its version.
        let is_ours = asked.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"./"));
        if !is_ours && std::fs::read(&installed).is_ok_and(|installed| installed == asked) {
            return Ok(place);
        }
        eprintln!("  installing {name}");
        std::fs::create_dir_all(&place.folder)?;
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(place.folder.join("venv")))?;
        let mut pip = Command::new(place.python());
        run(pip.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(requirements))?;
        std::fs::write(installed, asked)?;
        Ok(place)
    }

    fn python(&self) -> PathBuf {
        self.folder.join("venv/bin/python")
    }

    /// A command that runs the engine's script.
    pub(crate) fn script(&self) -> Command {
        let mut command = Command::new(self.python());
        command.arg(Path::new(ENGINES).join(&self.name).join("run.py")).stdin(Stdio::null());
        command
    }

    fn measure(&self, definition: &Definition, corpus: &Path) -> Result<EngineRuns> {
        let threads = definition.most_threads();
        let (found, told) = (self.folder.join("found.tsv"), self.folder.join("told.txt"));
        let mut timing = Timing { name: self.name.clone(), threads, runs: Vec::new() };
        let runs = definition.engine_runs.unwrap_or(definition.runs);
        for run in 1..=runs {
            let mut command = self.script();
            command.arg(corpus).args([definition.threshold.to_string(), threads.to_string()]).arg(&found);
            command.stdout(File::create(&told)?);
            let usage = run_measured(command.stderr(File::create(self.folder.join("log.txt"))?))
                .with_context(|| format!("{} says why in log.txt in {}", self.name, self.folder.display()))?;
            eprintln!("  run {run} of {runs}: {} {:>7.3} s wall {:>7.3} s CPU", self.name, usage.wall, usage.cpu);
            timing.runs.push(usage);
            if usage.wall > SLOW {
                break;
            }
        }
        let told = std::fs::read_to_string(&told)?;
        let told = told.lines().last().unwrap_or_default().to_string();
        Ok(EngineRuns { timing, found, told })
    }
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}
