//! How much a plan really finds on the data at hand, against the exact answer for a sample of the records.

use std::collections::HashMap;

use serde::Serialize;

use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::{Error, Result};
use crate::exact::find_neighbours;
use crate::hash::SplitMix;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::run::Resources;
use crate::settings::{Measure, Verify};
use crate::sketched::Sketched;
use crate::watch::{Stage, Watch};

/// A measured share with the interval that holds the true one with 95 % probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The share in the sample.
    pub share: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What an audit measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Audit {
    /// Records of the collection.
    pub records: u64,
    /// Records whose exact neighbours were looked up in the whole collection.
    pub sampled: u64,
    /// Pairs of a sampled record and another that are alike, by the exact answer.
    pub alike: u64,
    /// How many of those the plan found.
    pub found: u64,
    /// Pairs of a sampled record and another that the plan reported.
    pub reported: u64,
    /// How many of those are alike.
    pub correct: u64,
    /// Found over alike; none if nothing in the sample is alike to anything.
    pub recall: Option<Interval>,
    /// Correct over reported; none if nothing was reported for the sample.
    pub precision: Option<Interval>,
    /// The probability with which the plan finds a pair at the threshold.
    pub promised: f64,
    /// The mean probability with which it finds the pairs that are there.
    pub expected: Option<f64>,
}

/// What was counted for one sampled record.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    alike: u64,
    found: u64,
    reported: u64,
    correct: u64,
}

/// Times that the sample is drawn again from itself, for the interval.
const RESAMPLES: usize = 1000;

impl Plan {
    /// Runs the plan, and compares what it found for `sample` records with their exact neighbours. The outcome of the run
    /// comes along.
    ///
    /// Which records are sampled depends on the seed alone. The interval resamples records, not pairs: pairs of one
    /// record stand and fall together.
    pub fn audit(&self, records: Vec<Sketched>, sample: usize, watch: &dyn Watch) -> Result<(Audit, Outcome)> {
        let settings = self.settings();
        if settings.measure != Measure::Jaccard || settings.exact {
            return Err(Error::setting("this plan compares without sketches and misses nothing")
                .advise("audit a plan without --exact and with --measure jaccard"));
        }
        if settings.verify == Verify::Edit {
            return Err(Error::setting("what is alike by edits cannot be found out for all records exactly")
                .advise("audit the plan without --verify edit: its recall is promised for shared shingles"));
        }
        let resources = Resources::default();
        let mut collection = Collection::new(self, Vec::new(), records, &resources)?;
        let outcome = self.run_on(&mut collection, watch)?;
        let classes = &outcome.classes;
        watch.begin(Stage::Verify, None);
        let sampled = draw(collection.len(), sample, settings.seed);
        let wanted: Vec<u32> = sampled.iter().filter_map(|record| classes.class_of(*record)).collect();
        let exact = find_neighbours(&collection, classes, &wanted, settings.threshold, watch)?;

        let mut reported: HashMap<u32, Vec<u32>> = HashMap::new();
        for edge in &outcome.edges {
            reported.entry(edge.left).or_default().push(edge.right);
            reported.entry(edge.right).or_default().push(edge.left);
        }
        let mut chances = (0.0, 0u64);
        let counts: Vec<Counts> = wanted
            .iter()
            .zip(&exact)
            .map(|(class, neighbours)| {
                let none = Vec::new();
                let reported = reported.get(class).unwrap_or(&none);
                for (other, similarity) in neighbours {
                    let pairs = members(classes, *other);
                    chances = (chances.0 + self.finds(*similarity) * pairs as f64, chances.1 + pairs);
                }
                // Records with the very same set are always found: they are one class.
                let twins = members(classes, *class) - 1;
                chances = (chances.0 + twins as f64, chances.1 + twins);
                let is_alike = |other: &u32| neighbours.binary_search_by_key(other, |(other, _)| *other).is_ok();
                let all =
                    |others: &mut dyn Iterator<Item = u32>| others.map(|other| members(classes, other)).sum::<u64>();
                let correct = twins + all(&mut reported.iter().copied().filter(|other| is_alike(other)));
                Counts {
                    alike: twins + all(&mut neighbours.iter().map(|(other, _)| *other)),
                    found: correct,
                    reported: twins + all(&mut reported.iter().copied()),
                    correct,
                }
            })
            .collect();
        let total = sum(counts.iter());
        let audit = Audit {
            records: collection.len() as u64,
            sampled: sampled.len() as u64,
            alike: total.alike,
            found: total.found,
            reported: total.reported,
            correct: total.correct,
            recall: interval(&counts, settings.seed, |counts| (counts.found, counts.alike)),
            precision: interval(&counts, settings.seed, |counts| (counts.correct, counts.reported)),
            promised: self.finds(settings.threshold),
            expected: (chances.1 > 0).then(|| chances.0 / chances.1 as f64),
        };
        Ok((audit, outcome))
    }
}

fn members(classes: &Classes, class: u32) -> u64 {
    classes.members(class).len() as u64
}

/// `count` different records, in ascending order; all of them if there are no more.
fn draw(records: usize, count: usize, seed: u64) -> Vec<u32> {
    let mut random = SplitMix(seed ^ 0x6175_6469_7400);
    let mut drawn: Vec<u32> = (0..records as u32).collect();
    let count = count.min(records);
    for at in 0..count {
        let other = at + random.below((records - at) as u64) as usize;
        drawn.swap(at, other);
    }
    drawn.truncate(count);
    drawn.sort_unstable();
    drawn
}

fn sum<'a>(counts: impl Iterator<Item = &'a Counts>) -> Counts {
    counts.fold(Counts::default(), |sum, counts| Counts {
        alike: sum.alike + counts.alike,
        found: sum.found + counts.found,
        reported: sum.reported + counts.reported,
        correct: sum.correct + counts.correct,
    })
}

/// The share `part / whole` with its interval from resampled records.
fn interval(counts: &[Counts], seed: u64, part_and_whole: impl Fn(&Counts) -> (u64, u64)) -> Option<Interval> {
    let share = |counts: Counts| match part_and_whole(&counts) {
        (_, 0) => None,
        (part, whole) => Some(part as f64 / whole as f64),
    };
    let measured = share(sum(counts.iter()))?;
    let mut random = SplitMix(seed ^ 0x7265_7361_6d70);
    let mut shares: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| share(sum((0..counts.len()).map(|_| &counts[random.below(counts.len() as u64) as usize]))))
        .collect();
    shares.sort_unstable_by(f64::total_cmp);
    let at = |quantile: f64| shares[((shares.len() - 1) as f64 * quantile).round() as usize];
    let (mut low, high) = (at(0.025), at(0.975));
    if measured == 1.0 {
        // Resampling cannot see what the sample has not seen. If n records went well, a share of 0.025^(1/n) of good
        // ones would still do so once in forty times.
        let records = counts.iter().filter(|counts| part_and_whole(counts).1 > 0).count();
        low = 0.025f64.powf(1.0 / records as f64);
    }
    Some(Interval { share: measured, low, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Batch, RecordNumber};
    use crate::settings::{Bands, Settings, Shingles};
    use crate::watch::Unwatched;

    /// Families of four texts, of which one word in twelve differs.
    fn corpus(plan: &Plan) -> Vec<Sketched> {
        let mut random = SplitMix(11);
        let mut batch = Batch::new();
        for family in 0..300 {
            let words: Vec<u64> = (0..60).map(|_| random.below(5000)).collect();
            for copy in 0..4 {
                let text: Vec<String> =
                    words
                        .iter()
                        .map(|word| {
                            if random.below(12) == 0 { format!("x{}", random.below(5000)) } else { format!("w{word}") }
                        })
                        .collect();
                batch.push_text(RecordNumber::new(0, family * 4 + copy), &text.join(" "));
            }
        }
        vec![plan.sketcher().sketch(&batch)]
    }

    #[test]
    fn an_audit_sees_a_plan_that_misses_much() {
        let settings = Settings::new(0.6).shingles(Shingles::words(1));
        let good = settings.clone().plan().unwrap();
        let (audit, _) = good.audit(corpus(&good), 1200, &Unwatched).unwrap();
        let recall = audit.recall.unwrap();
        assert!(
            audit.alike > 1000 && recall.share > 0.985 && recall.low <= recall.share && recall.share <= recall.high
        );
        assert_eq!(audit.precision.unwrap().share, 1.0);

        let bad = settings.bands(Bands::Disjoint { bands: 3, rows: 8 }).plan().unwrap();
        let (audit, _) = bad.audit(corpus(&bad), 300, &Unwatched).unwrap();
        let (recall, expected) = (audit.recall.unwrap(), audit.expected.unwrap());
        assert!(recall.share < 0.8, "{audit:?}");
        assert!(recall.low - 0.02 < expected && expected < recall.high + 0.02, "{audit:?}");
    }

    #[test]
    fn a_sample_has_no_record_twice() {
        let drawn = draw(50, 20, 3);
        assert_eq!(drawn.len(), 20);
        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(draw(5, 20, 3), [0, 1, 2, 3, 4]);
    }
}
