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
    let mut documentation = cargo(&["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]);
    steps.run("documentation", documentation.env("RUSTDOCFLAGS", "-D warnings"))?;
    if is_installed("cargo-deny") {
        steps.run("dependencies (cargo-deny)", &mut cargo(&["deny", "check"]))?;
    } else {
        steps.leave_out("dependencies (cargo-deny)", "cargo-deny is not installed");
    }
    Ok(())
}

/// Whether a program can be started.
pub(crate) fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
