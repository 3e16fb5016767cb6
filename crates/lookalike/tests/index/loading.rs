//! Items in bulk: the same answers as item by item.

use std::borrow::Cow;
use std::path::Path;

use lookalike::index::Loaded;
use lookalike::{Batch, Content, Index, Query, RecordNumber, Settings, Shingles};

use crate::random::Random;

fn texts(count: usize, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut texts: Vec<String> = Vec::new();
    for at in 0..count {
        if at % 4 == 3 {
            texts.push(format!("{} {}", texts[at - 1], random.below(3)));
        } else {
            texts.push((0..20).map(|_| format!("w{} ", random.below(200))).collect());
        }
    }
    texts
}

/// Loads texts in batches, by three loaders in turn.
fn load(index: &mut Index, texts: &[String]) -> Vec<Loaded> {
    let loader = index.loader(4_000);
    let mut loaders = vec![loader.clone(), loader.clone(), loader];
    for (order, chunk) in texts.chunks(7).enumerate() {
        let mut batch = Batch::new();
        for (at, text) in chunk.iter().enumerate() {
            batch.push_text(RecordNumber::new(order as u64, at as u64), text);
        }
        loaders[order * 5 % 3].push(order as u64, &batch).unwrap();
    }
    loaders.into_iter().flat_map(|loader| loader.finish().unwrap()).collect()
}

fn answers(index: &Index, texts: &[String]) -> Vec<Vec<(String, f64)>> {
    let snapshot = index.snapshot();
    let found = |text: &String| snapshot.query(Content::Text(text), &Query::default()).unwrap().matches;
    texts.iter().map(|text| found(text).into_iter().map(|found| (found.id, found.similarity)).collect()).collect()
}

fn create(path: &Path) -> Index {
    Index::create(path, &Settings::new(0.6).shingles(Shingles::words(2)).plan().unwrap()).unwrap()
}

#[test]
fn a_load_answers_as_item_by_item() {
    let folder = tempfile::tempdir().unwrap();
    let texts = texts(500, 1);
    let mut single = create(&folder.path().join("single"));
    for (at, text) in texts.iter().enumerate() {
        single.insert(&at.to_string(), Content::Text(text), Some(5)).unwrap();
        if at % 10 == 0 {
            single.commit().unwrap();
        }
    }
    single.commit().unwrap();
    let mut bulk = create(&folder.path().join("bulk"));
    let loaded = load(&mut bulk, &texts);
    assert!(loaded.len() > 3, "several segments");
    assert_eq!(bulk.adopt_loaded(loaded, |at| Cow::Owned(at.to_string()), 5).unwrap(), 0);
    let expected = answers(&single, &texts);
    assert!(expected.iter().filter(|found| found.len() > 1).count() > 100);
    assert_eq!(answers(&bulk, &texts), expected);
    let item = bulk.snapshot().get("77").unwrap().unwrap();
    assert_eq!(Some(&item), single.snapshot().get("77").unwrap().as_ref(), "the same sequence too");
    bulk.compact().unwrap();
    assert_eq!(bulk.snapshot().info().segments, 1);
    assert_eq!(answers(&bulk, &texts), expected);
    drop(bulk);
    let bulk = Index::open(&folder.path().join("bulk")).unwrap();
    assert_eq!(answers(&bulk, &texts), expected);
    assert_eq!(bulk.snapshot().check().unwrap(), 500);
}

#[test]
fn a_load_replaces_what_has_the_same_id_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let mut index = create(&path);
    let old = texts(60, 2);
    let loaded = load(&mut index, &old[..30]);
    index.adopt_loaded(loaded, |at| Cow::Owned(at.to_string()), 1).unwrap();
    for (at, text) in old.iter().enumerate().skip(30) {
        index.insert(&at.to_string(), Content::Text(text), None).unwrap();
    }
    index.commit().unwrap();
    let new = texts(50, 3);
    let loaded = load(&mut index, &new);
    assert_eq!(index.adopt_loaded(loaded, |at| Cow::Owned((at + 20).to_string()), 2).unwrap(), 40);
    for index in [&index.snapshot(), &lookalike::Snapshot::open(&path).unwrap()] {
        assert_eq!(index.check().unwrap(), 70);
        assert_eq!(index.get("45").unwrap().unwrap().time, 2);
        assert_eq!(index.get("5").unwrap().unwrap().time, 1);
    }
}

#[test]
fn an_addition_can_be_looked_away_from() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let mut index = create(&path);
    let texts = texts(120, 5);
    let mut add = |name: &str, range: std::ops::Range<usize>| {
        let loaded = load(&mut index, &texts[range.clone()]);
        index.adopt_addition(name, loaded, |at| Cow::Owned((range.start + at).to_string()), 1).unwrap();
        index.insert(&format!("beside {name}"), Content::Text("one more"), None).unwrap();
        index.commit().unwrap();
    };
    add("a", 0..40);
    add("b", 40..80);
    // The same again, with other sequences.
    add("a", 0..40);
    add("c", 80..120);
    // And once more, under other ids: the earlier ones go.
    let loaded = load(&mut index, &texts[..40]);
    index.adopt_addition("a", loaded, |at| Cow::Owned(format!("again {at}")), 2).unwrap();
    assert_eq!(index.snapshot().len(), 123);
    assert!(index.snapshot().get("7").unwrap().is_none());
    let loaded = load(&mut index, &texts[..40]);
    index.adopt_addition("a", loaded, |at| Cow::Owned(at.to_string()), 3).unwrap();
    index.compact().unwrap();
    for snapshot in [index.snapshot(), lookalike::Snapshot::open(&path).unwrap()] {
        assert_eq!(snapshot.check().unwrap(), 123);
        assert!(snapshot.without_addition("d").unwrap().is_none());
        for (name, range) in [("a", 0..40), ("b", 40..80), ("c", 80..120)] {
            let without = snapshot.without_addition(name).unwrap().unwrap();
            assert_eq!(without.check().unwrap(), 83);
            assert_ne!(without.state(), snapshot.state(), "runs are not gone on with after another answer");
            for at in 0..120 {
                let is_there = without.get(&at.to_string()).unwrap().is_some();
                assert_eq!(is_there, !range.contains(&at), "{at} without {name}");
            }
        }
        assert_eq!(snapshot.len(), 123);
    }
}

#[test]
fn the_same_id_twice_in_a_load_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = create(&folder.path().join("index"));
    let loaded = load(&mut index, &texts(100, 4));
    let error = index.adopt_loaded(loaded, |at| Cow::Owned((at % 99).to_string()), 1).unwrap_err().to_string();
    assert!(error.contains("\"0\" occurs twice"), "{error}");
    assert!(index.snapshot().is_empty());
    let files = || std::fs::read_dir(folder.path().join("index")).unwrap().count();
    assert_eq!(files(), 3, "lock, manifest and log");
    drop(index);
    let index = Index::open(&folder.path().join("index")).unwrap();
    assert!(index.snapshot().is_empty());
    assert_eq!(files(), 3);
}
