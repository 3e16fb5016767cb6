//! Promise 4: who of those who are alike is kept; ties by input order; old records come first and are never dropped.

use lookalike::{Batch, Keep, KeepValue, Outcome, Plan, RecordNumber, Settings, Shingles, Unwatched};

/// Six texts with the same words, and of different lengths.
const ALIKE: [&str; 6] = ["a b c", "a  b  c", "a b c", "a   b   c", "a b c!!", "A, b, c"];

fn plan(keep: Keep) -> Plan {
    Settings::new(0.8).shingles(Shingles::words(2)).keep(keep).plan().unwrap()
}

fn batch(texts: &[&str], fields: &[KeepValue]) -> Batch {
    let mut batch = Batch::new();
    for (position, text) in texts.iter().enumerate() {
        batch.push_text(RecordNumber::new(0, position as u64), text);
        if let Some(field) = fields.get(position) {
            batch.push_keep(field.clone());
        }
    }
    batch
}

fn run(keep: Keep, fields: &[KeepValue]) -> Outcome {
    let plan = plan(keep);
    let sketched = plan.sketcher().sketch(&batch(&ALIKE, fields));
    plan.finish(Vec::new(), vec![sketched], &Unwatched).unwrap()
}

fn kept(keep: Keep, fields: &[KeepValue]) -> Vec<usize> {
    let found = run(keep, fields);
    assert_eq!(found.summary().dropped, 5);
    found.kept().collect()
}

fn number(number: f64) -> KeepValue {
    KeepValue::Number(number)
}

fn text(text: &str) -> KeepValue {
    KeepValue::Text(text.into())
}

#[test]
fn promise_4_first_last_longest_shortest() {
    assert_eq!(kept(Keep::First, &[]), [0]);
    assert_eq!(kept(Keep::Last, &[]), [5]);
    assert_eq!(kept(Keep::Longest, &[]), [3]);
    assert_eq!(kept(Keep::Shortest, &[]), [0], "the third is as short, and later");
}

/// Lengths are characters of the text as it came, not bytes, and not what normalisation made of it.
#[test]
fn promise_4_lengths_are_characters_of_the_original() {
    let plan = Settings::new(0.8).shingles(Shingles::words(1)).keep(Keep::Longest).plan().unwrap();
    let found = plan.run(["a b ————", "a b .......", "a b"]).unwrap();
    assert_eq!(found.kept().collect::<Vec<_>>(), [1]);
}

#[test]
fn promise_4_sets_are_as_long_as_they_have_items() {
    let sets = [vec![1u64, 1, 1, 1, 2, 3, 4], vec![1, 2, 3, 4, 5], vec![5, 4, 3, 2, 1]]
        .map(|set| set.into_iter().map(|item| lookalike::hash_item(&item.to_le_bytes())).collect::<Vec<_>>());
    let kept = |keep: Keep| {
        let found = Settings::new(0.5).keep(keep).plan().unwrap().run_sets(sets.clone()).unwrap();
        found.kept().collect::<Vec<_>>()
    };
    assert_eq!(kept(Keep::Longest), [1]);
    assert_eq!(kept(Keep::Shortest), [0]);
}

#[test]
fn promise_4_fields_by_number_or_by_bytes_the_missing_last_and_counted() {
    let score = || "score".to_string();
    let numbers = [KeepValue::Missing, number(9.0), number(10.0), number(-3.0), number(10.0), number(-3.0)];
    assert_eq!(kept(Keep::Max(score()), &numbers), [2], "10 is more than 9, and the earlier of both is kept");
    assert_eq!(kept(Keep::Min(score()), &numbers), [3]);
    let texts = [KeepValue::Missing, text("9"), text("10"), text("a"), text("B"), text("a")];
    assert_eq!(kept(Keep::Max(score()), &texts), [3]);
    assert_eq!(kept(Keep::Min(score()), &texts), [2], "strings by bytes: 10 is before 9");
    let mut none = vec![KeepValue::Missing; 6];
    assert_eq!(kept(Keep::Max(score()), &none), [0]);
    assert_eq!(run(Keep::Max(score()), &none).summary().without_keep_field, 6);
    none[4] = number(-1e300);
    assert_eq!(kept(Keep::Max(score()), &none), [4], "any value is before none");
    assert_eq!(kept(Keep::Min(score()), &none), [4]);
    assert_eq!(run(Keep::Min(score()), &none).summary().without_keep_field, 5);
}

/// The order decides the whole greedy pass, not only who represents identical records.
#[test]
fn promise_4_the_order_decides_who_becomes_a_keeper() {
    let texts = ["a b c d e f g h", "c d e f g h i j", "e f g h i j k l"];
    let settings = Settings::new(0.5).shingles(Shingles::words(1)).exact(true);
    let kept = |keep: Keep, scores: [f64; 3]| {
        let plan = settings.clone().keep(keep).plan().unwrap();
        let sketched = plan.sketcher().sketch(&batch(&texts, &scores.map(number)));
        plan.finish(Vec::new(), vec![sketched], &Unwatched).unwrap().kept().collect::<Vec<_>>()
    };
    assert_eq!(kept(Keep::First, [0.0; 3]), [0, 2]);
    assert_eq!(kept(Keep::Max("score".into()), [1.0, 5.0, 2.0]), [1], "the middle one is alike to both");
    assert_eq!(kept(Keep::Min("score".into()), [1.0, 5.0, 2.0]), [0, 2]);
}

#[test]
fn promise_4_old_records_come_first_and_are_never_dropped() {
    for keep in [Keep::First, Keep::Last, Keep::Longest, Keep::Shortest, Keep::Max("score".into())] {
        let plan = plan(keep);
        let mut sketcher = plan.sketcher();
        // Two old ones that are alike to each other, less preferred than the new ones by every other order.
        let old = sketcher.sketch(&batch(&["a b c", "a b c"], &[number(0.0), number(0.0)]));
        let new = sketcher.sketch(&batch(&["a b c d?", "a  b", "a b c, d"], &[number(1.0), number(9.0), number(7.0)]));
        let found = plan.finish(vec![old], vec![new], &Unwatched).unwrap();
        assert!(found.is_kept(0) && found.is_kept(1));
        assert_eq!((found.old(), found.summary().old, found.summary().records), (2, 2, 3));

        let old = sketcher.sketch(&batch(&["a b c", "a  b c"], &[number(0.0), number(0.0)]));
        let new = sketcher.sketch(&batch(&ALIKE, &[1.0, 2.0, 3.0, 1.0, 2.0, 3.0].map(number)));
        let found = plan.finish(vec![old], vec![new], &Unwatched).unwrap();
        assert_eq!(found.kept().count(), 0, "all new records are alike to old ones");
        assert!((2..8).all(|record| found.original_of(record).is_some_and(|(keeper, _)| keeper < 2)));
        assert!(found.pairs().all(|pair| pair.right >= 2), "old records are not paired with each other");
    }
}
