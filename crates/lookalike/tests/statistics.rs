//! MinHash is a statistic, so it is tested as one: slots agree with probability equal to the Jaccard similarity, with
//! no more than the variance of independent slots, and pairs become candidates as the curve says. It is the curve of independent
//! slots; slots that sample different elements of a set make a steeper one. So pairs are found at least as often where it
//! promises more than a half, and at most as often where it promises less; in sets so large that slots are
//! independent, just as often. Both with fixed data over seeds and with a fixed seed over data, from 5 elements to two million.
//!
//! Every number is drawn from a fixed seed, so a result is the same in every run. The full counts take minutes and are
//! asked for with LOOKALIKE_LONG=1.

mod random;

use lookalike::sketch::agreement;
use lookalike::{Bands, MinHash, Scheme, Settings, Shingler, Shingles, Verify, hash_item};
use random::Random;

/// Slots of the sketches that are measured.
const SLOTS: usize = 128;
/// How many standard errors a measurement may be off.
const SIGMAS: f64 = 4.0;
/// Elements of sets that are so much larger than a sketch that few pairs tell its slots from independent ones.
const LARGE: usize = 25 * SLOTS;
/// Fewer expected events than this, or expected failures, say nothing about a rate.
const FEWEST_EVENTS: f64 = 10.0;
const SEED: u64 = 1;

fn disjoint(bands: u32, rows: u32) -> Scheme {
    Scheme { slots: SLOTS as u32, bands: Bands::Disjoint { bands, rows }, least_agreement: 0 }
}

/// The full count where it was asked for.
fn count(full: usize, ordinary: usize) -> usize {
    if std::env::var_os("LOOKALIKE_LONG").is_some_and(|value| value == "1") { full } else { ordinary }
}

/// The sizes of two sets and of what they share.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sizes {
    left: usize,
    right: usize,
    shared: usize,
}

impl Sizes {
    /// Two sets of these sizes at every similarity of 0.1 … 0.9 and 0.95, or the nearest that exists.
    fn at_every_similarity(left: usize, right: usize) -> Vec<Self> {
        let most = if left == right { left - 1 } else { left.min(right) };
        let sizes = |shared: usize| Self { left, right, shared };
        let mut all: Vec<Self> = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
            .iter()
            .map(|target| {
                let shared = target * (left + right) as f64 / (1.0 + target);
                let around = [shared.floor(), shared.ceil()].map(|shared| sizes((shared as usize).clamp(1, most)));
                let distance = |sizes: &Self| (sizes.similarity() - target).abs();
                if distance(&around[0]) <= distance(&around[1]) { around[0] } else { around[1] }
            })
            .collect();
        all.dedup();
        all
    }

    fn similarity(&self) -> f64 {
        self.shared as f64 / self.all() as f64
    }

    /// Elements of both together.
    fn all(&self) -> usize {
        self.left + self.right - self.shared
    }

    /// Both sets, as parts of one sequence of elements.
    fn split<'a>(&self, all: &'a [u64]) -> (&'a [u64], &'a [u64]) {
        (&all[..self.left], &all[self.left - self.shared..])
    }
}

/// What was measured on pairs of sets of the same sizes.
struct Measured {
    similarity: f64,
    curve: Curve,
    pairs: f64,
    errors: f64,
    squares: f64,
    /// Schemes, and how many pairs shared a whole band of each.
    met: [(Scheme, f64); 3],
}

impl Measured {
    fn new(sizes: Sizes) -> Self {
        let met = [disjoint(16, 6), disjoint(20, 5), disjoint(40, 2)].map(|scheme| (scheme, 0.0));
        let curve = if sizes.all() >= 100 * SLOTS { Curve::Same } else { Curve::NoFlatter };
        Self { similarity: sizes.similarity(), curve, pairs: 0.0, errors: 0.0, squares: 0.0, met }
    }

    fn add(&mut self, left: &[u32], right: &[u32]) {
        let error = f64::from(agreement(left, right)) / SLOTS as f64 - self.similarity;
        self.pairs += 1.0;
        self.errors += error;
        self.squares += error * error;
        for (scheme, met) in &mut self.met {
            let rows = scheme.bands.rows() as usize;
            let mut bands = left.chunks_exact(rows).zip(right.chunks_exact(rows)).take(scheme.bands.keys() as usize);
            *met += f64::from(u8::from(bands.any(|(left, right)| left == right)));
        }
    }

    /// Holds the measurements against theory; tells how many rates could be judged.
    fn check(&self, what: &str) -> usize {
        let Self { similarity, pairs, .. } = *self;
        let variance = similarity * (1.0 - similarity) / SLOTS as f64;
        let (mean, standard_error) = (self.errors / pairs, (variance / pairs).sqrt());
        assert!(
            mean.abs() <= SIGMAS * standard_error,
            "{what}: the estimate of {similarity} is off by {mean}, {:.1} standard errors",
            mean / standard_error
        );
        let (measured, bound) = (self.squares / pairs, variance * (1.1 + 3.0 * (2.0 / pairs).sqrt()));
        assert!(measured <= bound, "{what}: at {similarity} the variance is {measured}, above {bound}");
        self.met
            .iter()
            .filter(|(scheme, met)| {
                let what = format!("{what}, {}", scheme.bands);
                check_rate(&what, self.curve, scheme.meets(similarity), *met, pairs)
            })
            .count()
    }
}

/// How the measured curve has to lie to that of independent slots.
#[derive(Clone, Copy, Debug)]
enum Curve {
    /// On it.
    Same,
    /// Not below it in its upper half, nor above it in its lower half.
    NoFlatter,
}

impl Curve {
    /// Whether a rate that is off by so many standard errors is as it should be.
    fn allows(self, probability: f64, off: f64) -> bool {
        match self {
            Self::Same => off.abs() <= SIGMAS,
            Self::NoFlatter if probability >= 0.5 => off >= -SIGMAS,
            Self::NoFlatter => off <= SIGMAS,
        }
    }
}

/// Holds a number of events against their probability; tells whether it could be judged.
fn check_rate(what: &str, curve: Curve, probability: f64, events: f64, trials: f64) -> bool {
    let expected = probability * trials;
    if expected < FEWEST_EVENTS || trials - expected < FEWEST_EVENTS {
        return false;
    }
    let off = (events - expected) / (expected * (1.0 - probability)).sqrt();
    assert!(
        curve.allows(probability, off),
        "{what}: {events} of {trials} instead of {expected}, {off:.1} standard errors"
    );
    true
}

/// Fills the buffer with the elements of the trial's pair.
type Fill<'a> = &'a mut dyn FnMut(u64, &mut Vec<u64>);

/// A fixed seed, other data in every trial.
fn over_data(sizes: Sizes, trials: usize, fill: Fill<'_>) -> Measured {
    let minhash = MinHash::new(SLOTS, SEED);
    let mut measured = Measured::new(sizes);
    let (mut all, mut sketches) = (Vec::new(), Vec::new());
    for trial in 0..trials as u64 {
        all.clear();
        fill(trial, &mut all);
        measure(&minhash, sizes, &all, &mut sketches, &mut measured);
    }
    measured
}

/// Fixed data, another seed in every trial.
fn over_seeds(sizes: Sizes, trials: usize, fill: Fill<'_>) -> Measured {
    let mut measured = Measured::new(sizes);
    let (mut all, mut sketches) = (Vec::new(), Vec::new());
    fill(0, &mut all);
    for seed in 0..trials as u64 {
        measure(&MinHash::new(SLOTS, seed), sizes, &all, &mut sketches, &mut measured);
    }
    measured
}

fn measure(minhash: &MinHash, sizes: Sizes, all: &[u64], sketches: &mut Vec<u32>, measured: &mut Measured) {
    let (left, right) = sizes.split(all);
    sketches.clear();
    minhash.append(left, sketches);
    minhash.append(right, sketches);
    let (left, right) = sketches.split_at(SLOTS);
    measured.add(left, right);
}

/// Measures pairs of these sizes at every similarity, over data and over seeds.
fn check_sizes(left: usize, right: usize, trials: usize) {
    let mut judged = 0;
    for sizes in Sizes::at_every_similarity(left, right) {
        let mut fill = |trial: u64, all: &mut Vec<u64>| {
            let mut random = Random::new(trial << 32 ^ sizes.all() as u64);
            all.extend((0..sizes.all()).map(|_| random.word()));
        };
        judged += over_data(sizes, trials, &mut fill).check(&format!("{sizes:?} over data"));
        judged += over_seeds(sizes, trials, &mut fill).check(&format!("{sizes:?} over seeds"));
    }
    assert!(judged > 0 || (trials as f64) < 2.0 * FEWEST_EVENTS, "no rate could be judged");
}

#[test]
fn sets_of_5() {
    check_sizes(5, 5, 20_000);
}

#[test]
fn sets_of_50() {
    check_sizes(50, 50, 20_000);
}

#[test]
fn sets_of_500() {
    check_sizes(500, 500, 20_000);
}

#[test]
fn sets_of_50_thousand() {
    check_sizes(50_000, 50_000, count(2_000, 100));
}

#[test]
fn sets_of_2_million() {
    check_sizes(2_000_000, 2_000_000, count(50, 4));
}

#[test]
fn sets_whose_sizes_are_10_times_apart() {
    check_sizes(5, 50, 20_000);
    check_sizes(500, 50, 20_000);
    check_sizes(5_000, 50_000, count(2_000, 100));
    check_sizes(2_000_000, 200_000, count(50, 4));
}

/// Measures pairs of sets of 50 and of 500 items at every similarity; `item` writes the n-th item of all.
fn check_items(what: &str, item: impl Fn(u64, &mut Vec<u8>)) {
    for size in [50, 500] {
        for sizes in Sizes::at_every_similarity(size, size) {
            let mut bytes = Vec::new();
            let mut fill = |trial: u64, all: &mut Vec<u64>| {
                let first = trial * sizes.all() as u64;
                all.extend((first..).take(sizes.all()).map(|number| {
                    bytes.clear();
                    item(number, &mut bytes);
                    hash_item(&bytes)
                }));
            };
            let trials = count(20_000, 4_000);
            over_data(sizes, trials, &mut fill).check(&format!("{what} {sizes:?} over data"));
            over_seeds(sizes, trials, &mut fill).check(&format!("{what} {sizes:?} over seeds"));
        }
    }
}

#[test]
fn consecutive_integers_as_items() {
    check_items("integers", |number, bytes| bytes.extend(number.to_le_bytes()));
    check_items("decimals", |number, bytes| bytes.extend(number.to_string().into_bytes()));
}

#[test]
fn items_with_a_shared_prefix() {
    check_items("addresses", |number, bytes| {
        bytes.extend(b"https://www.example.org/the/same/long/path/for/everything?id=");
        bytes.extend(number.to_string().into_bytes());
    });
}

/// A text of different words, and the same text with one word changed: five shingles of each are not in the other.
#[test]
fn shingles_of_a_text_with_one_word_changed() {
    const K: usize = 5;
    for words in [20usize, 30, 100] {
        let shingles = Shingles::words(K);
        let mut shingler = Shingler::new(shingles, shingles.default_normalize(), false);
        let shared = words + 1 - K - K;
        let sizes = Sizes { left: shared + K, right: shared + K, shared };
        let mut fill = |trial: u64, all: &mut Vec<u64>| {
            let mut text: Vec<String> = (0..words).map(|word| format!("word{}", trial * 1000 + word as u64)).collect();
            let (mut left, mut right) = (Vec::new(), Vec::new());
            shingler.append_text(&text.join(" "), &mut left);
            text[words / 2] = "changed".into();
            shingler.append_text(&text.join(" "), &mut right);
            all.extend(left.iter().filter(|shingle| !right.contains(shingle)));
            all.extend(left.iter().filter(|shingle| right.contains(shingle)));
            all.extend(right.iter().filter(|shingle| !left.contains(shingle)));
            assert_eq!(all.len(), sizes.all());
        };
        let trials = count(20_000, 4_000);
        over_data(sizes, trials, &mut fill).check(&format!("{words} words over data"));
        over_seeds(sizes, trials, &mut fill).check(&format!("{words} words over seeds"));
    }
}

/// How many of `pairs` pairs of sets the engine itself makes candidates.
fn count_candidates(bands: Bands, sizes: Sizes, seed: u64, pairs: usize) -> f64 {
    let plan = Settings::new(0.8).hashes(SLOTS as u32).bands(bands).verify(Verify::Off).seed(seed).plan().unwrap();
    let mut random = Random::new(seed << 32 ^ sizes.shared as u64);
    let mut sets = Vec::with_capacity(2 * pairs);
    for _ in 0..pairs {
        let all: Vec<u64> = (0..sizes.all()).map(|_| random.word()).collect();
        let (left, right) = sizes.split(&all);
        sets.extend([left.to_vec(), right.to_vec()]);
    }
    let found = plan.run_sets(sets).unwrap();
    // Among so many sets, two that share nothing may have elements whose 32-bit halves are the same.
    found.pairs().filter(|pair| pair.left / 2 == pair.right / 2).count() as f64
}

#[test]
fn bands_make_candidates_as_the_curve_says() {
    for scheme in [disjoint(16, 6), disjoint(20, 5), disjoint(9, 13), disjoint(40, 2)] {
        for (size, curve, pairs) in [(50, Curve::NoFlatter, count(20_000, 5_000)), (LARGE, Curve::Same, 1_000)] {
            let mut judged = 0;
            for sizes in Sizes::at_every_similarity(size, size) {
                let similarity = sizes.similarity();
                let met = count_candidates(scheme.bands, sizes, SEED, pairs);
                let what = format!("{} of {size} at {similarity}", scheme.bands);
                judged += usize::from(check_rate(&what, curve, scheme.meets(similarity), met, pairs as f64));
            }
            assert!(judged > 0, "{} of {size}: no rate could be judged", scheme.bands);
        }
    }
}

/// The curve of random keys is a mean over their draws, so the draw is what is repeated; pairs under one draw are not
/// independent, and the standard error comes from the differences between draws.
#[test]
fn random_keys_make_candidates_as_their_own_curve_says() {
    let draws = count(200, 60);
    let kinds = [(125, 3), (16, 6), (40, 10)].map(|(keys, rows)| Bands::Random { keys, rows });
    for (bands, (size, curve, pairs)) in kinds
        .into_iter()
        .flat_map(|bands| [(50, Curve::NoFlatter, 100), (LARGE, Curve::Same, 20)].map(|kind| (bands, kind)))
    {
        let scheme = Scheme { slots: SLOTS as u32, bands, least_agreement: 0 };
        let mut judged = 0;
        for sizes in Sizes::at_every_similarity(size, size) {
            let probability = scheme.meets(sizes.similarity());
            let expected = probability * (draws * pairs) as f64;
            if expected.min((draws * pairs) as f64 - expected) < FEWEST_EVENTS {
                continue;
            }
            let rates: Vec<f64> =
                (0..draws as u64).map(|seed| count_candidates(bands, sizes, seed, pairs) / pairs as f64).collect();
            let mean = rates.iter().sum::<f64>() / draws as f64;
            let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (draws as f64 - 1.0);
            let off = (mean - probability) / (variance / draws as f64).sqrt();
            let allowed = curve.allows(probability, off);
            assert!(allowed, "{bands} of {size} at {}: {mean}, not {probability}: {off}", sizes.similarity());
            judged += 1;
        }
        assert!(judged > 0, "{bands} of {size}: no rate could be judged");
    }
}
