//! `cargo xtask fuzz`: hostile bytes for every reader, with cargo-fuzz. A nightly Rust adds the address sanitizer.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::lint::is_installed;
use crate::step::Steps;
use crate::{CannotRun, workspace};

/// Seconds for each target, unless told otherwise.
const SECONDS: u64 = 60;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let seconds = match arguments {
        [] => SECONDS,
        [seconds] => seconds.parse().map_err(|_| CannotRun(format!("{seconds} is no number of seconds")))?,
        [_, unknown, ..] => bail!(CannotRun(format!("fuzz takes a number of seconds and nothing else, not {unknown}"))),
    };
    let targets = targets()?;
    if !is_installed("cargo-fuzz") {
        bail!(CannotRun("cargo-fuzz is not installed; `cargo install cargo-fuzz` installs it".into()));
    }
    let mut nightly = Command::new("cargo");
    nightly.args(["+nightly", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    let has_nightly = nightly.status().is_ok_and(|status| status.success());
    let how: &[&str] = if has_nightly { &["+nightly", "fuzz", "run"] } else { &["fuzz", "run", "--sanitizer", "none"] };
    let mut steps = Steps::default();
    for target in targets {
        let limit = format!("-max_total_time={seconds}");
        let mut command = Command::new("cargo");
        command.args(how).args([&target, "--", &limit]).current_dir(workspace::root());
        steps.run(&format!("fuzz {target}"), &mut command)?;
    }
    steps.print_summary();
    Ok(())
}

/// The names of the fuzz targets: the files of fuzz/fuzz_targets.
fn targets() -> Result<Vec<String>> {
    let folder = workspace::root().join("fuzz/fuzz_targets");
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        Err(_) => bail!(CannotRun("there are no fuzz targets: fuzz/fuzz_targets is missing".into())),
    };
    let mut targets = Vec::new();
    for entry in entries {
        let path = entry.context("cannot list the fuzz targets")?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            targets.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    targets.sort();
    Ok(targets)
}
