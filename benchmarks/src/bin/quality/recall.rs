//! How many of the pairs that exist a sketched run finds, and whether it finds others.

use anyhow::Result;
use lookalike::{Pair, Settings};

use crate::corpora::Corpus;
use crate::records::Records;

/// The thresholds that are measured.
pub(crate) const THRESHOLDS: [f64; 4] = [0.5, 0.7, 0.8, 0.9];

/// What was measured at one threshold.
#[derive(Debug)]
pub(crate) struct Recall {
    pub(crate) threshold: f64,
    /// The bands of the plan.
    pub(crate) bands: String,
    /// Pairs of records that are alike.
    pub(crate) pairs: u64,
    /// Pairs of different sets that are alike.
    pub(crate) different: u64,
    /// The share of all pairs that is found: the mean over the seeds, and the worst seed.
    pub(crate) recall: f64,
    pub(crate) worst: f64,
    /// The mean share of pairs of different sets. (Identical sets are always found.)
    pub(crate) recall_of_different: f64,
    /// The share of found pairs that are alike, over all seeds.
    pub(crate) precision: f64,
    /// The most comparisons that the bucket rule left out with one seed.
    pub(crate) bounded_comparisons: u64,
}

/// Measures a corpus at every threshold.
pub(crate) fn measure(corpus: &Corpus, records: &Records, seeds: u64) -> Result<Vec<Recall>> {
    let settings = |threshold: f64| -> Result<Settings> {
        let settings = Settings::new(threshold);
        Ok(if corpus.shingles.is_empty() { settings } else { settings.shingles(corpus.shingles.parse()?) })
    };
    let distinct = Distinct::of(records, settings(1.0)?)?;
    let lowest = THRESHOLDS[0];
    let exact = records.run(&settings(lowest)?.exact(true).plan()?, &distinct.records)?;
    let mut exact: Vec<Pair> = exact.pairs().collect();
    let mut measured = Vec::new();
    for threshold in THRESHOLDS {
        exact.retain(|pair| pair.similarity >= threshold);
        let identical = distinct.identical_pairs();
        let all: u64 = exact.iter().map(|pair| distinct.weight(pair)).sum::<u64>() + identical;
        let (mut recalls, mut recalls_of_different, mut reported, mut wrong, mut bounded) =
            (Vec::new(), Vec::new(), 0u64, 0u64, 0);
        let mut bands = String::new();
        for seed in 1..=seeds {
            let plan = settings(threshold)?.seed(seed).plan()?;
            if let lookalike::Method::Sketches(scheme) = plan.method() {
                bands = scheme.bands.to_string();
            }
            let found = records.run(&plan, &distinct.records)?;
            bounded = bounded.max(found.summary().bounded_comparisons);
            let matched = Matched::of(&exact, found.pairs(), &distinct);
            recalls.push(share(matched.weight + identical, all));
            recalls_of_different.push(share(matched.pairs, exact.len() as u64));
            reported += matched.pairs + matched.wrong;
            wrong += matched.wrong;
        }
        measured.push(Recall {
            threshold,
            bands,
            pairs: all,
            different: exact.len() as u64,
            recall: mean(&recalls),
            worst: recalls.iter().copied().fold(1.0, f64::min),
            recall_of_different: mean(&recalls_of_different),
            precision: share(reported - wrong, reported),
            bounded_comparisons: bounded,
        });
    }
    Ok(measured)
}

/// One record for each different set, and how many records have that set.
struct Distinct {
    records: Vec<usize>,
    copies: Vec<u64>,
}

impl Distinct {
    fn of(records: &Records, at_one: Settings) -> Result<Self> {
        let all: Vec<usize> = (0..records.len()).collect();
        let identical = records.run(&at_one.exact(true).plan()?, &all)?;
        let mut copies = vec![1u64; records.len()];
        for group in identical.groups() {
            copies[group.keeper] = group.size() as u64;
        }
        let kept: Vec<usize> = identical.kept().collect();
        Ok(Self { copies: kept.iter().map(|record| copies[*record]).collect(), records: kept })
    }

    fn identical_pairs(&self) -> u64 {
        self.copies.iter().map(|copies| copies * (copies - 1) / 2).sum()
    }

    /// How many pairs of records a pair of different sets stands for.
    fn weight(&self, pair: &Pair) -> u64 {
        self.copies[pair.left] * self.copies[pair.right]
    }
}

/// Found pairs beside those that exist.
#[derive(Default)]
struct Matched {
    pairs: u64,
    weight: u64,
    /// Found pairs that do not exist, or not with that similarity.
    wrong: u64,
}

impl Matched {
    /// Both lists are sorted by left, then right.
    fn of(exact: &[Pair], found: impl Iterator<Item = Pair>, distinct: &Distinct) -> Self {
        let mut matched = Self::default();
        let mut next = 0;
        for pair in found {
            while next < exact.len() && (exact[next].left, exact[next].right) < (pair.left, pair.right) {
                next += 1;
            }
            if exact.get(next) == Some(&pair) {
                matched.pairs += 1;
                matched.weight += distinct.weight(&pair);
            } else {
                matched.wrong += 1;
            }
        }
        matched
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}
