//! The pipeline on one page: the only file that knows every stage.

use rayon::prelude::*;

use crate::band::{Bounded, Candidates, find_candidates};
use crate::batch::{Batch, KeepValue, RecordNumber};
use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::Result;
use crate::exact;
use crate::group::{anchored, connected};
use crate::outcome::{Outcome, Summary};
use crate::plan::{Method, Plan};
use crate::settings::{Grouping, Measure, Settings, Verify};
use crate::shingle::Shape;
use crate::sketched::{Sketched, Sketcher};
use crate::supply::Supply;
use crate::verify::{Edge, containment, jaccard, similarities, verify};
use crate::watch::{Stage, Unwatched, Watch, check_cancelled};
use crate::work::WorkFolder;

/// The near-duplicates among these texts: the front door. The same as `Settings::new(threshold).plan()?.run(texts)`.
///
/// ```
/// let texts = ["the cat sat on the mat today", "something else entirely, as one can see", "The cat sat on the mat today!"];
/// let found = lookalike::dedup(texts, 0.8)?;
/// assert_eq!(found.kept().collect::<Vec<_>>(), [0, 1]);
/// assert_eq!(found.original_of(2), Some((0, 1.0)));
/// # Ok::<(), lookalike::Error>(())
/// ```
pub fn dedup<T: AsRef<str>>(texts: impl IntoIterator<Item = T>, threshold: f64) -> Result<Outcome> {
    Settings::new(threshold).plan()?.run(texts)
}

/// What a run may use.
#[derive(Clone, Copy)]
pub struct Resources<'a> {
    /// Who supplies the shingles of records that did not keep theirs ([`Sketcher::forget_shingles`]).
    pub supply: Option<&'a dyn Supply>,
    /// Bytes that the sketches or the sets may take that are loaded at a time.
    pub room: u64,
    /// Where work files are left, for another attempt to go on from.
    pub work: Option<&'a WorkFolder>,
}

impl Default for Resources<'_> {
    fn default() -> Self {
        Self { supply: None, room: u64::MAX, work: None }
    }
}

impl Plan {
    /// Runs the plan on these texts.
    pub fn run<T: AsRef<str>>(&self, texts: impl IntoIterator<Item = T>) -> Result<Outcome> {
        let texts = texts.into_iter().enumerate();
        self.run_batched(texts, |batch, (position, text)| {
            batch.push_text(RecordNumber::new(0, position as u64), text.as_ref());
            text.as_ref().len()
        })
    }

    /// Runs the plan on these sets of items; an item is given by its hash ([`crate::hash_item`]).
    pub fn run_sets<S: IntoIterator<Item = u64>>(&self, sets: impl IntoIterator<Item = S>) -> Result<Outcome> {
        self.run_batched(sets.into_iter().enumerate(), |batch, (position, set)| {
            batch.push_set(RecordNumber::new(0, position as u64), set);
            64
        })
    }

    /// Fills batches from an iterator, a few at a time, and sketches those in parallel.
    fn run_batched<R>(
        &self,
        records: impl Iterator<Item = R>,
        push: impl Fn(&mut Batch, R) -> usize,
    ) -> Result<Outcome> {
        const BATCH_BYTES: usize = 1 << 20;
        let mut records = records.peekable();
        let mut sketched = Vec::new();
        let mut window: Vec<Batch> = Vec::new();
        window.resize_with(2 * rayon::current_num_threads(), Batch::new);
        while records.peek().is_some() {
            for batch in &mut window {
                batch.clear();
                let mut bytes = 0;
                while bytes < BATCH_BYTES {
                    let Some(record) = records.next() else { break };
                    bytes += push(batch, record) + 16;
                }
            }
            let filled = window.par_iter().filter(|batch| !batch.is_empty());
            sketched.extend(
                filled.map_init(|| self.sketcher(), |sketcher, batch| sketcher.sketch(batch)).collect::<Vec<_>>(),
            );
        }
        self.finish(Vec::new(), sketched, &Unwatched)
    }

    /// What shingles and sketches batches for this plan; one a thread.
    pub fn sketcher(&self) -> Sketcher {
        Sketcher::new(self)
    }

    /// The stages after sketching. Batches come in input order; the records of `old` are compared with and never
    /// dropped. Their shingles were kept.
    pub fn finish(&self, old: Vec<Sketched>, new: Vec<Sketched>, watch: &dyn Watch) -> Result<Outcome> {
        self.finish_with(old, new, &Resources::default(), watch)
    }

    /// [`Plan::finish`] with what it may use. What is found does not depend on that.
    pub fn finish_with(
        &self,
        old: Vec<Sketched>,
        new: Vec<Sketched>,
        resources: &Resources<'_>,
        watch: &dyn Watch,
    ) -> Result<Outcome> {
        self.run_on(&Collection::new(self, old, new, resources)?, watch)
    }

    /// The stages after sketching, on records that somebody else needs afterwards.
    pub(crate) fn run_on(&self, collection: &Collection<'_>, watch: &dyn Watch) -> Result<Outcome> {
        let settings = self.settings();
        let mut summary = count_records(collection, settings);

        watch.begin(Stage::Band, None);
        let classes = Classes::new(collection, &settings.keep)?;
        check_cancelled(watch)?;
        summary.classes = classes.len() as u64;
        let edges = self.find_edges(collection, &classes, &mut summary, watch)?;

        watch.begin(Stage::Group, None);
        check_cancelled(watch)?;
        let assignment = match settings.group {
            Grouping::Anchored => anchored(&classes, &edges, settings.measure),
            Grouping::Connected => {
                let measure = match settings.measure {
                    Measure::Jaccard => jaccard,
                    Measure::Containment => containment,
                };
                connected(&classes, &edges, |pairs| {
                    similarities(collection, &classes, pairs, measure, None, &Unwatched)
                })?
            }
        };
        let numbers = collection.numbers().to_vec();
        let mut outcome =
            Outcome { settings: settings.clone(), numbers, classes, edges, assignment, sizes: Vec::new(), summary };
        outcome.count();
        Ok(outcome)
    }

    /// The pairs of classes that are alike, by whichever method the plan names.
    fn find_edges(
        &self,
        collection: &Collection<'_>,
        classes: &Classes,
        summary: &mut Summary,
        watch: &dyn Watch,
    ) -> Result<Vec<Edge>> {
        let settings = self.settings();
        let threshold = settings.threshold;
        match self.method() {
            Method::Sketches(scheme) => {
                let keys = scheme.bands.keys() as usize;
                watch.begin(Stage::Band, Some(keys as u64));
                let passes = |agreeing: u32| match settings.verify {
                    Verify::Exact => agreeing >= scheme.least_agreement,
                    Verify::Estimate => f64::from(agreeing) / f64::from(scheme.slots) >= threshold,
                    Verify::Off => true,
                };
                let candidates = find_candidates(collection, classes, keys, self.bucket_rule(), passes, watch)?;
                let Candidates { pairs, comparisons, bounded } = candidates;
                summary.comparisons = comparisons;
                summary.candidates = pairs.len() as u64;
                summary.bounded_buckets = bounded.buckets;
                summary.bounded_comparisons = bounded.comparisons;
                let across = pairs.iter().map(|pair| (pair.left, pair.right));
                watch.expect_pairs(classes.count_pairs(across, settings.measure));
                watch.begin(Stage::Verify, Some(pairs.len() as u64));
                let edges = match settings.verify {
                    Verify::Exact => verify(collection, classes, threshold, pairs, watch)?,
                    Verify::Estimate | Verify::Off => pairs,
                };
                summary.bounded_lost_pairs = estimate_lost(collection, classes, &bounded, &edges, threshold)?;
                Ok(edges)
            }
            Method::InvertedLists => {
                watch.begin(Stage::Verify, Some(classes.len() as u64));
                exact::find_all(collection, classes, settings.measure, threshold, watch)
            }
        }
    }
}

/// How many pairs of records were missed because their buckets were too large: an estimate from a sample.
fn estimate_lost(
    collection: &Collection<'_>,
    classes: &Classes,
    bounded: &Bounded,
    found: &[Edge],
    threshold: f64,
) -> Result<u64> {
    let is_found =
        |left: u32, right: u32| found.binary_search_by_key(&(left, right), |edge| (edge.left, edge.right)).is_ok();
    let missed: Vec<&(u32, u32, f64)> = bounded
        .sample
        .iter()
        .filter(|(left, right, _)| classes.may_pair(*left, *right) && !is_found(*left, *right))
        .collect();
    let pairs: Vec<(u32, u32)> = missed.iter().map(|(left, right, _)| (*left, *right)).collect();
    let similarities = similarities(collection, classes, &pairs, jaccard, None, &Unwatched)?;
    let records = |class: u32| classes.members(class).len() as f64;
    let lost = missed.iter().zip(similarities).filter(|(_, similarity)| *similarity >= threshold);
    Ok(lost.map(|((left, right, weight), _)| weight * records(*left) * records(*right)).sum::<f64>().round() as u64)
}

fn count_records(collection: &Collection<'_>, settings: &Settings) -> Summary {
    let mut summary = Summary::default();
    for record in collection.old() as u32..collection.len() as u32 {
        match collection.shape(record) {
            Shape::Empty => summary.empty += 1,
            Shape::Short => summary.short += 1,
            Shape::Full => {}
        }
        if settings.keep.field().is_some() && *collection.keep(record) == KeepValue::Missing {
            summary.without_keep_field += 1;
        }
    }
    summary
}
