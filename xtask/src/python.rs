//! The Python package: built as a wheel, installed into a fresh environment, and tested there.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use anyhow::{Context, Result, bail};

use crate::step::Steps;
use crate::{CannotRun, expect_no_arguments, lint, workspace};

/// Builds the wheel as tests do (optimised where it matters) or as users get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    Dev,
    Release,
}

/// A fresh environment of Python that is being filled with packages, which mostly waits for others: something else can be done
/// meanwhile.
pub(crate) struct Begun {
    environment: Environment,
    installing: Installing,
}

/// A program that installs packages, and ends with this.
struct Installing(Child);

impl Drop for Installing {
    fn drop(&mut self) {
        // It has ended, unless something else failed meanwhile.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Begun {
    /// Makes the environment, and begins to install what `requirements`, a file, lists.
    pub(crate) fn new(steps: &mut Steps, name: &str, requirements: &Path) -> Result<Self> {
        if !lint::is_installed("python3") {
            bail!(CannotRun("the Python package needs python3, 3.10 or later, to be built and tested".into()));
        }
        let environment = Environment { folder: workspace::target()?.join(name) };
        let mut make = Command::new("python3");
        steps.run("Python: environment", make.args(["-m", "venv", "--clear"]).arg(&environment.folder))?;
        let mut install = environment.pip();
        install.args(["install", "--quiet", "maturin", "-r"]).arg(requirements);
        let installing = install.spawn().with_context(|| format!("cannot start {install:?}"))?;
        Ok(Self { environment, installing: Installing(installing) })
    }

    /// Waits for the packages, builds the wheel and installs it.
    pub(crate) fn finish(mut self, steps: &mut Steps, profile: Profile) -> Result<Environment> {
        steps.wait("Python: packages", &mut self.installing.0)?;
        self.environment.install_wheel(steps, profile)?;
        Ok(self.environment)
    }
}

/// A fresh environment of Python with the package in it.
pub(crate) struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// Builds the wheel and installs it.
    fn install_wheel(&self, steps: &mut Steps, profile: Profile) -> Result<()> {
        let wheels = self.folder.join("wheels");
        let mut build = self.program("maturin");
        let profile = match profile {
            Profile::Dev => "dev",
            Profile::Release => "release",
        };
        build.args(["build", "--quiet", "--profile", profile, "--out"]).arg(&wheels).arg("--manifest-path");
        steps.run("Python: wheel", build.arg(package().join("Cargo.toml")))?;
        let wheel = std::fs::read_dir(&wheels)?.next().context("maturin made no wheel")??.path();
        steps.run("Python: installing", self.pip().args(["install", "--quiet", "--no-deps"]).arg(wheel))
    }

    /// A program of the environment.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.folder.join("bin").join(name));
        command.current_dir(package()).env("VIRTUAL_ENV", &self.folder).env_remove("PYTHONPATH");
        command
    }

    fn pip(&self) -> Command {
        let mut pip = self.program("python");
        pip.args(["-m", "pip", "--disable-pip-version-check"]);
        pip
    }
}

/// The folder of the package.
fn package() -> PathBuf {
    workspace::root().join("crates/lookalike-python")
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    expect_no_arguments(arguments)?;
    let mut steps = Steps::default();
    let begun = begin_tests(&mut steps)?;
    test(&mut steps, begun)?;
    steps.print_summary();
    Ok(())
}

/// Begins to make the environment that the package is tested in.
pub(crate) fn begin_tests(steps: &mut Steps) -> Result<Begun> {
    Begun::new(steps, "python-tests", &package().join("tests/requirements.txt"))
}

/// Tests the package: its stubs against the module, its examples, its tests.
pub(crate) fn test(steps: &mut Steps, begun: Begun) -> Result<()> {
    let environment = begun.finish(steps, Profile::Dev)?;
    let mut stubs = environment.program("python");
    steps.run("Python: stubs", stubs.args(["-m", "mypy.stubtest", "lookalike._native", "--ignore-disjoint-bases"]))?;
    steps.run("Python: types", environment.program("mypy").args(["--strict", "python/lookalike"]))?;
    let pytest = |arguments: &[&str]| {
        let mut tests = environment.program("python");
        tests.args(["-m", "pytest", "--quiet"]).args(arguments);
        tests
    };
    // Some of these count seconds, so nothing runs beside them.
    let alone = ["tests", "--ignore=tests/spark", "--pyargs", "lookalike"];
    steps.run_tests("Python: tests", &mut pytest(&alone))?;
    // Spark spends much of its time waiting: two processes, each with a cluster.
    steps.run_tests("Python: tests of Spark", &mut pytest(&["--numprocesses=2", "tests/spark"]))
}
