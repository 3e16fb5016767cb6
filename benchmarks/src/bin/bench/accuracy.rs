//! Recall and precision of what was found against `lookalike pairs --exact` on the same file.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use benchmarks::definition::Definition;

use crate::program;

/// What was found of what there is.
#[derive(Debug)]
pub(crate) struct Accuracy {
    pub(crate) exact: usize,
    pub(crate) found: usize,
    /// What was found and is in the exact answer; `lookalike` must tell the same similarity too.
    pub(crate) right: usize,
    /// What was counted.
    pub(crate) of: Of,
}

/// What recall and precision are shares of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// Pairs of records that are alike.
    Pairs,
    /// Records that are alike to some other, where an engine tells no more than that.
    Records,
}

impl Accuracy {
    pub(crate) fn recall(&self) -> f64 {
        if self.exact == 0 { 1.0 } else { self.right as f64 / self.exact as f64 }
    }

    pub(crate) fn precision(&self) -> f64 {
        if self.found == 0 { 1.0 } else { self.right as f64 / self.found as f64 }
    }
}

/// Pairs of ids, the lesser first, with the similarity as printed.
pub(crate) type Pairs = HashMap<(String, String), String>;

/// The pairs that there are.
#[derive(Debug)]
pub(crate) struct Truth {
    exact: Pairs,
}

impl Truth {
    /// Asks `lookalike pairs --exact`.
    pub(crate) fn compute(definition: &Definition, corpus: &Path) -> Result<Self> {
        Ok(Self { exact: pairs(definition, &[corpus], &["--exact"])? })
    }

    /// How much of it `lookalike pairs` finds.
    pub(crate) fn of_lookalike(&self, definition: &Definition, corpus: &Path) -> Result<Accuracy> {
        let found = pairs(definition, &[corpus], &[])?;
        let right = found.iter().filter(|(pair, similarity)| self.exact.get(*pair) == Some(similarity)).count();
        Ok(Accuracy { exact: self.exact.len(), found: found.len(), right, of: Of::Pairs })
    }

    /// How much of it an engine found: a file with two ids a line, or with one where it only tells records apart.
    pub(crate) fn of_file(&self, found: &Path) -> Result<Accuracy> {
        let text = std::fs::read_to_string(found).with_context(|| format!("cannot read {}", found.display()))?;
        let lines: HashSet<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        if lines.iter().all(|line| line.len() == 1) && !lines.is_empty() {
            return Ok(self.of_records(&lines.into_iter().flatten().collect()));
        }
        let mut pairs = HashSet::new();
        for line in lines {
            let [left, right] = line[..] else { bail!("{line:?} in {} is no pair", found.display()) };
            pairs.insert(ordered(left, right));
        }
        let right = pairs.iter().filter(|pair| self.exact.contains_key(*pair)).count();
        Ok(Accuracy { exact: self.exact.len(), found: pairs.len(), right, of: Of::Pairs })
    }

    fn of_records(&self, found: &HashSet<&str>) -> Accuracy {
        let exact: HashSet<&str> = self.exact.keys().flat_map(|(left, right)| [left.as_str(), right]).collect();
        let right = found.intersection(&exact).count();
        Accuracy { exact: exact.len(), found: found.len(), right, of: Of::Records }
    }
}

/// The pairs in these files that the program prints.
pub(crate) fn pairs(definition: &Definition, files: &[&Path], flags: &[&str]) -> Result<Pairs> {
    let (threshold, threads) = (definition.threshold.to_string(), definition.most_threads().to_string());
    let mut command = Command::new(program("lookalike")?);
    command.arg("pairs").args(files).args(["-t", &threshold, "-j", &threads, "-q"]);
    let output = command.args(flags).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{command:?} ended with {}", output.status);
    let text = String::from_utf8(output.stdout).context("pairs are not UTF-8")?;
    let mut pairs = HashMap::new();
    for line in text.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [left, right, similarity] = columns[..] else { bail!("{line:?} is no pair") };
        pairs.insert(ordered(left, right), similarity.to_string());
    }
    Ok(pairs)
}

fn ordered(left: &str, right: &str) -> (String, String) {
    if left <= right { (left.to_string(), right.to_string()) } else { (right.to_string(), left.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_pairs_and_found_records_are_told_apart() {
        let exact = [("a", "b"), ("a", "c"), ("d", "e")];
        let exact = exact.map(|(left, right)| (ordered(left, right), "0.9".to_string())).into_iter().collect();
        let truth = Truth { exact };
        let file = std::env::temp_dir().join(format!("lookalike-found-{}.tmp", std::process::id()));
        std::fs::write(&file, "b\ta\na\tb\nx\ty\n").unwrap();
        let pairs = truth.of_file(&file).unwrap();
        assert_eq!((pairs.exact, pairs.found, pairs.right, pairs.of), (3, 2, 1, Of::Pairs));
        std::fs::write(&file, "a\nb\nx\n").unwrap();
        let records = truth.of_file(&file).unwrap();
        assert_eq!((records.exact, records.found, records.right, records.of), (5, 3, 2, Of::Records));
        std::fs::remove_file(file).unwrap();
    }
}
