//! Promise 1: a pair at exactly the threshold is found with at least the probability that was asked for, the banding and
//! the filter counted together, and the plan prints it.

use lookalike::{Bands, Method, Scheme, Settings, Verify};

use crate::random::Random;

fn scheme_of(settings: Settings) -> Scheme {
    let Method::Sketches(scheme) = settings.plan().unwrap().method() else { panic!("the plan uses sketches") };
    scheme
}

/// The probability of sharing a whole band and agreeing in enough slots, slot by slot: how many slots agree so far, how
/// many in a row since the band began, and whether a band was whole.
fn probability_by_slots(scheme: &Scheme, similarity: f64) -> f64 {
    let Bands::Disjoint { bands, rows } = scheme.bands else { panic!("disjoint bands") };
    let (slots, rows) = (scheme.slots as usize, rows as usize);
    // States: the current band broken, whole so far, or some band whole already; each by the number of agreeing slots.
    let (mut broken, mut whole, mut met) = (vec![0.0; slots + 2], vec![0.0; slots + 2], vec![0.0; slots + 2]);
    whole[0] = 1.0;
    for slot in 0..slots {
        for agreeing in (0..=slot).rev() {
            for state in [&mut broken, &mut met] {
                let share = std::mem::take(&mut state[agreeing]);
                state[agreeing + 1] += share * similarity;
                state[agreeing] += share * (1.0 - similarity);
            }
            let share = std::mem::take(&mut whole[agreeing]);
            whole[agreeing + 1] += share * similarity;
            broken[agreeing] += share * (1.0 - similarity);
        }
        if (slot + 1) % rows == 0 {
            for agreeing in 0..=slots {
                if slot < bands as usize * rows {
                    met[agreeing] += std::mem::take(&mut whole[agreeing]);
                }
                // The next band starts whole, whatever this one was.
                whole[agreeing] += std::mem::take(&mut broken[agreeing]);
            }
        }
    }
    met[scheme.least_agreement as usize..].iter().sum()
}

#[test]
fn promise_1_the_plan_finds_pairs_at_the_threshold_with_the_recall_asked_for() {
    for hundredths in (5..=100).step_by(5) {
        let threshold = f64::from(hundredths) / 100.0;
        for recall in [0.5, 0.9, 0.99, 0.999] {
            let plan = Settings::new(threshold).recall(recall).plan().unwrap();
            let finds = plan.finds(threshold);
            assert!(finds >= recall, "{threshold} {recall}: {finds}");
            let printed = format!("finds      {:.2} % of pairs at {threshold}", 100.0 * finds);
            assert!(plan.to_string().contains(&printed), "{plan}");
        }
    }
}

#[test]
fn promise_1_the_filter_is_counted() {
    for (threshold, recall) in [(0.5, 0.9), (0.7, 0.99), (0.8, 0.5), (0.8, 0.99), (0.95, 0.999)] {
        for hashes in [None, Some(256)] {
            let settings = Settings { hashes, ..Settings::new(threshold).recall(recall) };
            let scheme = scheme_of(settings.clone());
            assert!(scheme.least_agreement > 0, "{scheme:?} has no filter");
            let (expected, plan) = (probability_by_slots(&scheme, threshold), settings.plan().unwrap());
            assert!((plan.finds(threshold) - expected).abs() < 1e-9, "{scheme:?}: {expected}\n{plan}");
            assert!(expected >= recall);
        }
    }
}

const PAIRS: usize = 10_000;
/// Elements for every slot from which on slots are as good as independent.
const LARGE: usize = 20;

/// Pairs of sets that share so many of all their elements, the rest divided among both: one pair after another.
fn planted(shared: usize, all: usize, pairs: usize) -> Vec<Vec<u64>> {
    assert!((all - shared).is_multiple_of(2));
    let own = (all - shared) / 2;
    let mut random = Random::new(shared as u64);
    let pair = |_| {
        let elements: Vec<u64> = (0..all).map(|_| random.word()).collect();
        [elements[own..].to_vec(), elements[..all - own].to_vec()]
    };
    (0..pairs).flat_map(pair).collect()
}

fn standard_error(probability: f64, trials: usize) -> f64 {
    (probability * (1.0 - probability) / trials as f64).sqrt()
}

/// The share of planted pairs that is found: at least what the plan says, which counts with independent slots, and just that
/// where sets are so large that slots are independent.
fn check_planted(settings: Settings, shared: usize, all: usize, pairs: usize) -> f64 {
    let slots = scheme_of(settings.clone()).slots as usize;
    let plan = settings.plan().unwrap();
    let finds = plan.finds(shared as f64 / all as f64);
    let found = plan.run_sets(planted(shared, all, pairs)).unwrap().count_pairs() as f64 / pairs as f64;
    let off = (found - finds) / standard_error(finds, pairs);
    let allowed = if all >= LARGE * slots { off.abs() <= 4.0 } else { off >= -4.0 };
    assert!(allowed, "{found} are found, not {finds}\n{plan}");
    found
}

#[test]
fn promise_1_pairs_planted_at_the_threshold_are_found_at_least_as_often_as_the_plan_says() {
    for (shared, all) in [(20, 40), (40, 50), (90, 100)] {
        for recall in [0.6, 0.9, 0.99] {
            let found = check_planted(Settings::new(shared as f64 / all as f64).recall(recall), shared, all, PAIRS);
            assert!(found >= recall - 4.0 * standard_error(recall, PAIRS));
        }
    }
}

/// A plan whose filter costs so much that it would be seen if the run left it out.
#[test]
fn promise_1_the_run_filters_as_the_plan_counts() {
    let settings = Settings::new(0.7).recall(0.5);
    let scheme = scheme_of(settings.clone());
    let (filtered, pairs) = (scheme.meets(0.7) - scheme.finds(0.7), 5 * PAIRS / 2);
    assert!(filtered > 8.0 * standard_error(scheme.finds(0.7), pairs), "the filter takes only {filtered}");
    let all = LARGE * scheme.slots as usize;
    check_planted(settings, all / 10 * 7, all, pairs);
}

/// The estimate drops much, so it shows whether the plan counts what the run drops.
#[test]
fn promise_1_estimates_are_counted_too() {
    let bands = Bands::Disjoint { bands: 20, rows: 5 };
    let all = LARGE * bands.keys() as usize * bands.rows() as usize;
    for (threshold, shared) in [(0.5, all / 2), (0.55, all / 5 * 3), (0.8, all / 5 * 4)] {
        check_planted(Settings::new(threshold).bands(bands).verify(Verify::Estimate), shared, all, PAIRS);
    }
}
