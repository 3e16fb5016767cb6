//! `cargo xtask quality`: how good the answers are on real corpora.

use std::process::Command;

use anyhow::{Result, bail};

use crate::CannotRun;
use crate::step::{Steps, cargo};
use crate::workspace;

/// Seeds of the sketch that recall is averaged over, unless told otherwise.
const SEEDS: u64 = 20;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let seeds = match arguments {
        [] => SEEDS,
        [flag, seeds] if flag == "--seeds" => match seeds.parse() {
            Ok(seeds) if seeds > 0 => seeds,
            _ => bail!(CannotRun(format!("{seeds} is no number of seeds"))),
        },
        _ => bail!(CannotRun("quality takes --seeds N and nothing else".into())),
    };
    let data = workspace::root().join("../shared/data");
    if !data.is_dir() {
        bail!(CannotRun("the corpora are not here: quality looks for them in ../shared/data".into()));
    }
    let mut steps = Steps::default();
    steps
        .run("build", &mut cargo(&["build", "--release", "--quiet", "--package", "benchmarks", "--bin", "quality"]))?;
    let mut quality = Command::new(workspace::release_program("quality")?);
    quality.arg(data).args(["--seeds", &seeds.to_string(), "--output", "docs/quality.md"]);
    steps.run("quality", quality.current_dir(workspace::root()))?;
    steps.print_summary();
    Ok(())
}
