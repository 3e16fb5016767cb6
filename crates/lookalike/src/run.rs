//! The pipeline on one page: the only file that knows every stage.

use std::sync::Arc;

use rayon::prelude::*;

use crate::band::{Banding, Candidates, Crowds, sample_of};
use crate::batch::{Batch, KeepValue, RecordNumber};
use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::{Error, ErrorKind, Result};
use crate::exact;
use crate::fingerprint::find_contained;
use crate::group::{EarlyDecisions, Hear, anchored, connected};
use crate::observed::Observed;
use crate::outcome::{Outcome, Summary};
use crate::plan::{Method, Plan, Scheme};
use crate::settings::{Grouping, Measure, Settings, Verify};
use crate::shard::Shard;
use crate::shingle::Shape;
use crate::sketched::{Sketched, Sketcher};
use crate::supply::Supply;
use crate::verify::{self, Edge, Likeness, similarities};
use crate::watch::{Stage, Unwatched, Watch, check_cancelled};
use crate::work::{Checkpoint, WorkFile, WorkFolder, WorkWriter, load_or_make};

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
    /// Who hears which records are dropped while others are still being verified, as far as that can be told.
    pub decided: Option<&'a Hear<'a>>,
    /// Whether every pair is asked for. Where only who is kept for whom is, much is left out among many records that are all
    /// alike: [`Outcome::knows_all_pairs`].
    pub needs_pairs: bool,
}

impl Default for Resources<'_> {
    fn default() -> Self {
        Self { supply: None, room: u64::MAX, work: None, decided: None, needs_pairs: true }
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
        self.run_on(&mut Collection::new(self, old, new, resources)?, watch)
    }

    /// The stages after sketching, on records that somebody else needs afterwards.
    pub(crate) fn run_on(&self, collection: &mut Collection<'_>, watch: &dyn Watch) -> Result<Outcome> {
        let settings = self.settings();
        let mut summary = count_records(collection, settings);

        watch.begin(Stage::Band, None);
        let classes = Classes::new(collection, &settings.keep)?;
        check_cancelled(watch)?;
        summary.classes = classes.len() as u64;
        let Edges { edges, observed, are_all } = self.find_edges(collection, &classes, &mut summary, watch)?;

        watch.begin(Stage::Group, None);
        check_cancelled(watch)?;
        let collection = &*collection;
        let group = || match settings.group {
            Grouping::Anchored => Ok(anchored(&classes, &edges, settings.measure)),
            Grouping::Connected => {
                let likeness = match settings.measure {
                    Measure::Jaccard => Likeness::of(collection),
                    Measure::Containment => Likeness::Containment,
                };
                connected(&classes, &edges, |pairs| similarities(collection, &classes, pairs, likeness, watch))
            }
        };
        // A run that copies the records itself is nearly done, and makes anchored groups again about as quickly as it would load them.
        let Resources { work, decided, .. } = collection.resources();
        let work = work.filter(|_| decided.is_none() || settings.group != Grouping::Anchored);
        let assignment = load_or_make(work, "groups", Stage::Group, watch, group)?;
        let numbers = Arc::clone(collection.numbers());
        let (settings, sizes) = (settings.clone(), Vec::new());
        let mut outcome = Outcome {
            settings,
            numbers,
            classes,
            edges,
            knows_all_pairs: are_all,
            assignment,
            sizes,
            summary,
            observed,
        };
        outcome.count();
        Ok(outcome)
    }

    /// Does one part of a stage's work and leaves it in work files, where [`Plan::finish_with`] picks it up. Parts can be done
    /// in any order, by many programs at once. Only [`Stage::Band`] and [`Stage::Verify`] can be divided.
    pub fn prepare(
        &self,
        stage: Stage,
        shard: Shard,
        (old, new): (Vec<Sketched>, Vec<Sketched>),
        resources: &Resources<'_>,
        watch: &dyn Watch,
    ) -> Result<()> {
        let collection = Collection::new(self, old, new, resources)?;
        let Method::Sketches(scheme) = self.method() else {
            return Err(Error::new(ErrorKind::Setting, "without sketches, the work cannot be divided"));
        };
        let classes = Classes::new(&collection, &self.settings().keep)?;
        // Whoever verifies a part does not know who is kept.
        let banding = self.banding(&scheme, &collection, &classes, true, watch);
        match stage {
            Stage::Band => banding.prepare(shard),
            Stage::Verify if matches!(self.settings().verify, Verify::Exact | Verify::Edit) => {
                verify::verify_part(&collection, &classes, &mut banding.find()?.pairs, shard, watch)
            }
            _ => Ok(()),
        }
    }

    fn banding<'a>(
        &self,
        scheme: &Scheme,
        collection: &'a Collection<'a>,
        classes: &'a Classes,
        lists_all: bool,
        watch: &'a dyn Watch,
    ) -> Banding<'a, impl Fn(u32) -> bool + Sync + use<>> {
        let (check, threshold) = (self.settings().verify, self.settings().threshold);
        let (slots, rows, least_agreement) = (f64::from(scheme.slots), scheme.bands.rows(), scheme.least_agreement);
        let passes = move |agreeing: u32| match check {
            Verify::Exact => agreeing >= least_agreement,
            Verify::Estimate => f64::from(agreeing) / slots >= threshold,
            // Few edits can cost many shingles. What shares no band has its key in common by chance.
            Verify::Edit | Verify::Off => agreeing >= rows,
        };
        let bands = scheme.bands.keys() as usize;
        Banding { collection, classes, bands, rule: self.bucket_rule(), passes, lists_all, watch }
    }

    /// The pairs of classes that are alike, by whichever method the plan names, and what was seen on the way.
    fn find_edges(
        &self,
        collection: &mut Collection<'_>,
        classes: &Classes,
        summary: &mut Summary,
        watch: &dyn Watch,
    ) -> Result<Edges> {
        let settings = self.settings();
        let threshold = settings.threshold;
        match self.method() {
            Method::Sketches(scheme) => {
                let is_verified = matches!(settings.verify, Verify::Exact | Verify::Edit);
                let is_decided_in_order = is_verified && settings.group == Grouping::Anchored;
                let lists_all = collection.resources().needs_pairs || !is_decided_in_order;
                let mut candidates = self.banding(&scheme, collection, classes, lists_all, watch).find()?;
                collection.forget_sketches(candidates.crowds.as_ref().is_some_and(Crowds::need_slots));
                let collection = &*collection;
                let are_all = candidates.crowds.is_none();
                if are_all {
                    let across = candidates.pairs.iter().map(|pair| (pair.left, pair.right));
                    watch.expect_pairs(classes.count_pairs(across, settings.measure));
                }
                let tell = collection.resources().decided;
                let mut decisions = EarlyDecisions::new(settings, collection.numbers(), tell);
                if is_verified {
                    verify::verify(collection, classes, threshold, &mut candidates, decisions.as_mut(), watch)?;
                }
                let Candidates { pairs: edges, looked_at, comparisons, bounded, left_out, observed, .. } = candidates;
                summary.comparisons = comparisons;
                summary.candidates = looked_at;
                summary.bounded_buckets = bounded.buckets;
                summary.bounded_comparisons = bounded.comparisons;
                let lost = || estimate_lost(collection, classes, &left_out, &edges, threshold, watch).map(Lost);
                let name = if are_all { "lost" } else { "lost-kept" };
                summary.bounded_lost_pairs =
                    load_or_make(collection.resources().work, name, Stage::Verify, watch, lost)?.0;
                Ok(Edges { edges, observed, are_all })
            }
            Method::Fingerprints(selection) if !collection.holds_sets() => {
                watch.begin(Stage::Verify, Some(classes.len() as u64));
                let found = find_contained(collection, classes, selection, self.bucket_rule(), threshold, watch)?;
                summary.candidates = found.candidates;
                summary.comparisons = found.candidates;
                summary.bounded_buckets = found.bounded_lists;
                summary.bounded_comparisons = found.bounded_comparisons;
                let pairs = found.edges.iter().map(|edge| (edge.left, edge.right));
                watch.expect_pairs(classes.count_pairs(pairs, settings.measure));
                Ok(Edges { edges: found.edges, observed: Observed::default(), are_all: true })
            }
            Method::InvertedLists | Method::Fingerprints(_) => {
                watch.begin(Stage::Verify, Some(classes.len() as u64));
                let edges = exact::find_all(collection, classes, settings.measure, threshold, watch)?;
                Ok(Edges { edges, observed: Observed::default(), are_all: true })
            }
        }
    }
}

/// Pairs of classes that are alike.
struct Edges {
    edges: Vec<Edge>,
    observed: Observed,
    /// Whether these are all that were to be found, or only those that decide who is kept.
    are_all: bool,
}

/// About how many pairs the bucket rule misses.
struct Lost(u64);

impl Checkpoint for Lost {
    fn save(&self, writer: &mut WorkWriter) -> Result<()> {
        writer.column(&[self.0])
    }

    fn load(file: &WorkFile) -> Result<Self> {
        file.column(0)?.first().copied().map(Self).ok_or_else(|| file.damaged())
    }
}

/// How many pairs of records were missed because their buckets were too large: an estimate from a sample.
fn estimate_lost(
    collection: &Collection<'_>,
    classes: &Classes,
    left_out: &[Vec<u32>],
    found: &[Edge],
    threshold: f64,
    watch: &dyn Watch,
) -> Result<u64> {
    let is_found =
        |left: u32, right: u32| found.binary_search_by_key(&(left, right), |edge| (edge.left, edge.right)).is_ok();
    let sample = sample_of(left_out);
    let missed: Vec<&(u32, u32, f64)> = sample
        .iter()
        .filter(|(left, right, _)| classes.may_pair(*left, *right) && !is_found(*left, *right))
        .filter(|(left, right, _)| collection.may_meet(classes.representative(*left), classes.representative(*right)))
        .collect();
    let pairs: Vec<(u32, u32)> = missed.iter().map(|(left, right, _)| (*left, *right)).collect();
    let similarities = similarities(collection, classes, &pairs, Likeness::of(collection), watch)?;
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
