//! What the bucket rule leaves out: how many comparisons, and a sample of them, so that the recall they cost can be
//! estimated.

use std::collections::HashMap;

use crate::hash::SplitMix;
use crate::verify::shared;

/// Left-out comparisons that are looked at.
const SAMPLE: u64 = 10_000;

/// What is left out of buckets that are too large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounded {
    /// Buckets that were too large to compare every pair.
    pub(crate) buckets: u64,
    /// Comparisons that were left out, counted in every bucket where the pair would have met.
    pub(crate) comparisons: u64,
}

impl Bounded {
    /// Counts a bucket of which these members are not compared with each other.
    pub(crate) fn count(&mut self, left_out: &[u32]) {
        self.buckets += 1;
        self.comparisons += pairs_of(left_out);
    }
}

fn pairs_of(members: &[u32]) -> u64 {
    members.len() as u64 * (members.len() as u64).saturating_sub(1) / 2
}

/// A sample of what is left out of buckets of which these members are not compared with each other, pairs of classes: each stands
/// for so many pairs.
pub(crate) fn sample_of(left_out: &[Vec<u32>]) -> Vec<(u32, u32, f64)> {
    let comparisons: u64 = left_out.iter().map(|members| pairs_of(members)).sum();
    let size = comparisons.min(SAMPLE);
    // Where in the list of all left-out comparisons the sampled ones stand.
    let mut random = SplitMix(0x626f_756e_6465_6400);
    let mut places: Vec<u64> = (0..size).map(|_| random.below(comparisons)).collect();
    places.sort_unstable();
    let mut sample = Vec::with_capacity(places.len());
    let (mut places, mut before) = (places.into_iter().peekable(), 0);
    for members in left_out {
        while let Some(place) = places.next_if(|place| *place < before + pairs_of(members)) {
            let (left, right) = pair_at(place - before);
            sample.push((members[left], members[right], comparisons as f64 / size as f64));
        }
        before += pairs_of(members);
    }
    // A pair that is left out of several buckets is as many times as likely to be drawn.
    let shared = count_shared(left_out, &sample);
    for ((.., weight), shared) in sample.iter_mut().zip(shared) {
        *weight /= shared as f64;
    }
    sample
}

/// In how many of these buckets both members of each sampled pair are.
fn count_shared(left_out: &[Vec<u32>], sample: &[(u32, u32, f64)]) -> Vec<usize> {
    let mut buckets_of: HashMap<u32, Vec<usize>> =
        sample.iter().flat_map(|(left, right, _)| [(*left, Vec::new()), (*right, Vec::new())]).collect();
    for (bucket, members) in left_out.iter().enumerate() {
        for member in members {
            if let Some(buckets) = buckets_of.get_mut(member) {
                buckets.push(bucket);
            }
        }
    }
    let shared = |(left, right, _): &(u32, u32, f64)| shared(&buckets_of[left], &buckets_of[right]);
    sample.iter().map(shared).collect()
}

/// The pair at a place in the list (0,1), (0,2), (1,2), (0,3), ….
fn pair_at(place: u64) -> (usize, usize) {
    let mut right = ((1.0 + (1.0 + 8.0 * place as f64).sqrt()) / 2.0) as u64;
    // The root of a large number may be off by one.
    while right * (right - 1) / 2 > place {
        right -= 1;
    }
    while right * (right + 1) / 2 <= place {
        right += 1;
    }
    ((place - right * (right - 1) / 2) as usize, right as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_one_pair() {
        let mut place = 0;
        for right in 1..200 {
            for left in 0..right {
                assert_eq!(pair_at(place), (left, right));
                place += 1;
            }
        }
        let (left, right) = pair_at(4_000_000_000 * 3_999_999_999 / 2 - 1);
        assert_eq!((left, right), (3_999_999_998, 3_999_999_999));
    }

    #[test]
    fn the_sample_stands_for_all_that_was_left_out() {
        let (first, second): (Vec<u32>, Vec<u32>) = ((0..400).collect(), (200..600).collect());
        // Pairs inside 200..400 are left out of both buckets.
        let mut bounded = Bounded::default();
        [&first, &second].into_iter().for_each(|members| bounded.count(members));
        assert_eq!(bounded, Bounded { buckets: 2, comparisons: 2 * 400 * 399 / 2 });
        let sample = sample_of(&[first, second]);
        let pairs: f64 = sample.iter().map(|(.., weight)| weight).sum();
        let truth = f64::from(2 * 400 * 399 / 2 - 200 * 199 / 2);
        assert!((pairs / truth - 1.0).abs() < 0.02, "{pairs} {truth}");
        assert!(sample.iter().all(|(left, right, _)| left < right));
    }
}
