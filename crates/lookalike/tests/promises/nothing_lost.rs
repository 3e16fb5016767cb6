//! Promise 3: a record is dropped only if a kept record is verified to be alike to it; no chains.

use lookalike::{Grouping, Measure, Settings, Shingles};

use crate::families::{self, containment, jaccard};

#[test]
fn promise_3_whatever_is_dropped_is_alike_to_what_is_kept_for_it() {
    let texts = families::draw(5, 60, 15, 60);
    for threshold in [0.4, 0.6, 0.8] {
        let found = Settings::new(threshold).shingles(Shingles::words(3)).plan().unwrap().run(&texts).unwrap();
        assert!(found.summary().dropped > 50 && found.summary().kept > 50, "{:?}", found.summary());
        for record in 0..texts.len() {
            if let Some((keeper, similarity)) = found.original_of(record) {
                assert!(found.is_kept(keeper), "{record} was dropped for {keeper}, which is dropped too");
                assert_eq!(similarity, jaccard(&texts[record], &texts[keeper], 3));
                assert!(similarity >= threshold);
            }
        }
    }
}

/// Three texts of which the first is alike to the second and the second to the third.
const CHAIN: [&str; 3] = ["a b c d e f g h", "c d e f g h i j", "e f g h i j k l"];

#[test]
fn promise_3_a_chain_drops_only_what_is_alike_to_the_keeper() {
    let settings = Settings::new(0.5).recall(0.999).shingles(Shingles::words(1));
    for exact in [false, true] {
        let settings = settings.clone().exact(exact);
        let anchored = settings.clone().plan().unwrap().run(CHAIN).unwrap();
        assert_eq!(anchored.count_pairs(), 2, "first and second, second and third");
        assert_eq!(anchored.kept().collect::<Vec<_>>(), [0, 2]);
        assert_eq!(anchored.original_of(1), Some((0, 0.6)));

        let plan = settings.group(Grouping::Connected).plan().unwrap();
        assert!(!plan.gives_up().is_empty(), "the plan says that this promise is given up");
        let connected = plan.run(CHAIN).unwrap();
        assert_eq!(connected.kept().collect::<Vec<_>>(), [0]);
        assert_eq!(connected.original_of(2), Some((0, 1.0 / 3.0)), "and the outcome says how little alike they are");
    }
}

#[test]
fn promise_3_a_record_joins_its_most_similar_keeper_and_among_equals_the_earlier() {
    let plan = |threshold| Settings::new(threshold).shingles(Shingles::words(1)).exact(true).plan().unwrap();
    // The third is 5/7 alike to the second and 4/8 to the first.
    let found = plan(0.5).run(["a b c d x y", "c d e f a z", "a b c d e f"]).unwrap();
    assert_eq!(found.original_of(2), Some((1, 5.0 / 7.0)));
    // The third is as alike to the first as to the second.
    let found = plan(0.6).run(["a b c d u v", "a b e f u v", "a b c e u v"]).unwrap();
    assert_eq!(found.kept().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(found.original_of(2), Some((0, 5.0 / 7.0)));
}

#[test]
fn promise_3_containment_drops_only_the_contained_one() {
    let plan = Settings::new(0.9).shingles(Shingles::words(1)).measure(Measure::Containment).plan().unwrap();
    let (part, whole) = ("a b c d", "a b c d e f g h i j k l");
    let found = plan.run([whole, part]).unwrap();
    assert_eq!(found.original_of(1), Some((0, 1.0)));
    // The whole is not contained in the part: coming second it is kept, and the part was kept before it.
    let found = plan.run([part, whole]).unwrap();
    assert_eq!(found.kept().collect::<Vec<_>>(), [0, 1]);

    let texts = families::draw(6, 20, 10, 40);
    let plan = Settings::new(0.7).shingles(Shingles::words(2)).measure(Measure::Containment).plan().unwrap();
    let found = plan.run(&texts).unwrap();
    assert!(found.summary().dropped > 20);
    for record in 0..texts.len() {
        if let Some((keeper, similarity)) = found.original_of(record) {
            assert_eq!(similarity, containment(&texts[record], &texts[keeper], 2));
            assert!(similarity >= 0.7 && found.is_kept(keeper));
        }
    }
}
