//! Recall and precision of `lookalike pairs` against `lookalike pairs --exact` on the same file.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use benchmarks::definition::Definition;

use crate::program;

/// What was found of what there is.
#[derive(Debug)]
pub(crate) struct Accuracy {
    pub(crate) exact: usize,
    pub(crate) found: usize,
    /// Found pairs that are in the exact answer, with the same similarity.
    pub(crate) right: usize,
}

impl Accuracy {
    pub(crate) fn recall(&self) -> f64 {
        if self.exact == 0 { 1.0 } else { self.right as f64 / self.exact as f64 }
    }

    pub(crate) fn precision(&self) -> f64 {
        if self.found == 0 { 1.0 } else { self.right as f64 / self.found as f64 }
    }
}

pub(crate) fn measure(definition: &Definition, corpus: &Path) -> Result<Accuracy> {
    let threads = definition.threads.iter().max().copied().unwrap_or(1);
    let found = pairs(definition, corpus, threads, &[])?;
    let exact = pairs(definition, corpus, threads, &["--exact"])?;
    let right = found.iter().filter(|(pair, similarity)| exact.get(*pair) == Some(similarity)).count();
    Ok(Accuracy { exact: exact.len(), found: found.len(), right })
}

/// The pairs that the program prints, with their similarities as printed.
fn pairs(
    definition: &Definition,
    corpus: &Path,
    threads: usize,
    flags: &[&str],
) -> Result<HashMap<(String, String), String>> {
    let mut command = Command::new(program("lookalike")?);
    command.arg("pairs").arg(corpus).args(["-t", &definition.threshold.to_string(), "-j", &threads.to_string(), "-q"]);
    let output = command.args(flags).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{command:?} ended with {}", output.status);
    let text = String::from_utf8(output.stdout).context("pairs are not UTF-8")?;
    let mut pairs = HashMap::new();
    for line in text.lines() {
        let mut columns = line.split('\t');
        let (Some(left), Some(right), Some(similarity), None) =
            (columns.next(), columns.next(), columns.next(), columns.next())
        else {
            anyhow::bail!("{line:?} is no pair");
        };
        pairs.insert((left.to_string(), right.to_string()), similarity.to_string());
    }
    Ok(pairs)
}
