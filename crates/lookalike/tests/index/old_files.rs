//! Index files of every version that was ever released still open. A new version adds its folder to testdata/index:
//! `LOOKALIKE_WRITE_INDEX=testdata/index/vN cargo test -p lookalike --test index write_the_files_of_this_version`.

use std::path::{Path, PathBuf};

use lookalike::plan::SKETCH_VERSION;
use lookalike::{Batch, Content, Index, IndexOptions, Query, RecordNumber, Settings, Shingles, Snapshot};
use xxhash_rust::xxh3::xxh3_64;

const TEXTS: [&str; 8] = [
    "the ferry leaves the old harbour at seven and reaches the island before noon",
    "the ferry leaves the old harbour at seven and reaches the island before one",
    "our library lends paper maps of every valley in the county to walkers",
    "bread is baked at four in the morning and sold until it is gone",
    "bread is baked at five in the morning and sold until it is gone",
    "the lighthouse keeper writes down the weather every hour of the night",
    "渡し船は七時に古い港を出て、昼前に島に着きます",
    "the ferry leaves the new harbour at eight and reaches the island by noon",
];

fn versions() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/index");
    folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn write_the_files_of_this_version() {
    let Some(folder) = std::env::var_os("LOOKALIKE_WRITE_INDEX") else { return };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let plan = Settings::new(0.6).shingles(Shingles::words(2)).plan().unwrap();
    let mut index = Index::create_with(&path, &plan, &IndexOptions { store_text: true }).unwrap();
    let (mut loader, mut batch) = (index.loader(1 << 20), Batch::new());
    for (at, text) in (0..).zip(&TEXTS[..5]) {
        batch.push_text(RecordNumber::new(0, at), text);
    }
    loader.push(0, &batch).unwrap();
    index.adopt_loaded(loader.finish().unwrap(), |at| at.to_string().into(), 1_700_000_000_000).unwrap();
    let (mut loader, mut batch) = (index.loader(1 << 20), Batch::new());
    batch.push_text(RecordNumber::new(0, 0), TEXTS[7]);
    loader.push(0, &batch).unwrap();
    index.adopt_loaded(loader.finish().unwrap(), |_| "2".into(), 1_700_000_000_001).unwrap();
    for (at, text) in TEXTS.iter().enumerate().skip(5) {
        index.insert(&at.to_string(), Content::Text(text), Some(1_700_000_000_002)).unwrap();
        index.commit().unwrap();
    }
    index.remove("4").unwrap();
    index.commit().unwrap();
}

#[test]
fn files_of_every_version_open() {
    let versions = versions();
    assert!(!versions.is_empty());
    for version in versions {
        let snapshot = Snapshot::open(&version).unwrap();
        assert_eq!(snapshot.check().unwrap(), 7, "{}", version.display());
        let answer = |snapshot: &Snapshot, text| -> Vec<(String, String)> {
            let found = snapshot.query(Content::Text(text), &Query::default()).unwrap().matches;
            found.into_iter().map(|found| (found.id, format!("{:.3}", found.similarity))).collect()
        };
        let near = |found: &[(&str, &str)]| -> Vec<(String, String)> {
            found.iter().map(|(id, similarity)| (id.to_string(), similarity.to_string())).collect()
        };
        assert_eq!(answer(&snapshot, TEXTS[0]), near(&[("0", "1.000"), ("1", "0.857")]));
        assert_eq!(answer(&snapshot, TEXTS[4]), near(&[("3", "0.733")]), "4 was removed");
        assert_eq!(answer(&snapshot, TEXTS[7]), near(&[("2", "1.000"), ("7", "1.000")]));
        let item = snapshot.get("6").unwrap().unwrap();
        assert_eq!((item.text.as_deref(), item.time), (Some(TEXTS[6]), 1_700_000_000_002));

        // A copy of them can be written to.
        let folder = tempfile::tempdir().unwrap();
        for entry in version.read_dir().unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        let mut index = Index::open(folder.path()).unwrap();
        index.insert("new", Content::Text(TEXTS[4]), None).unwrap();
        index.commit().unwrap();
        index.compact().unwrap();
        assert_eq!(answer(&index.snapshot(), TEXTS[4]), near(&[("new", "1.000"), ("3", "0.733")]));
    }
}

/// A copy of this version's files, whose manifest says that its items were sketched by another.
#[test]
fn an_index_of_other_sketches_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Index::create(folder.path(), &Settings::new(0.6).plan().unwrap()).unwrap();
    index.insert("0", Content::Text(TEXTS[0]), None).unwrap();
    index.commit().unwrap();
    drop(index);
    let path = folder.path().join("manifest");
    let manifest = std::fs::read_to_string(&path).unwrap();
    let (line, body) = manifest.split_once('\n').unwrap();
    let current = format!("\"sketch_version\": {SKETCH_VERSION}");
    let other = body.trim_end().replace(&current, "\"sketch_version\": 1");
    assert_ne!(other, body.trim_end());
    let (start, _) = line.rsplit_once(' ').unwrap();
    std::fs::write(&path, format!("{start} {:016x}\n{other}\n", xxh3_64(other.as_bytes()))).unwrap();
    for error in [Snapshot::open(folder.path()).err(), Index::open(folder.path()).err()] {
        let said = error.expect("an error").to_string();
        assert!(said.contains("hashes differently") && said.contains("build it again"), "{said}");
    }
}
