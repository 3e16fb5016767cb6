//! `cargo xtask bench`: how fast it is, beside the floor and with recall beside the speed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::CannotRun;
use crate::step::{Steps, cargo};
use crate::workspace;

/// What is measured unless told otherwise.
const USUAL: [&str; 2] = ["natural-100k", "plain-100k"];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let names: Vec<&str> =
        if arguments.is_empty() { USUAL.to_vec() } else { arguments.iter().map(String::as_str).collect() };
    let mut definitions: Vec<PathBuf> = Vec::new();
    for name in names {
        let path = workspace::root().join(format!("benchmarks/definitions/{name}.toml"));
        if !path.is_file() {
            bail!(CannotRun(format!("there is no benchmark {name} in benchmarks/definitions")));
        }
        definitions.push(path);
    }
    let mut steps = Steps::default();
    let packages = ["--package", "benchmarks", "--package", "lookalike-cli"];
    steps.run("build", cargo(&["build", "--release", "--quiet"]).args(packages))?;
    let mut bench = Command::new(workspace::release_program("bench")?);
    steps.run("bench", bench.args(definitions).current_dir(workspace::root()))?;
    steps.print_summary();
    Ok(())
}
