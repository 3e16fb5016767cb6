//! Promise 8: empty records are alike to nothing and kept; those shorter than a shingle become a single one. Both are
//! counted.

use lookalike::{Grouping, Measure, Settings};

#[test]
fn promise_8_empty_records_are_alike_to_nothing_and_kept() {
    let texts = ["", " \n\t ", "?!…", "", "a b c d e f"];
    for settings in [
        Settings::new(0.01).recall(0.9),
        Settings::new(0.01).exact(true),
        Settings::new(0.01).measure(Measure::Containment),
        Settings::new(0.01).exact(true).group(Grouping::Connected),
    ] {
        let found = settings.plan().unwrap().run(texts).unwrap();
        assert_eq!(found.kept().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(found.count_pairs(), 0);
        assert_eq!((found.summary().empty, found.summary().short, found.summary().classes), (4, 0, 1));
    }
}

#[test]
fn promise_8_empty_sets_are_alike_to_nothing_and_kept() {
    let found = Settings::new(0.5).plan().unwrap().run_sets([vec![], vec![], vec![7]]).unwrap();
    assert_eq!(found.summary().kept, 3);
    assert_eq!((found.summary().empty, found.summary().short), (2, 0));
}

#[test]
fn promise_8_short_records_are_one_shingle() {
    let texts = ["one two", "One, two!", "one", "one two three", "two one", "one two three four five"];
    for exact in [false, true] {
        let found = Settings::new(0.01).recall(0.9).exact(exact).plan().unwrap().run(texts).unwrap();
        assert_eq!((found.summary().empty, found.summary().short), (0, 5));
        assert_eq!(found.original_of(1), Some((0, 1.0)));
        assert_eq!(found.count_pairs(), 1, "all of a short text is one shingle, so other short texts share nothing");
    }
}

/// Old records are only compared with: they are no part of what is counted.
#[test]
fn promise_8_old_records_are_not_counted() {
    let plan = Settings::new(0.5).plan().unwrap();
    let sketch = |text: &str| {
        let mut batch = lookalike::Batch::new();
        batch.push_text(lookalike::RecordNumber::new(0, 0), text);
        vec![plan.sketcher().sketch(&batch)]
    };
    let found = plan.finish(sketch(""), sketch("short"), &lookalike::Unwatched).unwrap();
    assert_eq!((found.summary().empty, found.summary().short, found.summary().kept), (0, 1, 1));
}

#[test]
fn promise_8_nothing_at_all_is_no_error() {
    let found = lookalike::dedup(Vec::<String>::new(), 0.8).unwrap();
    assert!(found.is_empty() && found.groups().is_empty());
}
