//! Promise 2: every reported pair carries its exact similarity, and that is at least the threshold.

use lookalike::{Bands, Batch, Measure, RecordNumber, Settings, Shingles, Unwatched, Verify};

use crate::families::{self, containment, jaccard};

#[test]
fn promise_2_every_pair_carries_its_exact_similarity() {
    let texts = families::draw(2, 40, 12, 60);
    for threshold in [0.3, 0.5, 0.8] {
        // Bands that let much through, so that it is the check that keeps the promise.
        let plan = Settings::new(threshold)
            .shingles(Shingles::words(3))
            .bands(Bands::Disjoint { bands: 40, rows: 2 })
            .plan()
            .unwrap();
        let found = plan.run(&texts).unwrap();
        let summary = found.summary();
        assert!(summary.candidates > summary.alike && summary.alike > 50, "{summary:?}");
        for pair in found.pairs() {
            assert_eq!(pair.similarity, jaccard(&texts[pair.left], &texts[pair.right], 3));
            assert!(pair.similarity >= threshold);
        }
    }
}

#[test]
fn promise_2_every_contained_pair_carries_its_exact_containment() {
    let texts = families::draw(3, 20, 10, 60);
    let plan = Settings::new(0.6).shingles(Shingles::words(2)).measure(Measure::Containment).plan().unwrap();
    let found = plan.run(&texts).unwrap();
    assert!(found.count_pairs() > 100);
    for pair in found.pairs() {
        assert_eq!(pair.similarity, containment(&texts[pair.left], &texts[pair.right], 2));
        assert!(pair.similarity >= 0.6);
    }
}

/// A pair at exactly the threshold is alike, and one just below it is not.
#[test]
fn promise_2_the_threshold_itself_is_alike() {
    // Four of five shared, and 79 of 99.
    let sets = |left: std::ops::Range<u64>, right: std::ops::Range<u64>| {
        [left, right].map(|range| range.map(|item| lookalike::hash_item(&item.to_le_bytes())).collect::<Vec<_>>())
    };
    for exact in [false, true] {
        let plan = Settings::new(0.8).recall(0.999).exact(exact).plan().unwrap();
        let at = plan.run_sets(sets(0..40, 0..50)).unwrap();
        assert_eq!(at.pairs().map(|pair| pair.similarity).collect::<Vec<_>>(), [0.8]);
        let below = plan.run_sets(sets(0..79, 0..99)).unwrap();
        assert_eq!(below.count_pairs(), 0);
    }
}

/// Halves of keys are kept, and among so many records some share one by chance: those are no pairs.
#[test]
fn promise_2_keys_that_are_alike_by_chance_make_no_pairs() {
    const RECORDS: u64 = 100_000;
    let different = |position: u64| (0..4).map(move |item| lookalike::hash_item(&(4 * position + item).to_le_bytes()));
    for verify in [Verify::Off, Verify::Exact, Verify::Edit] {
        let found = Settings::new(0.8).verify(verify).plan().unwrap().run_sets((0..RECORDS).map(different)).unwrap();
        assert!(found.summary().comparisons > 0, "none shared half a key");
        assert_eq!(found.count_pairs(), 0, "{verify:?}");
    }
    // The same text each time, but only within a value that no other has.
    let plan = Settings::new(0.8).plan().unwrap();
    let mut batch = Batch::new();
    for position in 0..RECORDS {
        batch.push_text(RecordNumber::new(0, position), "the same few words each time");
        batch.push_within(&position.to_le_bytes());
    }
    let found = plan.finish(Vec::new(), vec![plan.sketcher().sketch(&batch)], &Unwatched).unwrap();
    assert_eq!(found.count_pairs(), 0);
}
