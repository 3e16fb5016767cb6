//! A thousand random small corpora, answered twice: by the engine, and by an oracle that compares every record with
//! every other. The oracle shares no code with the engine: it cuts texts into strings and compares sets of strings.

mod oracle_answer;
mod random;

use std::collections::BTreeMap;

use lookalike::{Batch, RecordNumber};
use lookalike::{Grouping, Keep, KeepValue, Measure, Outcome, Plan, Settings, Shingles, Unwatched, hash_item};
use oracle_answer::{Answer, Corpus, Field, Pairs, Record};
use random::Random;

const CORPORA: u64 = 1_000;

/// Thresholds at which small sets have exact ties.
const THRESHOLDS: [f64; 9] = [0.1, 0.25, 1.0 / 3.0, 0.5, 0.6, 2.0 / 3.0, 0.75, 0.8, 1.0];

/// A corpus and what is asked of it.
fn draw(seed: u64) -> (Corpus, Settings) {
    let mut random = Random::new(seed);
    let kinds = ["words:1", "words:2", "words:3", "words:3/2", "words:4/4", "chars:2", "chars:5", "chars:4/3", "lines"];
    let shingles: Shingles = kinds[random.below(kinds.len())].parse().unwrap();
    let keeps =
        [Keep::First, Keep::Last, Keep::Longest, Keep::Shortest, Keep::Max("score".into()), Keep::Min("score".into())];
    let measure = if random.below(4) == 0 { Measure::Containment } else { Measure::Jaccard };
    let settings = Settings::new(THRESHOLDS[random.below(THRESHOLDS.len())])
        .shingles(shingles)
        .bag(random.below(3) == 0)
        .measure(measure)
        .keep(keeps[random.below(keeps.len())].clone())
        .group(if random.below(4) == 0 { Grouping::Connected } else { Grouping::Anchored })
        .seed(seed);
    let is_sets = random.below(4) == 0;
    let has_within = random.below(5) == 0;
    let mut records: Vec<Record> = Vec::new();
    for _ in 0..2 + random.below(24) {
        let mut record = match records.len() {
            // A copy, often with a change: so that every similarity up to 1 occurs.
            1.. if random.below(2) == 0 => {
                let source = random.below(records.len());
                let mut copy = records[source].clone();
                for _ in 0..random.below(3) {
                    copy.change(&mut random);
                }
                copy
            }
            _ => Record::draw(&mut random, is_sets),
        };
        record.score = match random.below(5) {
            0 => Field::Missing,
            1 => Field::Text(["9", "10", "b"][random.below(3)].into()),
            _ => Field::Number([-1.5, 2.0, 10.0][random.below(3)]),
        };
        record.within = has_within.then(|| random.below(2).to_string());
        records.push(record);
    }
    let old = if random.below(3) == 0 { random.below(records.len()) } else { 0 };
    (Corpus { records, old }, settings)
}

/// The engine's answer; records come in batches of any size.
fn run(plan: &Plan, corpus: &Corpus, random: &mut Random) -> Outcome {
    let mut sketcher = plan.sketcher();
    let mut sketch = |records: &[Record]| {
        let mut batches = Vec::new();
        let mut batch = Batch::new();
        for (position, record) in records.iter().enumerate() {
            let number = RecordNumber::new(0, position as u64);
            match &record.content {
                oracle_answer::Content::Text(text) => batch.push_text(number, text),
                oracle_answer::Content::Set(items) => {
                    batch.push_set(number, items.iter().map(|item| hash_item(item.as_bytes())));
                }
            }
            batch.push_keep(match &record.score {
                Field::Missing => KeepValue::Missing,
                Field::Number(number) => KeepValue::Number(*number),
                Field::Text(text) => KeepValue::Text(text.as_str().into()),
            });
            if let Some(within) = &record.within {
                batch.push_within(within.as_bytes());
            }
            if random.below(4) == 0 {
                batches.push(sketcher.sketch(&batch));
                batch.clear();
            }
        }
        batches.push(sketcher.sketch(&batch));
        batches
    };
    let (old, new) = corpus.records.split_at(corpus.old);
    let (old, new) = (sketch(old), sketch(new));
    plan.finish(old, new, &Unwatched).unwrap()
}

fn pairs_of(found: &Outcome) -> Pairs {
    found.pairs().map(|pair| ((pair.left, pair.right), pair.similarity)).collect()
}

/// Everything that an outcome says, against the oracle's groups over the same pairs.
fn assert_same_groups(found: &Outcome, answer: &Answer, corpus: &Corpus, seed: u64) {
    let context = || format!("corpus {seed}: {:?}\n{corpus:#?}", found.summary());
    let mut groups: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for (record, keeper) in answer.keeper_of.iter().enumerate() {
        assert_eq!(found.original_of(record), *keeper, "record {record} of {}", context());
        if let Some((keeper, similarity)) = keeper {
            groups.entry(*keeper).or_default().push((record, *similarity));
        }
    }
    let kept: Vec<usize> =
        (corpus.old..corpus.records.len()).filter(|record| answer.keeper_of[*record].is_none()).collect();
    assert_eq!(found.kept().collect::<Vec<_>>(), kept, "{}", context());
    let found_groups: Vec<_> = found.groups().into_iter().map(|group| (group.keeper, group.members)).collect();
    assert_eq!(found_groups, groups.iter().map(|(k, m)| (*k, m.clone())).collect::<Vec<_>>(), "{}", context());
    let summary = found.summary();
    assert_eq!((summary.old, summary.records), (corpus.old as u64, (corpus.records.len() - corpus.old) as u64));
    assert_eq!((summary.kept, summary.dropped), (kept.len() as u64, summary.records - kept.len() as u64));
    assert_eq!(summary.groups, groups.len() as u64);
    assert_eq!(summary.largest, groups.values().map(|members| members.len() as u64 + 1).max().unwrap_or(0));
}

#[test]
fn without_sketches_the_engine_says_what_the_oracle_says() {
    let (mut alike, mut ties) = (0, 0);
    for seed in 0..CORPORA {
        let (corpus, settings) = draw(seed);
        let sets = corpus.sets(&settings);
        let expected = oracle_answer::pairs(&corpus, &sets, &settings);
        let found = run(&settings.clone().exact(true).plan().unwrap(), &corpus, &mut Random::new(seed));
        assert_eq!(pairs_of(&found), expected, "corpus {seed}: {settings:?}\n{corpus:#?}");
        assert_eq!(found.count_pairs(), expected.len() as u64);
        let answer = oracle_answer::group(&corpus, &sets, &expected, &settings);
        assert_same_groups(&found, &answer, &corpus, seed);
        alike += expected.len();
        ties += expected.values().filter(|similarity| **similarity == settings.threshold).count();

        if settings.group == Grouping::Anchored {
            for threshold in THRESHOLDS.into_iter().filter(|threshold| *threshold >= settings.threshold) {
                let stricter = Settings { threshold, ..settings.clone() };
                let expected = oracle_answer::pairs(&corpus, &sets, &stricter);
                let found = found.at_threshold(threshold).unwrap();
                assert_eq!(pairs_of(&found), expected);
                let answer = oracle_answer::group(&corpus, &sets, &expected, &stricter);
                assert_same_groups(&found, &answer, &corpus, seed);
            }
        }
    }
    assert!(alike > 10_000 && ties > 1_000, "{alike} pairs, {ties} at the threshold, are too few to say anything");
}

/// With sketches pairs may be missed, as often as the plan says; what is reported is exact all the same, and the groups
/// follow from it.
#[test]
fn with_sketches_the_engine_misses_no_more_than_the_plan_says() {
    const RECALLS: [f64; 4] = [0.3, 0.5, 0.8, 0.95];
    let (mut missed, mut expected_missed, mut squares) = (0.0, 0.0, 0.0);
    for seed in 0..CORPORA {
        let (corpus, settings) = draw(seed);
        let settings = settings.measure(Measure::Jaccard).recall(RECALLS[seed as usize % RECALLS.len()]);
        let plan = settings.clone().plan().unwrap();
        let sets = corpus.sets(&settings);
        let all = oracle_answer::pairs(&corpus, &sets, &settings);
        let found = run(&plan, &corpus, &mut Random::new(seed));
        let pairs = pairs_of(&found);
        for (pair, similarity) in &pairs {
            assert_eq!(all.get(pair), Some(similarity), "corpus {seed}: {pair:?} {settings:?}\n{corpus:#?}");
        }
        let answer = oracle_answer::group(&corpus, &sets, &pairs, &settings);
        assert_same_groups(&found, &answer, &corpus, seed);

        let missed_here = (all.len() - pairs.len()) as f64;
        let expected_here: f64 = all.values().map(|similarity| 1.0 - plan.finds(*similarity)).sum();
        missed += missed_here;
        expected_missed += expected_here;
        // The pairs of one corpus share records, and so are missed together: corpora are what is independent.
        squares += (missed_here - expected_here).powi(2);
    }
    assert!(expected_missed > 100.0, "{expected_missed} expected misses are too few to say anything");
    let off = (missed - expected_missed) / f64::sqrt(squares);
    assert!(off.abs() <= 4.0, "{missed} pairs missed, {expected_missed} expected: {off:.1} standard errors");
}
