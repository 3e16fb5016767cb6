//! What a run saw on its way, for those who want to look: which buckets were crowded, and what just missed the threshold.

use crate::band::Buckets;
use crate::classes::Classes;
use crate::verify::Edge;

/// Crowded buckets that are remembered.
const HOTTEST: usize = 10;
/// Members of each that stand for it.
const SAMPLE: usize = 4;
/// Pairs below the threshold that are remembered.
const NEAREST: usize = 20;
/// Parts into which similarities from 0 to 1 are counted.
pub(crate) const BINS: usize = 50;

/// What a run saw on its way. The same whatever the threads, the memory and the interruptions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    /// The largest buckets: how many classes each has, and the first of them.
    pub(crate) hottest: Vec<(usize, Vec<u32>)>,
    /// How alike candidates below the threshold are: pairs of records in each part.
    pub(crate) below: Vec<u64>,
    /// Those of them that are nearest to it, pairs of classes, the nearest first.
    pub(crate) nearest: Vec<Edge>,
}

impl Observed {
    /// Remembers the largest of these buckets. What the same class begins is nearly the same bucket in another band.
    pub(crate) fn see_buckets(&mut self, buckets: &Buckets) {
        for members in buckets.iter().filter(|members| members.len() > 2) {
            let least = self.hottest.get(HOTTEST - 1).map_or(0, |(members, _)| *members);
            if members.len() <= least {
                continue;
            }
            match self.hottest.iter_mut().find(|(_, sample)| sample[0] == members[0]) {
                Some((before, _)) if *before >= members.len() => continue,
                Some(known) => *known = (members.len(), sample_of(members)),
                None => self.hottest.push((members.len(), sample_of(members))),
            }
            self.hottest.sort_by_key(|(members, sample)| (std::cmp::Reverse(*members), sample[0]));
            self.hottest.truncate(HOTTEST);
        }
    }

    /// Remembers which of the verified candidates are not alike enough, and how close they were.
    pub(crate) fn see_verified(&mut self, verified: &[Edge], threshold: f64, classes: &Classes) {
        self.below = vec![0; BINS];
        for edge in verified.iter().filter(|edge| edge.similarity < threshold) {
            self.below[bin(edge.similarity)] += pairs_of(edge, classes);
            let is_near = self.nearest.len() < NEAREST || edge.similarity > self.nearest[NEAREST - 1].similarity;
            if is_near {
                let place = self.nearest.partition_point(|nearer| nearer.similarity >= edge.similarity);
                self.nearest.insert(place, *edge);
                self.nearest.truncate(NEAREST);
            }
        }
    }
}

/// Members from all over a bucket: its first ones are often the same text.
fn sample_of(members: &[u32]) -> Vec<u32> {
    let step = members.len().div_ceil(SAMPLE).max(1);
    members.iter().step_by(step).copied().collect()
}

/// The part that counts a similarity.
pub(crate) fn bin(similarity: f64) -> usize {
    // A hair more, so that 0.8 is counted from 0.8 on, whatever its last bit.
    ((similarity * BINS as f64 + 1e-9) as usize).min(BINS - 1)
}

/// Pairs of records that a pair of classes stands for.
pub(crate) fn pairs_of(edge: &Edge, classes: &Classes) -> u64 {
    classes.members(edge.left).len() as u64 * classes.members(edge.right).len() as u64
}
