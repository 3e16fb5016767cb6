//! `cargo xtask bench`: how fast it is, beside the floor and with recall beside the speed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::CannotRun;
use crate::python::{Begun, Profile};
use crate::step::{Steps, cargo};
use crate::workspace;

/// What is measured unless told otherwise.
const USUAL: [&str; 2] = ["natural-100k", "plain-100k"];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let names: Vec<&str> =
        if arguments.is_empty() { USUAL.to_vec() } else { arguments.iter().map(String::as_str).collect() };
    let mut definitions: Vec<PathBuf> = Vec::new();
    let mut steps = Steps::default();
    for name in names {
        let script = workspace::root().join(format!("benchmarks/engines/{name}/measure.py"));
        if script.is_file() {
            measure_package(&mut steps, name, &script)?;
            continue;
        }
        let path = workspace::root().join(format!("benchmarks/definitions/{name}.toml"));
        if !path.is_file() {
            bail!(CannotRun(format!("there is no benchmark {name} in benchmarks/definitions or benchmarks/engines")));
        }
        definitions.push(path);
    }
    if !definitions.is_empty() {
        measure_definitions(&mut steps, &definitions)?;
    }
    steps.print_summary();
    Ok(())
}

/// Measures the Python package beside another, as the script of that one does.
fn measure_package(steps: &mut Steps, name: &str, script: &Path) -> Result<()> {
    let requirements = script.with_file_name("requirements.txt");
    let environment = Begun::new(steps, &format!("python-{name}"), &requirements)?.finish(steps, Profile::Release)?;
    let record = workspace::root().join(format!("benchmarks/record/{name}.md"));
    steps.run("bench", environment.program("python").arg(script).arg(record))
}

fn measure_definitions(steps: &mut Steps, definitions: &[PathBuf]) -> Result<()> {
    let packages = ["--package", "benchmarks", "--package", "lookalike-cli"];
    steps.run("build", cargo(&["build", "--release", "--quiet"]).args(packages))?;
    let mut bench = Command::new(workspace::release_program("bench")?);
    steps.run("bench", bench.args(definitions).current_dir(workspace::root()))
}
