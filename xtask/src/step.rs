//! Steps of a command: each is announced, run and timed, and all are listed at the end.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The steps that were run so far.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<Step>,
}

/// One step that ended well, or was left out.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) seconds: f64,
    /// The lines in which test programs sum up.
    pub(crate) results: Vec<String>,
    /// Why it was left out.
    left_out: Option<String>,
}

/// A cargo command in the root of the repository.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(workspace::root());
    command
}

impl Steps {
    /// Runs a command, whose failure ends everything.
    pub(crate) fn run(&mut self, name: &str, command: &mut Command) -> Result<()> {
        eprintln!("── {name}");
        let start = Instant::now();
        let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
        if !status.success() {
            bail!("{name} failed ({status}): {}", shown(command));
        }
        self.push(name, start, Vec::new());
        Ok(())
    }

    /// Waits for a command that was started before, whose failure ends everything.
    pub(crate) fn wait(&mut self, name: &str, child: &mut Child) -> Result<()> {
        eprintln!("── {name}");
        let start = Instant::now();
        let status = child.wait()?;
        if !status.success() {
            bail!("{name} failed ({status})");
        }
        self.push(name, start, Vec::new());
        Ok(())
    }

    /// Runs tests: their output is shown as it comes, and the lines in which they sum up are kept.
    pub(crate) fn run_tests(&mut self, name: &str, command: &mut Command) -> Result<()> {
        eprintln!("── {name}");
        let start = Instant::now();
        let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {command:?}"))?;
        let mut results = Vec::new();
        for line in BufReader::new(child.stdout.take().context("tests have no output")?).lines() {
            let line = line?;
            println!("{line}");
            // Rust's test programs end with "test result: …", pytest with "12 passed, 1 skipped in 3.45s".
            if line.starts_with("test result:") || line.contains(" passed") && line.contains(" in ") {
                results.push(line);
            }
        }
        let status = child.wait()?;
        if !status.success() {
            bail!("{name} failed ({status}): {}", shown(command));
        }
        self.push(name, start, results);
        Ok(())
    }

    /// Says that a step was left out, and why.
    pub(crate) fn leave_out(&mut self, name: &str, why: &str) {
        eprintln!("── {name}: left out, {why}");
        let left_out = Some(why.to_string());
        self.done.push(Step { name: name.into(), seconds: 0.0, results: Vec::new(), left_out });
    }

    fn push(&mut self, name: &str, start: Instant, results: Vec<String>) {
        let seconds = start.elapsed().as_secs_f64();
        self.done.push(Step { name: name.into(), seconds, results, left_out: None });
    }

    /// All steps, in order.
    pub(crate) fn done(&self) -> &[Step] {
        &self.done
    }

    /// Prints a line a step, and the sum of all tests as a test program would.
    pub(crate) fn print_summary(&self) {
        println!();
        for step in &self.done {
            match &step.left_out {
                Some(why) => println!("{:<32} left out: {why}", step.name),
                None => println!("{:<32} {:>7.1} s", step.name, step.seconds),
            }
        }
        let seconds: f64 = self.done.iter().map(|step| step.seconds).sum();
        println!("{:<32} {seconds:>7.1} s", "all");
        let counts = self.test_counts();
        if counts.passed + counts.failed > 0 {
            println!(
                "test result: ok. {} passed; {} failed; {} ignored; in {} test programs",
                counts.passed, counts.failed, counts.ignored, counts.programs
            );
        }
    }

    /// The sums of what the test programs counted.
    pub(crate) fn test_counts(&self) -> TestCounts {
        let mut counts = TestCounts::default();
        for line in self.done.iter().flat_map(|step| &step.results) {
            counts.add(line);
        }
        counts
    }
}

/// What test programs counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    pub(crate) programs: u64,
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
}

impl TestCounts {
    /// Adds a line such as `test result: ok. 12 passed; 0 failed; 1 ignored; …`, or `12 passed, 1 skipped in 0.50s`.
    fn add(&mut self, line: &str) {
        self.programs += 1;
        let words: Vec<&str> = line.split([' ', ',', ';', '.']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            let count = pair[0].parse().unwrap_or(0);
            match pair[1] {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" | "skipped" => self.ignored += count,
                _ => {}
            }
        }
    }
}

/// A command as one would type it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summing_lines_are_understood() {
        let mut counts = TestCounts::default();
        counts.add("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.02s");
        counts.add("test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s");
        counts.add("34 passed, 2 skipped in 3.45s");
        assert_eq!(counts, TestCounts { programs: 3, passed: 50, failed: 2, ignored: 3 });
    }
}
