//! What an index that is made for containment finds: excerpts of its items, through selected shingles.

use lookalike::{Content, Index, Measure, Query, Selection, Settings};

use crate::is_long;
use crate::random::Random;

#[test]
fn excerpts_are_found_in_items_whatever_their_size() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(23);
    let mut words = |count: usize| (0..count).map(|_| format!("w{}", random.below(9_000))).collect::<Vec<_>>();
    let items: Vec<Vec<String>> =
        (0..if is_long() { 5_000 } else { 300 }).map(|at| words(100 + 7 * (at % 200))).collect();
    for selection in [Selection::Winnow(8), Selection::Modulo(4)] {
        let settings = Settings::new(0.5).measure(Measure::Containment).fingerprints(selection);
        let path = folder.path().join(selection.to_string().replace(':', "-"));
        let mut index = Index::create(&path, &settings.plan().unwrap()).unwrap();
        for (at, item) in items.iter().enumerate() {
            index.insert(&at.to_string(), Content::Text(&item.join(" ")), None).unwrap();
        }
        index.commit().unwrap();
        let sure = selection.sure_run(5);
        let mut found = 0;
        for (at, item) in items.iter().enumerate() {
            // Exactly as many words as winnowing promises to find.
            let start = (at * 31) % (item.len() - 12);
            let asked = item[start..start + 12].join(" ");
            let answer = index.snapshot().query(Content::Text(&asked), &Query::default()).unwrap();
            assert_eq!(answer.promise, None, "a run is promised, not a similarity");
            let hit = answer.matches.iter().find(|hit| hit.id == at.to_string());
            assert!(hit.is_none_or(|hit| hit.similarity == 1.0));
            found += usize::from(hit.is_some());
        }
        match sure {
            Some(12) => assert_eq!(found, items.len()),
            _ => assert!(found > items.len() / 2 && found < items.len(), "{found} by modulus"),
        }
    }
}

#[test]
fn updates_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let plan = Settings::new(0.9).measure(Measure::Containment).plan().unwrap();
    let mut index = Index::create(&folder.path().join("index"), &plan).unwrap();
    let long: String = (0..400).map(|word| format!("w{word} ")).collect();
    let other: String = (1_000..1_400).map(|word| format!("w{word} ")).collect();
    let excerpt: String = (200..230).map(|word| format!("w{word} ")).collect();
    let ids = |index: &Index| -> Vec<String> {
        let answer = index.snapshot().query(Content::Text(&excerpt), &Query::default()).unwrap();
        answer.matches.into_iter().map(|found| found.id).collect()
    };
    index.insert("a", Content::Text(&long), None).unwrap();
    index.insert("b", Content::Text(&other), None).unwrap();
    index.commit().unwrap();
    assert_eq!(ids(&index), ["a"]);
    index.insert("a", Content::Text(&other), None).unwrap();
    index.insert("b", Content::Text(&long), None).unwrap();
    index.commit().unwrap();
    index.compact().unwrap();
    assert_eq!(ids(&index), ["b"]);
    index.remove("b").unwrap();
    index.commit().unwrap();
    assert!(ids(&index).is_empty());
}
