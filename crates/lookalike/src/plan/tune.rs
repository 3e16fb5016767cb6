//! The choice of a scheme: a pure function of threshold, recall and, where given, the number of hashes.
//!
//! Every number of rows needs some number of bands to keep the promise. Few rows make few hashes and many false
//! candidates, many rows the reverse. The choice is the least work by the costs below, on a reference corpus: they are
//! fixed, so that the same settings mean the same scheme on every machine and for every input.

use super::curve::Scheme;
use crate::error::{Error, Result};
use crate::settings::Bands;

/// Shingles of a record of the reference corpus.
const SHINGLES: f64 = 235.0;
/// Nanoseconds for a MinHash value of such a record that its shingles have to be permuted for. Those that one of them falls
/// into cost nothing more than the fall, which is the same for every scheme.
const PERMUTATION_COST: f64 = 15.0;
/// Nanoseconds for one key of a record: made, sorted, its bucket looked at.
const KEY_COST: f64 = 25.0;
/// Nanoseconds for a candidate that turns out not to be a pair.
const FALSE_CANDIDATE_COST: f64 = 250.0;
/// Records of the reference corpus.
const RECORDS: f64 = 1e6;
/// Mean similarity of unrelated records there; their similarities fall off exponentially.
const UNRELATED_SIMILARITY: f64 = 0.02;
/// Related records that a record has there, their similarities spread evenly.
const RELATED_RECORDS: f64 = 10.0;

/// The most hashes that a scheme may take unless told otherwise.
const MOST_HASHES: u32 = 2048;
/// The share of all misses that the filter in front of the exact check may cause.
const FILTER_SHARE: f64 = 0.1;
/// The loss that the filter may cause where the scheme is given, and with it the recall.
const FILTER_LOSS: f64 = 0.001;

/// The cheapest scheme that finds pairs at the threshold with at least this probability.
pub(super) fn choose(threshold: f64, recall: f64, hashes: Option<u32>) -> Result<Scheme> {
    let most = hashes.unwrap_or(MOST_HASHES);
    let mut best: Option<(f64, Scheme)> = None;
    for rows in 1..=most.min(64) {
        let Some(bands) = fewest_bands(threshold, recall, rows, most / rows) else { continue };
        let slots = hashes.unwrap_or(bands * rows);
        let free = Scheme { slots, bands: Bands::Disjoint { bands, rows }, least_agreement: 0 };
        let cost = cost(&free, threshold);
        if best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, free));
        }
    }
    let (_, free) = best.ok_or_else(|| {
        let needed = (1..=MOST_HASHES).find(|hashes| fewest_bands(threshold, recall, 1, *hashes).is_some());
        let advice = match needed {
            Some(needed) => {
                format!("allow at least {needed} hashes, or a lower recall, or use --exact, which misses nothing")
            }
            None => "lower the recall, raise the threshold, or use --exact, which misses nothing".into(),
        };
        Error::setting(format!("{most} hashes cannot find pairs at {threshold} with probability {recall}"))
            .advise(advice)
    })?;
    let most_lost = (free.finds(threshold) - recall).min((1.0 - recall) * FILTER_SHARE);
    Ok(with_filter(free, threshold, most_lost))
}

/// A scheme that the user gave, with its filter.
pub(super) fn given(bands: Bands, slots: u32, threshold: f64) -> Scheme {
    with_filter(Scheme { slots, bands, least_agreement: 0 }, threshold, FILTER_LOSS)
}

/// The fewest bands of so many rows that keep the promise.
fn fewest_bands(threshold: f64, recall: f64, rows: u32, most: u32) -> Option<u32> {
    let one_band = threshold.powi(rows as i32);
    let finds = |bands: u32| 1.0 - (1.0 - one_band).powi(bands as i32);
    let estimate = ((1.0 - recall).ln() / (1.0 - one_band).ln()).floor();
    if estimate > f64::from(most) {
        return None;
    }
    // Rounding may be off by one either way.
    let from = (estimate as u32).saturating_sub(1).max(1);
    (from..=most).take(4).find(|bands| finds(*bands) >= recall)
}

/// The strictest filter on agreeing slots that loses no more than this of the pairs at the threshold.
fn with_filter(free: Scheme, threshold: f64, most_lost: f64) -> Scheme {
    let unfiltered = free.finds(threshold);
    let loses_little = |least_agreement: &u32| {
        unfiltered - Scheme { least_agreement: *least_agreement, ..free }.finds(threshold) <= most_lost
    };
    let (mut low, mut high) = (0, free.slots);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if loses_little(&middle) { low = middle } else { high = middle - 1 }
    }
    Scheme { least_agreement: low, ..free }
}

/// Nanoseconds a record on the reference corpus.
fn cost(scheme: &Scheme, threshold: f64) -> f64 {
    const STEPS: usize = 200;
    let rows = scheme.bands.rows() as i32;
    let keys = f64::from(scheme.bands.keys());
    let mut false_candidates = 0.0;
    for step in 0..STEPS {
        let similarity = (step as f64 + 0.5) / STEPS as f64;
        if similarity >= threshold {
            break;
        }
        let width = 1.0 / STEPS as f64;
        let unrelated = RECORDS * (-similarity / UNRELATED_SIMILARITY).exp() / UNRELATED_SIMILARITY * width;
        let related = RELATED_RECORDS * width;
        let met = 1.0 - (1.0 - similarity.powi(rows)).powf(keys);
        false_candidates += (unrelated + related) * met;
    }
    let slots = f64::from(scheme.slots);
    let permuted = slots * (-SHINGLES / slots).exp();
    permuted * PERMUTATION_COST + keys * KEY_COST + false_candidates * FALSE_CANDIDATE_COST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_keeps_the_promise() {
        for threshold in [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0] {
            for recall in [0.5, 0.9, 0.95, 0.99, 0.999] {
                let scheme = choose(threshold, recall, None).unwrap();
                assert!(scheme.finds(threshold) >= recall, "{threshold} {recall} {scheme:?}");
                assert!(scheme.finds((threshold + 0.05f64).min(1.0)) >= scheme.finds(threshold) - 1e-9);
            }
        }
    }

    #[test]
    fn the_choice_for_the_defaults() {
        let scheme = choose(0.8, 0.99, None).unwrap();
        assert_eq!(scheme.bands, Bands::Disjoint { bands: 16, rows: 6 });
        assert!(scheme.least_agreement > 60, "the filter is worth having: {scheme:?}");
    }

    #[test]
    fn a_given_number_of_hashes_is_used_whole() {
        let scheme = choose(0.8, 0.99, Some(128)).unwrap();
        assert_eq!(scheme.slots, 128);
        assert!(scheme.finds(0.8) >= 0.99);
        let error = choose(0.8, 0.99, Some(2)).unwrap_err().to_string();
        assert!(error.contains("at least 3 hashes"), "{error}");
    }
}
