//! Random sequences of everything that can be done to an index: it answers as the model does.

use lookalike::verify::jaccard;
use lookalike::{Content, Index, Measure, Plan, Query, Settings, Shingles, Snapshot};

use crate::is_long;
use crate::model::Model;
use crate::random::Random;

const WORDS: [&str; 14] =
    ["ship", "sea", "sail", "wind", "rope", "gull", "tide", "mast", "crew", "port", "storm", "anchor", "map", "cove"];

/// A text, often one of those before with a small change.
fn draw_text(random: &mut Random, before: &mut Vec<String>) -> String {
    let mut words: Vec<&str> = match before.len() {
        1.. if random.below(3) > 0 => before[random.below(before.len())].split(' ').collect(),
        _ => (0..random.below(30)).map(|_| WORDS[random.below(WORDS.len())]).collect(),
    };
    for _ in 0..random.below(3) {
        if !words.is_empty() {
            let at = random.below(words.len());
            words[at] = WORDS[random.below(WORDS.len())];
        }
    }
    let text = words.join(" ");
    before.push(text.clone());
    text
}

fn draw_plan(random: &mut Random) -> Plan {
    let settings = match random.below(4) {
        0 => Settings::new(0.5).exact(true).shingles(Shingles::chars(2)),
        1 => Settings::new(0.6).measure(Measure::Containment).shingles(Shingles::words(2)),
        2 => Settings::new(0.5).shingles(Shingles::words(2)),
        _ => Settings::new(0.8).shingles(Shingles::words(3)),
    };
    settings.seed(random.word()).plan().unwrap()
}

fn found(snapshot: &Snapshot, text: &str, threshold: f64) -> Vec<(String, f64)> {
    let query = Query { threshold: Some(threshold), ..Query::default() };
    let answer = snapshot.query(Content::Text(text), &query).unwrap();
    answer.matches.into_iter().map(|found| (found.id, found.similarity)).collect()
}

fn check(snapshot: &Snapshot, model: &Model, random: &mut Random, before: &mut Vec<String>, what: &str) {
    assert_eq!(snapshot.len(), model.items.len() as u64, "{what}");
    for _ in 0..3 {
        let text = draw_text(random, before);
        let threshold = [0.3, 0.5, 0.6, 0.8, 0.9, 1.0][random.below(6)];
        let expected = model.query(Content::Text(&text), threshold);
        assert_eq!(found(snapshot, &text, threshold), expected, "{what}: {text:?} at {threshold}");
        let limit = 1 + random.below(3);
        let query = Query { limit: Some(limit), ..Query::default() };
        let nearest = snapshot.query(Content::Text(&text), &query).unwrap().matches;
        let expected = model.query(Content::Text(&text), f64::MIN_POSITIVE);
        let nearest: Vec<(String, f64)> = nearest.into_iter().map(|found| (found.id, found.similarity)).collect();
        assert_eq!(nearest, expected[..limit.min(expected.len())], "{what}: {text:?}, the {limit} nearest");
    }
}

#[test]
fn it_equals_a_model_in_memory() {
    let sequences = if is_long() { 1_000 } else { 60 };
    for seed in 0..sequences {
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let plan = draw_plan(&mut random);
        let mut index = Index::create(&path, &plan).unwrap();
        // Now and then the log is so small that everything becomes a segment, and segments are merged.
        let log_limit = [1 << 20, 20_000, 1_000][random.below(3)];
        index.limit_log(log_limit);
        let (mut model, mut committed) = (Model::new(&plan), Model::new(&plan));
        let mut texts = Vec::new();
        for step in 0..60 {
            let what = format!("sequence {seed}, step {step}");
            match random.below(20) {
                0..9 => {
                    let id = format!("item {}", random.below(40));
                    let text = draw_text(&mut random, &mut texts);
                    index.insert(&id, Content::Text(&text), None).unwrap();
                    model.insert(&id, &text);
                }
                9..12 => {
                    let id = format!("item {}", random.below(40));
                    assert_eq!(index.remove(&id).unwrap(), model.remove(&id), "{what}");
                }
                12..16 => {
                    index.commit().unwrap();
                    committed = model.clone();
                }
                16 => {
                    drop(index);
                    index = Index::open(&path).unwrap();
                    index.limit_log(log_limit);
                    model = committed.clone();
                }
                17 => index.compact().unwrap(),
                18 => {
                    index.rollback();
                    model = committed.clone();
                }
                // A reader of its own, from the disk.
                _ => check(&Snapshot::open(&path).unwrap(), &committed, &mut random, &mut texts, &what),
            }
            check(&index.snapshot(), &committed, &mut random, &mut texts, &what);
        }
        index.commit().unwrap();
        assert_eq!(index.snapshot().check().unwrap(), model.items.len() as u64);
    }
}

#[test]
fn an_exact_index_equals_brute_force() {
    let mut random = Random::new(5);
    let folder = tempfile::tempdir().unwrap();
    let plan = Settings::new(0.4).exact(true).shingles(Shingles::chars(3)).plan().unwrap();
    let mut index = Index::create(&folder.path().join("index"), &plan).unwrap();
    let set_of = |text: &str| {
        let mut set = Vec::new();
        plan.shingler().append_text(text, &mut set);
        set.sort_unstable();
        set.dedup();
        set
    };
    let mut texts = Vec::new();
    for at in 0..400 {
        let text = draw_text(&mut random, &mut texts);
        index.insert(&format!("{at}"), Content::Text(&text), None).unwrap();
    }
    index.commit().unwrap();
    let all = texts.clone();
    for _ in 0..100 {
        let text = draw_text(&mut random, &mut texts);
        let asked = set_of(&text);
        let alike = all.iter().map(|text| jaccard(&set_of(text), &asked)).filter(|similarity| *similarity >= 0.4);
        let mut expected: Vec<f64> = alike.collect();
        expected.sort_by(|left, right| right.total_cmp(left));
        let similarities: Vec<f64> =
            found(&index.snapshot(), &text, 0.4).into_iter().map(|(_, similarity)| similarity).collect();
        assert_eq!(similarities, expected, "{text:?}");
    }
}
