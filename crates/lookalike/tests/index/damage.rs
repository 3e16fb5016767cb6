//! A damaged index is an error that names the file, never a wrong answer and never a crash.

use std::path::Path;

use lookalike::{Bands, Batch, Content, Index, IndexOptions, Query, RecordNumber, Settings, Shingles, Snapshot};

use crate::is_long;

fn text(at: usize) -> String {
    (0..12).map(|word| format!("w{} ", (at / 3 * 7 + word * (1 + at % 3)) % 50)).collect()
}

/// An index with everything in it: two segments, deleted items in the first, a log with several frames.
fn build(path: &Path) {
    let settings = Settings::new(0.5).shingles(Shingles::words(2)).bands(Bands::Disjoint { bands: 10, rows: 2 });
    let mut index = Index::create_with(path, &settings.plan().unwrap(), &IndexOptions { store_text: true }).unwrap();
    for at in 0..30 {
        index.insert(&format!("id {at}"), Content::Text(&text(at)), Some(at as u64)).unwrap();
    }
    index.commit().unwrap();
    index.compact().unwrap();
    let (mut loader, mut batch) = (index.loader(1 << 20), Batch::new());
    for at in 20..40 {
        batch.push_text(RecordNumber::new(0, at), &text(at as usize));
    }
    loader.push(0, &batch).unwrap();
    index.adopt_loaded(loader.finish().unwrap(), |at| format!("id {}", at + 20).into(), 1).unwrap();
    for at in 30..60 {
        index.insert(&format!("id {at}"), Content::Text(&text(at)), Some(at as u64)).unwrap();
        if at % 7 == 0 {
            index.commit().unwrap();
        }
    }
    index.remove("id 3").unwrap();
    index.commit().unwrap();
}

/// For each item, what is like it.
type Answers = Vec<(String, Vec<(String, f64)>)>;

/// Everything that the index can be asked.
fn everything(path: &Path) -> lookalike::Result<Answers> {
    let snapshot = Snapshot::open(path)?;
    snapshot.check()?;
    let mut all = Vec::new();
    for item in snapshot.items() {
        let item = item?;
        let query = Query { with_text: true, ..Query::default() };
        let found = snapshot.query(Content::Text(item.text.as_deref().unwrap()), &query)?.matches;
        all.push((item.id, found.into_iter().map(|found| (found.id, found.similarity)).collect()));
    }
    all.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(all)
}

#[test]
fn a_flipped_byte_in_any_file_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    build(&path);
    let expected = everything(&path).unwrap();
    assert_eq!(expected.len(), 59);
    let files: Vec<_> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
    let of_kind = |kind: &str| files.iter().filter(|file| file.to_str().unwrap().contains(kind)).count();
    let kinds = ["segment-", "deleted-", "log-", "manifest"].map(of_kind);
    assert_eq!(kinds, [2, 1, 1, 1], "{files:?}");
    for file in files.iter().filter(|file| !file.ends_with("lock")) {
        let whole = std::fs::read(file).unwrap();
        let step = if is_long() { 1 } else { 13 };
        for at in (0..whole.len()).step_by(step) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at / step % 8);
            std::fs::write(file, &flipped).unwrap();
            let error = everything(&path).expect_err(&format!("{} with byte {at} flipped", file.display()));
            assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
        }
        // A file that was cut is damaged too; but the end of a log may be what was never finished.
        for share in [0, 30, 80, 99] {
            std::fs::write(file, &whole[..whole.len() * share / 100]).unwrap();
            let is_log = file.to_str().unwrap().contains("log-") && share > 0;
            assert!(is_log || everything(&path).is_err(), "{share} % of {}", file.display());
        }
        std::fs::remove_file(file).unwrap();
        assert!(everything(&path).is_err(), "{} is gone", file.display());
        std::fs::write(file, &whole).unwrap();
    }
    assert_eq!(everything(&path).unwrap(), expected);
}

#[test]
fn a_query_alone_notices_what_it_would_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    build(&path);
    let ask = || -> lookalike::Result<Vec<String>> {
        let found = Snapshot::open(&path)?.query(Content::Text(&text(6)), &Query::default())?.matches;
        Ok(found.into_iter().map(|found| found.id).collect())
    };
    let expected = ask().unwrap();
    let segment = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
    let segment = segment.into_iter().find(|path| path.to_str().unwrap().contains("segment-")).unwrap();
    let whole = std::fs::read(&segment).unwrap();
    let mut noticed = 0;
    for at in (0..whole.len()).step_by(29) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x20;
        std::fs::write(&segment, &flipped).unwrap();
        match ask() {
            Ok(answer) => assert_eq!(answer, expected, "byte {at}"),
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed > 100, "{noticed}");
}

#[test]
fn what_is_no_index_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let said = |path: &Path| Snapshot::open(path).unwrap_err().to_string();
    assert!(said(&folder.path().join("nowhere")).contains("is not an index"));
    assert!(said(folder.path()).contains("is not an index"));
    let file = folder.path().join("file");
    std::fs::write(&file, "text").unwrap();
    assert!(said(&file).contains("an index is a folder"));
    let path = folder.path().join("index");
    build(&path);
    let manifest = std::fs::read_to_string(path.join("manifest")).unwrap();
    std::fs::write(path.join("manifest"), manifest.replacen("index 1 ", "index 2 ", 1)).unwrap();
    assert!(said(&path).contains("version 2"));
    std::fs::write(path.join("manifest"), "something else").unwrap();
    assert!(said(&path).contains("damaged"));
    let plan = Settings::new(0.5).plan().unwrap();
    assert!(Index::create(&path, &plan).unwrap_err().to_string().contains("is an index already"));
    assert!(Index::create(folder.path(), &plan).unwrap_err().to_string().contains("not an empty folder"));
}

#[test]
fn files_of_another_index_are_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (left, right) = (folder.path().join("left"), folder.path().join("right"));
    build(&left);
    build(&right);
    for entry in std::fs::read_dir(&left).unwrap() {
        let name = entry.unwrap().file_name();
        if name.to_str().unwrap().contains('-') {
            std::fs::copy(left.join(&name), right.join(&name)).unwrap();
            assert!(everything(&right).is_err(), "{name:?}");
        }
    }
}
