//! An index whose files were changed anywhere: an error or an answer, never a panic. (Checksums are not looked at here.)
#![no_main]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use lookalike::{Bands, Content, Index, IndexOptions, Query, Settings, Shingles, Snapshot};

/// The files of a small index with a segment, deleted items and a log.
fn files() -> &'static BTreeMap<String, Vec<u8>> {
    static FILES: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("index");
        let settings = Settings::new(0.5).shingles(Shingles::words(2)).bands(Bands::Disjoint { bands: 4, rows: 2 });
        let plan = settings.plan().expect("sound settings");
        let mut index = Index::create_with(&path, &plan, &IndexOptions { store_text: true }).expect("room for it");
        for step in 0..3 {
            for item in 0..5 {
                let text = format!("text {item} of a few that share many words in step {step}");
                index.insert(&(item + 2 * step).to_string(), Content::Text(&text), None).expect("room for it");
            }
            index.commit().expect("room for it");
            if step == 1 {
                index.compact().expect("room for it");
            }
        }
        drop(index);
        let entries = path.read_dir().expect("it is there").flatten();
        entries
            .map(|entry| {
                let content = std::fs::read(entry.path()).expect("it is there");
                (entry.file_name().to_string_lossy().into_owned(), content)
            })
            .collect()
    })
}

fn read(path: &Path) -> lookalike::Result<()> {
    let snapshot = Snapshot::open(path)?;
    let _ = snapshot.check();
    for item in snapshot.items() {
        let _ = item;
    }
    let query = Query { limit: Some(3), with_text: true, ..Query::default() };
    let _ = snapshot.query(Content::Text("text 2 of a few that share many words in step 1"), &query);
    let _ = snapshot.get("3");
    Ok(())
}

fn write(path: &Path) -> lookalike::Result<()> {
    let mut index = Index::open(path)?;
    let _ = index.insert("3", Content::Text("another text of a few that share many words"), None);
    let _ = index.remove("4");
    let _ = index.remove_older_than(5);
    let _ = index.commit();
    let _ = index.compact();
    Ok(())
}

fuzz_target!(|changes: (u8, Vec<(u16, u8)>, u16)| {
    let (which, edits, cut) = changes;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let changed = files().keys().nth(which as usize % files().len()).expect("one of them");
    for (name, content) in files() {
        let mut content = content.clone();
        if name == changed && !content.is_empty() {
            let length = content.len();
            edits.iter().for_each(|(at, value)| content[*at as usize % length] = *value);
            if cut > 0 && edits.is_empty() {
                content.truncate(cut as usize % length);
            }
        }
        std::fs::write(folder.path().join(name), content).expect("room for it");
    }
    let _ = read(folder.path());
    let _ = write(folder.path());
});
