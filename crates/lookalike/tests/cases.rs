//! The cases of `testdata/`, through the library.

use std::path::Path;

use lookalike::{Batch, Content, Index, KeepValue, Measure, Outcome, Plan, Query, RecordNumber, Settings, Sketched};
use lookalike::{Unwatched, hash_item};
use serde::Deserialize;
use toml::{Table, Value};

/// So much recall that a miss is practically impossible.
const CERTAIN: f64 = 0.99999;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    settings: Settings,
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
    fn sketch(&self, plan: &Plan, input: u64, records: &[Table]) -> Sketched {
        let mut batch = Batch::new();
        for (position, record) in records.iter().enumerate() {
            let number = RecordNumber::new(input, position as u64);
            match &record["text"] {
                Value::String(text) => batch.push_text(number, text),
                Value::Array(items) => batch.push_set(number, items.iter().map(|item| hash_item(item_bytes(item)))),
                other => panic!("{other} is neither a text nor a set"),
            }
            if let Some(field) = self.settings.keep.field() {
                batch.push_keep(match record.get(field) {
                    None => KeepValue::Missing,
                    Some(Value::String(text)) => KeepValue::Text(text.as_str().into()),
                    Some(Value::Integer(number)) => KeepValue::Number(*number as f64),
                    Some(Value::Float(number)) => KeepValue::Number(*number),
                    Some(other) => panic!("{other} cannot be ordered"),
                });
            }
            if let Some(field) = &self.within {
                batch.push_within(record[field].to_string().as_bytes());
            }
        }
        plan.sketcher().sketch(&batch)
    }

    fn check(&self, settings: Settings) {
        let context = format!("{} ({settings:?})", self.name);
        let plan = settings.plan().unwrap_or_else(|error| panic!("{context}: {error}"));
        let (old, new) = (self.sketch(&plan, 0, &self.old), self.sketch(&plan, 1, &self.records));
        let found: Outcome = plan.finish(vec![old], vec![new], &Unwatched).unwrap();
        let ids: Vec<&str> =
            self.old.iter().chain(&self.records).map(|record| record["id"].as_str().unwrap()).collect();
        let pairs: Vec<_> = found.pairs().map(|pair| (ids[pair.left], ids[pair.right], pair.similarity)).collect();
        let expected: Vec<_> = self.pairs.iter().map(|(left, right, how)| (&**left, &**right, fraction(how))).collect();
        assert_eq!(pairs, expected, "pairs of: {context}");
        let groups: Vec<Vec<&str>> = found
            .groups()
            .iter()
            .map(|group| {
                let members = group.members.iter().map(|(member, _)| *member);
                std::iter::once(group.keeper).chain(members).map(|record| ids[record]).collect()
            })
            .collect();
        assert_eq!(groups, self.groups, "groups of: {context}");
        assert_eq!(found.kept().map(|record| ids[record]).collect::<Vec<_>>(), self.kept, "kept of: {context}");
    }
}

impl Case {
    /// The pairs, asked for one record at a time of an index that holds the others.
    fn check_index(&self, settings: Settings) {
        let context = format!("{} ({settings:?})", self.name);
        let plan = settings.plan().unwrap_or_else(|error| panic!("{context}: {error}"));
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::create(&folder.path().join("index"), &plan).unwrap();
        let id = |record: &Table| record["id"].as_str().unwrap().to_owned();
        let mut found = Vec::new();
        for (at, record) in self.old.iter().chain(&self.records).enumerate() {
            let items: Vec<u64>;
            let content = match &record["text"] {
                Value::String(text) => Content::Text(text),
                Value::Array(list) => {
                    items = list.iter().map(|item| hash_item(item_bytes(item))).collect();
                    Content::Set(&items)
                }
                other => panic!("{other} is neither a text nor a set"),
            };
            if at >= self.old.len() {
                let matches = index.snapshot().query(content, &Query::default()).unwrap().matches;
                found.extend(matches.into_iter().map(|item| (item.id, id(record), item.similarity)));
            }
            index.insert(&id(record), content, None).unwrap();
            index.commit().unwrap();
        }
        let expected = self.pairs.iter().map(|(left, right, how)| (left.clone(), right.clone(), fraction(how)));
        let mut expected: Vec<_> = expected.collect();
        let order = |left: &(String, String, f64), right: &(String, String, f64)| left.partial_cmp(right).unwrap();
        found.sort_by(order);
        expected.sort_by(order);
        assert_eq!(found, expected, "pairs of an index: {context}");
    }
}

fn item_bytes(item: &Value) -> &[u8] {
    item.as_str().expect("an item is a text").as_bytes()
}

fn fraction(text: &str) -> f64 {
    let (shared, all) = text.split_once('/').expect("a similarity is a fraction");
    shared.parse::<f64>().unwrap() / all.parse::<f64>().unwrap()
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
                case.check(case.settings.clone().exact(true));
                if case.settings.measure == Measure::Jaccard {
                    case.check(case.settings.clone().recall(CERTAIN));
                }
                // An index knows no fields.
                if case.settings.measure == Measure::Jaccard && case.within.is_none() {
                    case.check_index(case.settings.clone().exact(true));
                    case.check_index(case.settings.clone().recall(CERTAIN));
                }
                cases += 1;
            }
        }
    }
    assert!(cases >= 40, "only {cases} cases were found");
}
