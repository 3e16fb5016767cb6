//! What is measured: a file in `benchmarks/definitions`.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::corpus::Kind;

/// One benchmark.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Its name, and that of its record.
    pub name: String,
    /// What the corpus is like.
    pub kind: Kind,
    /// Records of the corpus.
    pub records: u64,
    /// Where the corpus's randomness starts.
    pub seed: u64,
    /// How alike two records must be.
    pub threshold: f64,
    /// The numbers of threads to measure with.
    pub threads: Vec<usize>,
    /// How often each program is run; the best counts.
    pub runs: usize,
    /// Whether the exact answer is computed too, to measure recall and precision.
    pub exact: bool,
    /// The commands of `lookalike` that are measured.
    #[serde(default = "dedup_and_pairs")]
    pub programs: Vec<String>,
    /// What `--memory` says, if anything.
    #[serde(default)]
    pub memory: Option<String>,
    /// An ordinary corpus of so many records is measured too, to compare with.
    #[serde(default)]
    pub beside: Option<u64>,
    /// Whether the corpus is measured compressed too.
    #[serde(default)]
    pub packed: bool,
    /// The folders of `benchmarks/engines` that are measured on the same file, with the most of the threads.
    #[serde(default)]
    pub engines: Vec<String>,
    /// How often each engine is run, if not as often as the programs. One that takes over a minute is run once.
    #[serde(default)]
    pub engine_runs: Option<usize>,
    /// An index of the corpus is measured, instead of the commands.
    #[serde(default)]
    pub index: Option<IndexMeasures>,
}

/// What is measured of an index.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexMeasures {
    /// Texts that are asked about: half are new copies of records, half unseen.
    pub queries: usize,
    /// Commits of one item each.
    pub single_commits: usize,
    /// Items that are inserted after them, with a commit after each `commit_every` of them.
    pub inserts: usize,
    /// Items of such a commit.
    pub commit_every: usize,
    /// Connections that ask the service at the same time.
    pub connections: usize,
    /// For how long they ask.
    pub service_seconds: u64,
    /// The first records of the corpus that the engines index in their memory.
    pub engine_records: u64,
    /// The first records of the corpus that the engines index in Redis.
    pub redis_records: u64,
}

fn dedup_and_pairs() -> Vec<String> {
    ["dedup", "pairs"].map(String::from).to_vec()
}

impl Definition {
    /// The ordinary corpus to compare with, measured in the same way.
    pub fn ordinary(&self) -> Option<Self> {
        self.beside.map(|records| Self { kind: Kind::Natural, records, ..self.clone() })
    }

    /// Reads a definition.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is no definition", path.display()))
    }

    /// The most threads that are measured with.
    pub fn most_threads(&self) -> usize {
        self.threads.iter().max().copied().unwrap_or(1)
    }

    /// The name of the corpus's file: definitions that share a corpus share the file.
    pub fn corpus_file(&self) -> String {
        format!("{}-{}-seed{}.jsonl", self.kind, self.records, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_can_be_read_and_is_named_like_its_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("definitions");
        let mut count = 0;
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            let definition = Definition::read(&path).unwrap();
            assert_eq!(path.file_stem().unwrap().to_str(), Some(definition.name.as_str()));
            count += 1;
        }
        assert!(count >= 2);
    }

    #[test]
    fn every_engine_that_is_named_has_its_files() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for entry in root.join("definitions").read_dir().unwrap() {
            for engine in Definition::read(&entry.unwrap().path()).unwrap().engines {
                for file in ["requirements.txt", "run.py"] {
                    let path = root.join("engines").join(&engine).join(file);
                    assert!(path.is_file(), "{} is missing", path.display());
                }
            }
        }
    }
}
