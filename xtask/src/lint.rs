//! `cargo xtask lint`: what a reviewer should not have to say.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::expect_no_arguments;
use crate::step::{Steps, cargo};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    expect_no_arguments(arguments)?;
    let mut steps = Steps::default();
    add_steps(&mut steps)?;
    steps.print_summary();
    Ok(())
}

/// Format, clippy, documentation, dependencies.
pub(crate) fn add_steps(steps: &mut Steps) -> Result<()> {
    steps.run("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    steps.run("clippy", &mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    // The program and the library share a name, and their pages a folder: in one run they would race for it.
    document(steps, "documentation, program", &["--package", "lookalike-cli"])?;
    document(steps, "documentation", &["--workspace", "--exclude", "lookalike-cli"])?;
    if is_installed("cargo-deny") {
        steps.run("dependencies (cargo-deny)", &mut cargo(&["deny", "check"]))?;
    } else {
        steps.leave_out("dependencies (cargo-deny)", "cargo-deny is not installed");
    }
    Ok(())
}

/// Documents these crates, private items too; a warning is an error.
fn document(steps: &mut Steps, name: &str, crates: &[&str]) -> Result<()> {
    let mut command = cargo(&["doc", "--no-deps", "--document-private-items", "--quiet"]);
    steps.run(name, command.args(crates).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Whether a program can be started.
pub(crate) fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
