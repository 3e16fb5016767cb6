//! What the report says, gathered from a run.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use lookalike::{Audit, Group, HotBucket, Method, Pair, Plan};
use lookalike_io::error::Shown;
use minijinja::Value;
use serde::Serialize;

use super::picture;
use super::side_by_side::{SideBySide, longest_shared};
use super::texts::Texts;
use crate::command::Found;

/// Groups, members of a group, borderline pairs on each side, sources and bad records that are shown at most.
const GROUPS: usize = 10;
const MEMBERS: usize = 6;
const PAIRS: usize = 8;
const SOURCES: usize = 40;
const BAD: usize = 20;

/// Everything that the page shows.
#[derive(Serialize)]
pub(super) struct Page {
    version: &'static str,
    seconds: f64,
    megabytes: f64,
    counts: lookalike::Summary,
    dropped_share: f64,
    plan: String,
    promises: Vec<String>,
    gives_up: Vec<&'static str>,
    curve: Value,
    sizes: Option<Value>,
    groups: Vec<ShownGroup>,
    above: Vec<ShownPair>,
    below: Vec<ShownPair>,
    buckets: Vec<ShownBucket>,
    sources: Vec<Source>,
    other_sources: usize,
    bad: Vec<String>,
    bad_count: u64,
    audit: Option<ShownAudit>,
}

#[derive(Serialize)]
struct ShownGroup {
    keeper: String,
    size: usize,
    beginning: Option<String>,
    members: Vec<(String, f64)>,
    /// The keeper beside the member that is least like it.
    least_alike: Option<ShownPair>,
}

#[derive(Serialize)]
struct ShownPair {
    left: String,
    right: String,
    similarity: f64,
    texts: Option<SideBySide>,
}

#[derive(Serialize)]
struct ShownBucket {
    members: usize,
    sample: Vec<(String, Option<String>)>,
    shared: Option<String>,
}

/// Where the records of an input went.
#[derive(Clone, Default, Serialize)]
struct Source {
    name: String,
    records: u64,
    kept: u64,
    /// Dropped for a record of the same input, and of another.
    for_same: u64,
    for_other: u64,
}

#[derive(Serialize)]
struct ShownAudit {
    #[serde(flatten)]
    audit: Audit,
    recall_in_words: String,
}

impl Page {
    pub(super) fn of(found: &Found, audit: Option<&Audit>, seconds: f64) -> Result<Self> {
        let (plan, outcome, records) = (&found.plan, &found.outcome, &found.records);
        let mut groups = outcome.groups();
        let sizes = sizes_of(&groups);
        groups.sort_by_key(|group| (std::cmp::Reverse(group.size()), group.keeper));
        groups.truncate(GROUPS);
        let [above, below] = outcome.borderline(PAIRS);
        let buckets = outcome.hot_buckets();
        let texts = Texts::read(found, &shown_records(&groups, &above, &below, &buckets))?;

        let name = |record: usize| records.name(record).into_owned();
        let pair = |pair: &Pair| ShownPair {
            left: name(pair.left),
            right: name(pair.right),
            similarity: pair.similarity,
            texts: texts.of(pair.left).zip(texts.of(pair.right)).map(|(left, right)| SideBySide::of(plan, left, right)),
        };
        let group = |group: &Group| ShownGroup {
            keeper: name(group.keeper),
            size: group.size(),
            beginning: texts.beginning(group.keeper),
            members: group.members.iter().take(MEMBERS).map(|(member, how)| (name(*member), *how)).collect(),
            least_alike: least_alike(group).map(|least| pair(&least)),
        };
        let bucket = |bucket: &HotBucket| ShownBucket {
            members: bucket.members,
            sample: bucket.sample.iter().map(|record| (name(*record), texts.beginning(*record))).collect(),
            shared: match bucket.sample[..] {
                [first, .., last] => {
                    texts.of(first).zip(texts.of(last)).and_then(|(first, last)| longest_shared(plan, first, last))
                }
                _ => None,
            },
        };
        let (sources, other_sources) = sources_of(found);
        let counts = outcome.summary().clone();
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            seconds,
            megabytes: records.inputs().iter().map(|input| input.size).sum::<u64>() as f64 / 1e6,
            dropped_share: 100.0 * counts.dropped as f64 / counts.records.max(1) as f64,
            plan: plan.to_string(),
            promises: promises_of(plan),
            gives_up: plan.gives_up(),
            curve: Value::from_safe_string(picture::curve_and_histogram(plan, &outcome.histogram())),
            sizes: (!sizes.is_empty()).then(|| Value::from_safe_string(picture::bars(&sizes))),
            groups: groups.iter().map(group).collect(),
            above: above.iter().map(pair).collect(),
            below: below.iter().map(pair).collect(),
            buckets: buckets.iter().map(bucket).collect(),
            sources,
            other_sources,
            bad: records.bad().take(BAD).map(|bad| bad.error.to_string()).collect(),
            bad_count: records.bad().count() as u64,
            audit: audit.map(|audit| ShownAudit {
                audit: audit.clone(),
                recall_in_words: audit.recall.as_ref().map_or_else(
                    || "unknown: nothing in the sample is alike to anything".to_owned(),
                    |recall| {
                        let [share, low, high] = [recall.share, recall.low, recall.high].map(|part| 100.0 * part);
                        format!("{share:.2} % (95 % interval {low:.2} to {high:.2} %)")
                    },
                ),
            }),
            counts,
        })
    }
}

/// What the plan promises, in words.
fn promises_of(plan: &Plan) -> Vec<String> {
    let settings = plan.settings();
    let threshold = settings.threshold;
    let percent = |similarity: f64| match plan.finds(similarity) {
        found if found > 0.9999 => "more than 99.99 %".to_owned(),
        found => format!("{:.2} %", 100.0 * found),
    };
    let mut promises = Vec::new();
    match plan.method() {
        Method::Sketches(scheme) => {
            promises.push(format!(
                "A pair at exactly the threshold of {threshold} is found with a probability of {}; {} keys of {} values each \
                 bring pairs together ({}).",
                percent(threshold),
                scheme.bands.keys(),
                scheme.bands.rows(),
                scheme.bands,
            ));
            let closer: Vec<String> = [threshold + 0.05, threshold + 0.1, 0.95]
                .into_iter()
                .filter(|similarity| *similarity < 1.0 && *similarity > threshold)
                .map(|similarity| format!("{} at {similarity:.2}", percent(similarity)))
                .collect();
            if !closer.is_empty() {
                promises.push(format!("Closer pairs are found more surely: {}.", closer.join(", ")));
            }
        }
        _ => promises.push(format!("Every pair of at least {threshold} is found: nothing is left to chance.")),
    }
    if plan.gives_up().is_empty() {
        promises.push(
            "Every pair was verified by its shingle sets: its similarity is exact, and at least the threshold.".into(),
        );
        promises.push("A record was dropped only for a kept record that is alike to it; chains drop nothing.".into());
    }
    promises
}

fn shown_records(groups: &[Group], above: &[Pair], below: &[Pair], buckets: &[HotBucket]) -> BTreeSet<usize> {
    let in_groups =
        groups.iter().flat_map(|group| std::iter::once(group.keeper).chain(least_alike(group).map(|pair| pair.right)));
    let in_pairs = above.iter().chain(below).flat_map(|pair| [pair.left, pair.right]);
    in_groups.chain(in_pairs).chain(buckets.iter().flat_map(|bucket| bucket.sample.iter().copied())).collect()
}

/// The keeper of a group, and the member that is least like it; none if all are identical.
fn least_alike(group: &Group) -> Option<Pair> {
    let (member, similarity) = group.members.iter().min_by(|left, right| left.1.total_cmp(&right.1))?;
    (*similarity < 1.0).then_some(Pair { left: group.keeper, right: *member, similarity: *similarity })
}

/// How many groups there are of each size.
fn sizes_of(groups: &[Group]) -> Vec<(String, u64)> {
    const UP_TO: [usize; 10] = [2, 3, 4, 5, 10, 100, 1_000, 10_000, 100_000, usize::MAX];
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    for group in groups {
        *counts.entry(UP_TO.partition_point(|most| *most < group.size())).or_default() += 1;
    }
    let label = |bin: usize| match (bin.checked_sub(1).map(|before| UP_TO[before] + 1), UP_TO[bin]) {
        (Some(from), usize::MAX) => format!("{from} and more"),
        (Some(from), to) if from < to => format!("{from} to {to}"),
        (_, to) => to.to_string(),
    };
    counts.into_iter().map(|(bin, count)| (format!("groups of {}", label(bin)), count)).collect()
}

/// Where the records of each input went, the largest inputs first, and how many inputs are not shown.
fn sources_of(found: &Found) -> (Vec<Source>, usize) {
    let (outcome, records) = (&found.outcome, &found.records);
    let mut sources: BTreeMap<usize, Source> = BTreeMap::new();
    for (input, source) in records.new_inputs() {
        sources.insert(input, Source { name: Shown(&source.name).to_string(), ..Source::default() });
    }
    for record in outcome.old()..outcome.len() {
        let input = outcome.numbers()[record].input();
        let Some(source) = sources.get_mut(&input) else { continue };
        source.records += 1;
        match outcome.original_of(record) {
            None => source.kept += 1,
            Some((keeper, _)) if outcome.numbers()[keeper].input() == input => source.for_same += 1,
            Some(_) => source.for_other += 1,
        }
    }
    let mut sources: Vec<Source> = sources.into_values().collect();
    let others = sources.len().saturating_sub(SOURCES);
    sources.sort_by_key(|source| std::cmp::Reverse(source.records));
    sources.truncate(SOURCES);
    (sources, others)
}
