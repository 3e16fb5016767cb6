//! The cases of `testdata/`, through the program.

use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use crate::folder::Folder;

/// So much recall that a miss is practically impossible.
const CERTAIN: &str = "--recall 0.99999";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    settings: Table,
    within: Option<String>,
    #[serde(default)]
    old: Vec<Table>,
    records: Vec<Table>,
    kept: Vec<String>,
    pairs: Vec<(String, String, String)>,
    groups: Vec<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

impl Case {
    /// The settings as they are typed.
    fn flags(&self) -> String {
        let mut flags = String::new();
        for (name, value) in &self.settings {
            match value {
                Value::Boolean(true) => flags += &format!(" --{name}"),
                Value::String(text) => flags += &format!(" --{name} {text}"),
                other => flags += &format!(" --{name} {other}"),
            }
        }
        if let Some(field) = &self.within {
            flags += &format!(" --within {field}");
        }
        if !self.old.is_empty() {
            flags += " --against old.jsonl";
        }
        flags
    }

    fn expected_pairs(&self) -> String {
        let line = |(left, right, fraction): &(String, String, String)| {
            let (shared, all) = fraction.split_once('/').expect("a similarity is a fraction");
            let similarity = shared.parse::<f64>().unwrap() / all.parse::<f64>().unwrap();
            format!("{left}\t{right}\t{similarity:.6}\n")
        };
        self.pairs.iter().map(line).collect()
    }

    fn check(&self, how: &str) {
        let folder = Folder::with("new.jsonl", jsonl(&self.records));
        folder.write("old.jsonl", jsonl(&self.old));
        let flags = format!("new.jsonl{} {how}", self.flags());
        let said = |command: &str| folder.done(&format!("{command} {flags}")).text().to_owned();
        assert_eq!(said("pairs"), self.expected_pairs(), "pairs of: {} ({flags})", self.name);
        let groups: String = self.groups.iter().map(|ids| ids.join("\t") + "\n").collect();
        assert_eq!(said("groups"), groups, "groups of: {} ({flags})", self.name);
        let is_kept = |record: &&Table| self.kept.iter().any(|id| record["id"].as_str() == Some(id));
        let kept: Vec<Table> = self.records.iter().filter(is_kept).cloned().collect();
        assert_eq!(kept.len(), self.kept.len(), "an id of kept is no record: {}", self.name);
        assert_eq!(said("dedup"), jsonl(&kept), "kept of: {} ({flags})", self.name);
    }
}

fn jsonl(records: &[Table]) -> String {
    records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect()
}

#[test]
fn every_case_with_and_without_sketches() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let mut cases = 0;
    for entry in folder.read_dir().expect("the cases are there") {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            for case in &file.case {
                case.check("--exact");
                if !case.settings.contains_key("measure") {
                    case.check(CERTAIN);
                }
                cases += 1;
            }
        }
    }
    assert!(cases >= 40, "only {cases} cases were found");
}
