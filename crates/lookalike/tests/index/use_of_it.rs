//! How an index is used.

use lookalike::{Content, ErrorKind, Index, IndexOptions, Measure, Query, Settings, Shingles, Snapshot};

fn text(content: &str) -> Content<'_> {
    Content::Text(content)
}

fn ids(snapshot: &Snapshot, content: &str, query: &Query) -> Vec<String> {
    snapshot.query(text(content), query).unwrap().matches.into_iter().map(|found| found.id).collect()
}

#[test]
fn a_snapshot_does_not_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let mut index = Index::create(&path, &Settings::new(0.8).plan().unwrap()).unwrap();
    index.insert("a", text("one two three four five six seven"), None).unwrap();
    assert!(index.snapshot().is_empty(), "not committed yet");
    index.commit().unwrap();
    let (before, from_disk) = (index.snapshot(), Snapshot::open(&path).unwrap());
    index.insert("b", text("one two three four five six seven"), None).unwrap();
    index.remove("a").unwrap();
    index.commit().unwrap();
    index.compact().unwrap();
    for snapshot in [before, from_disk] {
        assert_eq!(ids(&snapshot, "one two three four five six seven", &Query::default()), ["a"]);
    }
    assert_eq!(ids(&index.snapshot(), "one two three four five six seven", &Query::default()), ["b"]);
    assert_eq!(ids(&Snapshot::open(&path).unwrap(), "one two three four five six seven", &Query::default()), ["b"]);
}

#[test]
fn there_is_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let index = Index::create(&path, &Settings::new(0.8).plan().unwrap()).unwrap();
    assert_eq!(Index::open(&path).unwrap_err().kind(), ErrorKind::Locked);
    assert!(Snapshot::open(&path).is_ok());
    drop(index);
    assert!(Index::open(&path).is_ok());
}

#[test]
fn nearest_spellings() {
    let folder = tempfile::tempdir().unwrap();
    let plan = Settings::new(0.5).exact(true).shingles(Shingles::chars(2)).plan().unwrap();
    let mut index = Index::create(&folder.path().join("words"), &plan).unwrap();
    for word in ["stick", "stitch", "shtick", "thick", "tick", "shock", "elephant", "sticky"] {
        index.insert(word, text(word), None).unwrap();
    }
    index.commit().unwrap();
    let query = Query { limit: Some(3), ..Query::default() };
    let answer = index.snapshot().query(text("shtick"), &query).unwrap();
    let found: Vec<(&str, f64)> = answer.matches.iter().map(|found| (found.id.as_str(), found.similarity)).collect();
    assert_eq!(found, [("shtick", 1.0), ("tick", 0.6), ("stick", 0.5)]);
    assert_eq!(answer.promise, Some(1.0));
    let contained = Query { threshold: Some(0.99), measure: Some(Measure::Containment), ..Query::default() };
    assert_eq!(ids(&index.snapshot(), "tick", &contained), ["stick", "shtick", "tick", "sticky"]);
}

#[test]
fn a_threshold_below_that_of_the_index_promises_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Index::create(&folder.path().join("index"), &Settings::new(0.8).plan().unwrap()).unwrap();
    index.insert("a", text("a b c d e f g h i j k l"), None).unwrap();
    index.commit().unwrap();
    let answer = |query: Query| index.snapshot().query(text("a b c d e f g h i j k l"), &query);
    let at = |threshold: f64| answer(Query { threshold: Some(threshold), ..Query::default() });
    assert!(at(0.8).unwrap().promise.unwrap() >= 0.99 && at(0.95).unwrap().promise.unwrap() >= 0.99);
    assert_eq!(at(0.5).unwrap().promise, None);
    assert_eq!(at(0.5).unwrap().matches.len(), 1);
    assert_eq!(at(1.5).unwrap_err().kind(), ErrorKind::Setting);
    let contained = Query { measure: Some(Measure::Containment), ..Query::default() };
    assert!(answer(contained).unwrap_err().to_string().contains("--exact"));
}

#[test]
fn under_a_hot_key_the_newest_are_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Index::create(&folder.path().join("index"), &Settings::new(0.8).plan().unwrap()).unwrap();
    for at in 0..2_100 {
        index.insert(&at.to_string(), text("the same text again and again and again"), None).unwrap();
        if at % 300 == 0 {
            index.commit().unwrap();
        }
    }
    index.commit().unwrap();
    for _ in 0..2 {
        let snapshot = index.snapshot();
        let answer = snapshot.query(text("the same text again and again and again"), &Query::default()).unwrap();
        assert_eq!((answer.matches.len(), answer.bounded), (2_000, 16));
        assert_eq!(answer.matches[0].id, "100", "the oldest of the newest");
        index.compact().unwrap();
    }
}

#[test]
fn a_sketch_can_be_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let plan = Settings::new(0.8).plan().unwrap();
    let mut index = Index::create(&folder.path().join("index"), &plan).unwrap();
    index.insert("a", text("one two three four five six seven eight"), None).unwrap();
    index.insert("b", text("something else entirely, as everybody can see at once"), None).unwrap();
    index.commit().unwrap();
    let snapshot = index.snapshot();
    let sketch = plan.sketch_text("One two three four five six seven eight.").unwrap();
    let found = snapshot.query_sketch(&sketch, &Query::default()).unwrap().matches;
    assert_eq!((found.len(), found[0].id.as_str(), found[0].similarity), (1, "a", 1.0));
    assert!(snapshot.query_sketch(&plan.sketch_text("").unwrap(), &Query::default()).unwrap().matches.is_empty());
    let other = Settings::new(0.8).seed(2).plan().unwrap().sketch_text("one two three four five six").unwrap();
    let error = snapshot.query_sketch(&other, &Query::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setting, "{error}");
    let exact = Settings::new(0.8).exact(true).plan().unwrap();
    let index = Index::create(&folder.path().join("exact"), &exact).unwrap();
    assert!(index.snapshot().query_sketch(&sketch, &Query::default()).is_err(), "it has no sketches");
}

#[test]
fn a_merge_that_fails_loses_nothing_and_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let mut index = Index::create(&path, &Settings::new(0.8).plan().unwrap()).unwrap();
    index.limit_log(20_000);
    // Where segments would be written, something stands in the way.
    let in_the_way: Vec<_> = (0..200).map(|number| path.join(format!("segment-{number:06}.part"))).collect();
    in_the_way.iter().for_each(|path| std::fs::create_dir(path).unwrap());
    let content = |at: usize| format!("a text number {at} that is long enough to be told from number {}", at * 7);
    let insert = |index: &mut Index, at: usize| {
        index.insert(&at.to_string(), text(&content(at)), None).unwrap();
        index.commit().unwrap();
    };
    (0..60).for_each(|at| insert(&mut index, at));
    index.settle();
    let trouble = index.take_trouble().expect("it is told").to_string();
    assert!(trouble.contains("segment-"), "{trouble}");
    assert!(index.take_trouble().is_none(), "once");
    assert_eq!(index.snapshot().check().unwrap(), 60);
    assert_eq!(Snapshot::open(&path).unwrap().check().unwrap(), 60);
    assert!(index.compact().is_err());
    in_the_way.iter().for_each(|path| std::fs::remove_dir(path).unwrap());
    (60..100).for_each(|at| insert(&mut index, at));
    index.settle();
    assert!(index.take_trouble().is_none());
    assert!(index.snapshot().info().log_bytes < 40_000, "{:?}", index.snapshot().info());
    assert_eq!(index.snapshot().check().unwrap(), 100);
    drop(index);
    assert_eq!(Index::open(&path).unwrap().snapshot().check().unwrap(), 100);
}

#[test]
fn every_change_is_another_state() {
    let folder = tempfile::tempdir().unwrap();
    let plan = Settings::new(0.8).plan().unwrap();
    let mut states = Vec::new();
    for name in ["index", "another"] {
        let path = folder.path().join(name);
        let mut index = Index::create(&path, &plan).unwrap();
        let mut see = |index: &Index| {
            let state = index.snapshot().state();
            assert_eq!(Snapshot::open(&path).unwrap().state(), state);
            states.push(state);
        };
        see(&index);
        for id in ["a", "b", "c"] {
            index.insert(id, text("one text that all of them have"), None).unwrap();
        }
        index.commit().unwrap();
        see(&index);
        assert!(index.remove("a").unwrap());
        index.commit().unwrap();
        see(&index);
        index.compact().unwrap();
        see(&index);
        assert!(index.remove("b").unwrap());
        index.commit().unwrap();
        see(&index);
    }
    let all = states.len();
    states.sort_unstable();
    states.dedup();
    assert_eq!(states.len(), all);
}

#[test]
fn texts_times_and_what_is_old() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let plan = Settings::new(0.8).plan().unwrap();
    let mut index = Index::create_with(&path, &plan, &IndexOptions { store_text: true }).unwrap();
    for at in 0..10u64 {
        index
            .insert(&at.to_string(), text(&format!("text number {at} of many more to come")), Some(at * 1000))
            .unwrap();
    }
    let last = index.commit().unwrap();
    let item = index.snapshot().get("7").unwrap().unwrap();
    assert_eq!(item.text.as_deref(), Some("text number 7 of many more to come"));
    assert_eq!((item.time, item.sequence, item.shingles, last), (7_000, 8, 4, 10));
    assert_eq!(index.remove_older_than(4_000).unwrap(), 4);
    index.commit().unwrap();
    drop(index);
    let mut index = Index::open(&path).unwrap();
    assert_eq!(index.snapshot().get("3").unwrap(), None);
    assert_eq!(index.snapshot().len(), 6);
    index.compact().unwrap();
    let info = index.snapshot().info();
    assert_eq!((info.items, info.deleted, info.segments, info.stores_text), (6, 0, 1, true));
    index.insert("new", text("the sequence goes on where it was"), None).unwrap();
    assert!(index.commit().unwrap() > last);
}

#[test]
fn empty_texts_are_kept_and_never_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Index::create(&folder.path().join("index"), &Settings::new(0.8).plan().unwrap()).unwrap();
    index.insert("empty", text(" ,.! "), None).unwrap();
    index.insert("", text("an item whose id is empty is an item too"), None).unwrap();
    index.commit().unwrap();
    assert!(ids(&index.snapshot(), "", &Query::default()).is_empty());
    assert_eq!(index.snapshot().get("empty").unwrap().unwrap().shingles, 0);
    assert!(index.snapshot().get("").unwrap().is_some());
    index.compact().unwrap();
    assert_eq!(index.snapshot().check().unwrap(), 2);
}

#[test]
fn a_large_commit_goes_past_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let mut index = Index::create(&path, &Settings::new(0.8).plan().unwrap()).unwrap();
    let long = |at: u64| -> String { (0..100_000u64).map(|word| format!("{} ", word * (at + 1) % 99_991)).collect() };
    for at in 0..60 {
        index.insert(&(at % 50).to_string(), text(&long(at)), None).unwrap();
    }
    index.remove("3").unwrap();
    index.commit().unwrap();
    assert_eq!(index.snapshot().info().log_bytes, 0);
    assert_eq!(index.snapshot().len(), 49);
    assert_eq!(Snapshot::open(&path).unwrap().check().unwrap(), 49);
    assert_eq!(ids(&index.snapshot(), &long(55), &Query::default()), ["5"]);
}
