//! The record of the last `cargo xtask test --long`: docs/long-tests.md.

use std::fmt::Write;
use std::process::Command;

use anyhow::{Context, Result};

use crate::step::Steps;
use crate::workspace;

/// Writes what was run, where, and how it went.
pub(crate) fn write(steps: &Steps) -> Result<()> {
    let counts = steps.test_counts();
    let mut page = String::from(
        "# The long tests\n\nWritten by `cargo xtask test --long`, which runs every test with its full counts.\n\n",
    );
    writeln!(page, "- date: {}", said_by("date", &["-u", "+%Y-%m-%d"]))?;
    writeln!(page, "- commit: {}", commit())?;
    writeln!(page, "- CPU: {}, {} threads", cpu_model(), std::thread::available_parallelism().map_or(1, usize::from))?;
    writeln!(
        page,
        "- tests: {} passed, {} failed, {} ignored, in {} test programs\n",
        counts.passed, counts.failed, counts.ignored, counts.programs
    )?;
    page.push_str("| step | seconds |\n|---|---:|\n");
    for step in steps.done() {
        writeln!(page, "| {} | {:.1} |", step.name, step.seconds)?;
    }
    page.push_str("\n```\n");
    for line in steps.done().iter().flat_map(|step| &step.results) {
        writeln!(page, "{line}")?;
    }
    page.push_str("```\n");
    let path = workspace::root().join("docs/long-tests.md");
    std::fs::create_dir_all(workspace::root().join("docs"))?;
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}

/// The commit at hand, and whether the files are still those of it.
fn commit() -> String {
    let commit = said_by("git", &["rev-parse", "--short=12", "HEAD"]);
    // The record itself is about to change.
    let changed = said_by("git", &["status", "--porcelain", "--untracked-files=no", "--", ":!docs/long-tests.md"]);
    if changed.is_empty() { commit } else { format!("{commit}, with changes") }
}

fn cpu_model() -> String {
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = told.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
    model.map_or_else(|| std::env::consts::ARCH.to_string(), |(_, model)| model.trim().to_string())
}

/// What a program prints; nothing if it cannot be run.
fn said_by(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(workspace::root()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string()).unwrap_or_default()
}
