//! What a run found, to be questioned: who is kept, for whom, which pairs, which groups, and at another threshold.

use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;

use crate::batch::RecordNumber;
use crate::classes::Classes;
use crate::error::{Error, ErrorKind, Result};
use crate::group::{Assignment, anchored};
use crate::lists::Lists;
use crate::observed::{BINS, Observed, bin, pairs_of};
use crate::settings::{Grouping, Measure, Settings, Verify};
use crate::verify::Edge;

/// Two records that are alike, called by their indices in input order.
///
/// For Jaccard the left one comes first in the input; for containment the left one is contained in the right one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The one record.
    pub left: usize,
    /// The other.
    pub right: usize,
    /// How alike they are.
    pub similarity: f64,
}

/// Records that are alike to their keeper.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The record that is kept.
    pub keeper: usize,
    /// The others, in input order, each with its similarity to the keeper.
    pub members: Vec<(usize, f64)>,
}

impl Group {
    /// How many records the group has, its keeper included.
    pub fn size(&self) -> usize {
        self.members.len() + 1
    }
}

/// Records that share a key: a template, a licence, a menu, or copies of each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotBucket {
    /// How many different records share it; identical ones count once.
    pub members: usize,
    /// A few of them, from all over the bucket.
    pub sample: Vec<usize>,
}

/// What a run counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Records that were compared; with `--against`, the new ones.
    pub records: u64,
    /// Records that were only compared with (`--against`).
    pub old: u64,
    /// Records that are kept.
    pub kept: u64,
    /// Records that are not.
    pub dropped: u64,
    /// Groups of two or more.
    pub groups: u64,
    /// Records in the largest group.
    pub largest: u64,
    /// Records without anything to compare: alike to nothing, kept.
    pub empty: u64,
    /// Records shorter than a shingle: all of the text is their one shingle.
    pub short: u64,
    /// Records without the field that the keep order reads.
    pub without_keep_field: u64,
    /// Classes of records with identical sets.
    pub classes: u64,
    /// Comparisons of two sketches: a pair is compared wherever it shares a key.
    pub comparisons: u64,
    /// Pairs of classes that passed that.
    pub candidates: u64,
    /// Pairs of classes that are alike.
    pub alike: u64,
    /// Buckets in which not every pair was compared.
    pub bounded_buckets: u64,
    /// Comparisons that were left out there.
    pub bounded_comparisons: u64,
    /// About how many pairs were missed by that: an estimate from a sample of what was left out. Where not all pairs are
    /// known ([`Outcome::knows_all_pairs`]), of pairs among the records that are kept.
    pub bounded_lost_pairs: u64,
}

/// What a run found. Records are called by their indices in input order.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(crate) settings: Settings,
    pub(crate) numbers: Arc<Vec<RecordNumber>>,
    pub(crate) classes: Classes,
    pub(crate) edges: Vec<Edge>,
    pub(crate) knows_all_pairs: bool,
    pub(crate) assignment: Assignment,
    /// For each record, how many have it as their keeper.
    pub(crate) sizes: Vec<u32>,
    pub(crate) summary: Summary,
    pub(crate) observed: Observed,
}

impl Outcome {
    /// How many records there were, old ones included.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there was no record at all.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// How many records at the beginning are old: compared with, never dropped.
    pub fn old(&self) -> usize {
        self.classes.records().1
    }

    /// The numbers of all records.
    pub fn numbers(&self) -> &[RecordNumber] {
        &self.numbers
    }

    /// Whether a record is kept.
    pub fn is_kept(&self, record: usize) -> bool {
        self.assignment.keeper_of[record] as usize == record
    }

    /// The records that are kept, in input order; old ones are not named.
    pub fn kept(&self) -> impl Iterator<Item = usize> + '_ {
        (self.old()..self.len()).filter(|record| self.is_kept(*record))
    }

    /// For a record that was dropped: the record that is kept for it, and how alike they are.
    pub fn original_of(&self, record: usize) -> Option<(usize, f64)> {
        (!self.is_kept(record))
            .then(|| (self.assignment.keeper_of[record] as usize, self.assignment.similarity[record]))
    }

    /// How many records the group of a record has, itself included.
    pub fn group_size(&self, record: usize) -> u64 {
        self.sizes[self.assignment.keeper_of[record] as usize].into()
    }

    /// The groups of two or more, by keeper in input order.
    pub fn groups(&self) -> Vec<Group> {
        let mut dropped: Vec<(usize, usize, f64)> = (0..self.len())
            .into_par_iter()
            .filter_map(|record| self.original_of(record).map(|(keeper, similarity)| (keeper, record, similarity)))
            .collect();
        dropped.par_sort_unstable_by_key(|(keeper, record, _)| (*keeper, *record));
        dropped
            .chunk_by(|left, right| left.0 == right.0)
            .map(|group| Group {
                keeper: group[0].0,
                members: group.iter().map(|(_, record, similarity)| (*record, *similarity)).collect(),
            })
            .collect()
    }

    /// Whether [`Outcome::pairs`] gives all pairs, or only those that decide who is kept: where nobody asked for pairs
    /// ([`crate::Resources::needs_pairs`]) and buckets were crowded.
    pub fn knows_all_pairs(&self) -> bool {
        self.knows_all_pairs
    }

    /// How many pairs [`Outcome::pairs`] gives.
    pub fn count_pairs(&self) -> u64 {
        let edges = self.edges.iter().map(|edge| (edge.left, edge.right));
        self.classes.count_pairs(edges, self.settings.measure)
    }

    /// Every pair that was found alike, sorted by left, then right. Made one record at a time: the number of pairs can
    /// be the square of the number of records.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> + '_ {
        let symmetric = self.settings.measure == Measure::Jaccard;
        let adjacent = partners_of(self.classes.len(), &self.edges, symmetric);
        let mut partners: Vec<(u32, f64)> = Vec::new();
        (0..self.len() as u32).flat_map(move |left| {
            partners.clear();
            if let Some(class) = self.classes.class_of(left) {
                let same = self.classes.members(class).iter().map(|record| (*record, 1.0));
                let others = adjacent.of(class).iter().flat_map(|(other, similarity)| {
                    self.classes.members(*other).iter().map(|record| (*record, *similarity))
                });
                let old = self.old() as u32;
                partners.extend(same.chain(others).filter(|(right, _)| {
                    *right != left && (!symmetric || left < *right) && !(left < old && *right < old)
                }));
                partners.sort_unstable_by_key(|(right, _)| *right);
            }
            let pair = move |(right, similarity)| Pair { left: left as usize, right: right as usize, similarity };
            partners.clone().into_iter().map(pair)
        })
    }

    /// How alike the pairs are that were looked at, in equal parts from 0 to 1: pairs of records in each. Below the
    /// threshold, those that the bands brought together; there are more.
    pub fn histogram(&self) -> Vec<u64> {
        let mut counts = self.observed.below.clone();
        counts.resize(BINS, 0);
        for edge in &self.edges {
            counts[bin(edge.similarity)] += pairs_of(edge, &self.classes);
        }
        counts[BINS - 1] += self.classes.count_pairs(std::iter::empty(), self.settings.measure);
        counts
    }

    /// The pairs just above the threshold and those just below it, the nearest first, at most so many of each. Identical
    /// records are represented by one of them. Below it, only pairs that were verified; none without sketches.
    pub fn borderline(&self, at_most: usize) -> [Vec<Pair>; 2] {
        let pair = |edge: &Edge| {
            let (left, right) = (self.classes.representative(edge.left), self.classes.representative(edge.right));
            let (left, right) = (left as usize, right as usize);
            let is_turned = self.settings.measure == Measure::Jaccard && left > right;
            let (left, right) = if is_turned { (right, left) } else { (left, right) };
            Pair { left, right, similarity: edge.similarity }
        };
        let order = |left: &&Edge, right: &&Edge| {
            left.similarity.total_cmp(&right.similarity).then((left.left, left.right).cmp(&(right.left, right.right)))
        };
        let mut above: Vec<&Edge> = self.edges.iter().collect();
        if above.len() > at_most {
            above.select_nth_unstable_by(at_most, order);
            above.truncate(at_most);
        }
        above.sort_unstable_by(order);
        [above.into_iter().map(pair).collect(), self.observed.nearest.iter().take(at_most).map(pair).collect()]
    }

    /// The most crowded buckets, the largest first.
    pub fn hot_buckets(&self) -> Vec<HotBucket> {
        let record = |class: &u32| self.classes.representative(*class) as usize;
        let bucket = |(members, sample): &(usize, Vec<u32>)| HotBucket {
            members: *members,
            sample: sample.iter().map(record).collect(),
        };
        self.observed.hottest.iter().map(bucket).collect()
    }

    /// From where on records are alike.
    pub fn threshold(&self) -> f64 {
        self.settings.threshold
    }

    /// With containment: how many records are kept, identical ones counted once, although they are contained in others that are
    /// kept too, because those come behind them in keep order.
    pub fn contained_but_kept(&self) -> u64 {
        if self.settings.measure == Measure::Jaccard {
            return 0;
        }
        let is_kept = |class: u32| self.is_kept(self.classes.representative(class) as usize);
        let is_new = |class: u32| self.classes.representative(class) as usize >= self.old();
        let contained = self.edges.iter().filter(|edge| is_new(edge.left) && is_kept(edge.left) && is_kept(edge.right));
        let mut contained: Vec<u32> = contained.map(|edge| edge.left).collect();
        contained.sort_unstable();
        contained.dedup();
        contained.len() as u64
    }

    /// What the run counted.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// What a run at a higher threshold with the same bands would have found, without that run.
    pub fn at_threshold(&self, threshold: f64) -> Result<Outcome> {
        let settings = Settings { threshold, ..self.settings.clone() };
        let (edges, assignment) = self.regroup(threshold)?;
        let mut outcome = Outcome { settings, edges, assignment, ..self.clone() };
        outcome.count();
        Ok(outcome)
    }

    /// What [`Outcome::at_threshold`] would count, for those who want to know no more.
    pub fn summary_at(&self, threshold: f64) -> Result<Summary> {
        let (edges, assignment) = self.regroup(threshold)?;
        let mut summary = self.summary.clone();
        summary.count(&sizes_of(&assignment), self.old(), edges.len());
        Ok(summary)
    }

    /// The highest threshold at which at most so many records are kept.
    ///
    /// # Errors
    /// Where more are kept at the threshold of the run, or another one cannot be had.
    pub fn threshold_for(&self, most_kept: u64) -> Result<f64> {
        let kept = |threshold: f64| self.summary_at(threshold).map(|summary| summary.kept);
        let lowest = self.settings.threshold;
        if kept(lowest)? > most_kept {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!("at {lowest}, {} records are kept, more than {most_kept}", self.summary.kept),
            )
            .advise("choose a lower threshold to search from, or a larger size"));
        }
        if kept(1.0)? <= most_kept {
            return Ok(1.0);
        }
        // Where the answer changes: at the similarities that there are.
        let mut steps: Vec<f64> = self.edges.iter().map(|edge| edge.similarity).collect();
        steps.sort_unstable_by(f64::total_cmp);
        steps.dedup();
        let (mut fits, mut too_many, mut best) = (0, steps.len(), lowest);
        while fits < too_many {
            let middle = fits.midpoint(too_many);
            if kept(steps[middle])? <= most_kept {
                (fits, best) = (middle + 1, steps[middle]);
            } else {
                too_many = middle;
            }
        }
        Ok(best)
    }

    /// The pairs of classes that are alike at a higher threshold, and who is kept then.
    fn regroup(&self, threshold: f64) -> Result<(Vec<Edge>, Assignment)> {
        if !(threshold >= self.settings.threshold && threshold <= 1.0) {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!("pairs below {} were not looked for", self.settings.threshold),
            )
            .advise(format!(
                "ask for a threshold from {} to 1, or run again at the lower one",
                self.settings.threshold
            )));
        }
        if !self.knows_all_pairs {
            return Err(Error::new(ErrorKind::Unavailable, "not all pairs were looked at, as nobody asked for them")
                .advise("run again, and ask for pairs"));
        }
        if self.settings.group != Grouping::Anchored || !matches!(self.settings.verify, Verify::Exact | Verify::Edit) {
            return Err(Error::new(
                ErrorKind::Unavailable,
                "another threshold needs verified pairs and anchored groups",
            )
            .advise("run with --verify exact and --group anchored"));
        }
        let edges: Vec<Edge> = self.edges.iter().copied().filter(|edge| edge.similarity >= threshold).collect();
        let assignment = anchored(&self.classes, &edges, self.settings.measure);
        Ok((edges, assignment))
    }

    /// Counts what the assignment says into the summary.
    pub(crate) fn count(&mut self) {
        self.sizes = sizes_of(&self.assignment);
        self.summary.count(&self.sizes, self.classes.records().1, self.edges.len());
    }
}

impl Summary {
    /// Counts what groups of these sizes mean; the first so many records are old.
    fn count(&mut self, sizes: &[u32], old: usize, alike: usize) {
        self.old = old as u64;
        self.records = (sizes.len() - old) as u64;
        self.alike = alike as u64;
        self.groups = sizes.iter().filter(|size| **size > 1).count() as u64;
        self.largest = sizes.iter().copied().max().filter(|size| *size > 1).unwrap_or(0).into();
        self.kept = sizes[old..].iter().filter(|size| **size > 0).count() as u64;
        self.dropped = self.records - self.kept;
    }
}

/// For each record, how many have it as their keeper.
fn sizes_of(assignment: &Assignment) -> Vec<u32> {
    let mut sizes = vec![0u32; assignment.keeper_of.len()];
    for keeper in &assignment.keeper_of {
        sizes[*keeper as usize] += 1;
    }
    sizes
}

/// For each class, the classes that it makes pairs with as the left one.
fn partners_of(classes: usize, edges: &[Edge], symmetric: bool) -> Lists<(u32, f64)> {
    Lists::new(classes, || {
        edges.iter().flat_map(move |edge| {
            let forth = (edge.left, (edge.right, edge.similarity));
            let back = (edge.right, (edge.left, edge.similarity));
            [Some(forth), symmetric.then_some(back)].into_iter().flatten()
        })
    })
}
