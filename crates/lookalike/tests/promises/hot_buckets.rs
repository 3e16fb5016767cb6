//! Promise 7: identical records are one class before banding; in a bucket of up to M classes every pair is compared, in
//! a larger one each class with the first R in keep order; what was left out is counted, and drops nothing wrongly.

use std::collections::{BTreeMap, BTreeSet};

use lookalike::{Bands, Keep, MinHash, Outcome, Settings, Verify, hash_item};

const BANDS: u32 = 12;
const ROWS: u32 = 4;
const RECORDS: usize = 3_200;

/// Sets that share most of their items, so that most of their bands are the same: buckets of more than two thousand.
/// Every tenth set has little in common with the rest, and pairs of the last ones are nearly the same.
fn sets() -> Vec<Vec<u64>> {
    let item = |name: String| hash_item(name.as_bytes());
    (0..RECORDS)
        .map(|record| {
            let mut set: Vec<u64> = (0..100).map(|n| item(format!("common {n}"))).collect();
            let twins = if record >= RECORDS - 200 { record / 2 } else { record };
            set.extend((0..6).map(|n| item(format!("own {twins} {n}"))));
            if record % 10 == 0 {
                set.drain(..95);
            }
            set.push(item(format!("single {record}")));
            set
        })
        .collect()
}

fn settings() -> Settings {
    Settings::new(0.9).bands(Bands::Disjoint { bands: BANDS, rows: ROWS })
}

/// What the bucket rule says of these sets, in keep order: the pairs that are compared, the buckets that are too large
/// and the comparisons that are left out there.
fn by_the_rule(
    sets: &[Vec<u64>],
    order: &[usize],
    every_pair_up_to: usize,
    first: usize,
) -> (BTreeSet<(usize, usize)>, u64, u64) {
    let minhash = MinHash::new((BANDS * ROWS) as usize, settings().seed);
    let sketches: Vec<Vec<u32>> = sets.iter().map(|set| minhash.sketch(set)).collect();
    let (mut compared, mut bounded_buckets, mut bounded_comparisons) = (BTreeSet::new(), 0, 0);
    for band in 0..BANDS as usize {
        let rows = band * ROWS as usize..(band + 1) * ROWS as usize;
        let mut buckets: BTreeMap<&[u32], Vec<usize>> = BTreeMap::new();
        for record in order {
            buckets.entry(&sketches[*record][rows.clone()]).or_default().push(*record);
        }
        for members in buckets.values() {
            let is_bounded = members.len() > every_pair_up_to;
            bounded_buckets += u64::from(is_bounded);
            for (place, left) in members.iter().enumerate() {
                for right in &members[place + 1..] {
                    if is_bounded && place >= first {
                        bounded_comparisons += 1;
                    } else {
                        compared.insert((*left.min(right), *left.max(right)));
                    }
                }
            }
        }
    }
    (compared, bounded_buckets, bounded_comparisons)
}

#[test]
fn promise_7_the_bucket_rule_decides_what_is_compared_and_the_rest_is_counted() {
    let sets = sets();
    let plan = settings().verify(Verify::Off).plan().unwrap();
    let rule = plan.bucket_rule();
    assert!(plan.to_string().contains(&format!("up to {} classes", rule.every_pair_up_to)));
    assert!(plan.to_string().contains(&format!("first {} in keep order", rule.first)));
    let forwards: Vec<usize> = (0..sets.len()).collect();
    let backwards: Vec<usize> = forwards.iter().rev().copied().collect();
    for (keep, order) in [(Keep::First, forwards), (Keep::Last, backwards)] {
        let found = settings().verify(Verify::Off).keep(keep).plan().unwrap().run_sets(sets.clone()).unwrap();
        let (compared, buckets, comparisons) = by_the_rule(&sets, &order, rule.every_pair_up_to, rule.first);
        assert!(buckets > 0 && comparisons > 100_000, "no bucket was hot");
        let summary = found.summary();
        assert_eq!((summary.bounded_buckets, summary.bounded_comparisons), (buckets, comparisons));
        assert_eq!(summary.candidates, compared.len() as u64);
        assert!(found.pairs().map(|pair| (pair.left, pair.right)).eq(compared.iter().copied()));
    }
}

/// So many different sets that all fall into the one bucket of a sketch with a single slot.
fn in_one_bucket(count: usize) -> Vec<Vec<u64>> {
    let minhash = MinHash::new(1, settings().seed);
    let items: Vec<u64> = (0..=count as u64).map(|item| hash_item(&item.to_le_bytes())).collect();
    let least = *items.iter().min_by_key(|item| minhash.sketch(&[**item])[0]).unwrap();
    items.iter().filter(|item| **item != least).map(|item| vec![least, *item]).collect()
}

#[test]
fn promise_7_a_bucket_of_exactly_m_classes_is_compared_whole() {
    let plan = Settings::new(0.9).bands(Bands::Disjoint { bands: 1, rows: 1 }).verify(Verify::Off).plan().unwrap();
    let (most, first) = (plan.bucket_rule().every_pair_up_to, plan.bucket_rule().first);
    let whole = plan.run_sets(in_one_bucket(most)).unwrap();
    assert_eq!((whole.summary().candidates, whole.summary().bounded_buckets), ((most * (most - 1) / 2) as u64, 0));
    let bounded = plan.run_sets(in_one_bucket(most + 1)).unwrap();
    let compared = first * (first - 1) / 2 + first * (most + 1 - first);
    assert_eq!((bounded.summary().candidates, bounded.summary().bounded_buckets), (compared as u64, 1));
}

fn similarity(left: &[u64], right: &[u64]) -> f64 {
    let (left, right): (BTreeSet<_>, BTreeSet<_>) = (left.iter().collect(), right.iter().collect());
    left.intersection(&right).count() as f64 / left.union(&right).count() as f64
}

#[test]
fn promise_7_bounded_buckets_drop_nothing_wrongly() {
    let sets = sets();
    let run = |threads: usize| -> Outcome {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| settings().plan().unwrap().run_sets(sets.clone())).unwrap()
    };
    let found = run(1);
    assert!(found.summary().bounded_comparisons > 0 && found.summary().dropped > 0, "{:?}", found.summary());
    for record in 0..sets.len() {
        if let Some((keeper, alike)) = found.original_of(record) {
            assert!(found.is_kept(keeper));
            assert_eq!(alike, similarity(&sets[record], &sets[keeper]));
            assert!(alike >= 0.9);
        }
    }
    let exact = Settings::new(0.9).exact(true).plan().unwrap().run_sets(sets.clone()).unwrap();
    assert!(found.summary().kept >= exact.summary().kept, "a bounded bucket can only leave extra records kept");
    for threads in [2, 7] {
        let other = run(threads);
        assert!(other.pairs().eq(found.pairs()) && other.summary() == found.summary(), "{threads} threads");
    }
}

/// However many copies there are, they are one class: no bucket grows by them, and every pair of them is reported.
#[test]
fn promise_7_identical_records_are_one_class() {
    let text = |record: usize| match record % 3 {
        // The same words with other spaces, and with a repetition that adds no shingle.
        0 => "the quick brown fox jumps over the lazy dog",
        1 => "the  quick brown fox, jumps over the lazy dog!",
        _ => "a text that has nothing in common with the other one",
    };
    let copies = 3_000;
    for exact in [false, true] {
        let plan = Settings::new(0.8).exact(exact).plan().unwrap();
        let found = plan.run((0..copies).map(text)).unwrap();
        let summary = found.summary();
        assert_eq!((summary.classes, summary.candidates, summary.kept), (2, 0, 2));
        assert_eq!((summary.bounded_buckets, summary.bounded_comparisons), (0, 0));
        assert_eq!(found.count_pairs(), 2000 * 1999 / 2 + 1000 * 999 / 2);
        assert_eq!(found.pairs().count() as u64, found.count_pairs());
    }
}

/// The same set in another order, or with repeats, is the same class too.
#[test]
fn promise_7_the_order_of_shingles_does_not_make_another_class() {
    let plan = Settings::new(0.8).shingles(lookalike::Shingles::words(1)).plan().unwrap();
    let found = plan.run(["a b c d", "d c b a", "a a b b c d d", "a b c e"]).unwrap();
    assert_eq!(found.summary().classes, 2);
    assert_eq!(found.kept().collect::<Vec<_>>(), [0, 3]);
    let bag = Settings::new(0.8).shingles(lookalike::Shingles::words(1)).bag(true).plan().unwrap();
    assert_eq!(bag.run(["a b c d", "d c b a", "a a b b c d d"]).unwrap().summary().classes, 2);
}

#[test]
fn promise_7_the_pairs_that_bounded_buckets_miss_are_estimated() {
    // All of these are alike, and bounded buckets hide many of the pairs.
    let item = |name: String| hash_item(name.as_bytes());
    let sets: Vec<Vec<u64>> = (0..2_600)
        .map(|record| (0..60).map(|n| item(format!("common {n}"))).chain([item(format!("own {record}"))]).collect())
        .collect();
    let found = settings().plan().unwrap().run_sets(sets.clone()).unwrap();
    let (all, found_pairs) = ((2_600 * 2_599 / 2) as f64, found.count_pairs() as f64);
    let estimated = found.summary().bounded_lost_pairs as f64;
    assert!(found_pairs < 0.9 * all, "something must be hidden: {found_pairs} of {all}");
    assert!(
        (estimated - (all - found_pairs)).abs() < 0.05 * all,
        "{estimated} estimated, {} missed",
        all - found_pairs
    );
}
