//! Where nobody asks for pairs, most pairs of crowded buckets are not looked at; who is kept for whom is the same.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use lookalike::{
    Asked, Bands, Batch, Decided, Error, Keep, MinHash, Outcome, Plan, RecordNumber, Resources, Segment, Settings,
    ShingleLists, Shingles, Sketched, Stamp, Supply, Take, Unwatched, Verify, WorkFolder, hash_item,
};

use crate::families;
use crate::random::Random;

/// A few large families, in which copies of some texts come again later.
fn texts(seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut texts: Vec<String> = Vec::new();
    for text in families::draw(seed, 5, 320, 40) {
        let copied = random.below(texts.len() + 1);
        let copy = texts.get(copied).filter(|_| random.below(3) == 0).cloned();
        texts.push(text);
        texts.extend(copy);
    }
    texts
}

fn sketched(plan: &Plan, input: u64, texts: &[String]) -> Vec<Sketched> {
    let mut sketcher = plan.sketcher();
    let mut sketch = |(at, texts): (usize, &[String])| {
        let mut batch = Batch::new();
        for (position, text) in texts.iter().enumerate() {
            batch.push_text(RecordNumber::new(input, (100 * at + position) as u64), text);
        }
        sketcher.sketch(&batch)
    };
    texts.chunks(100).enumerate().map(&mut sketch).collect()
}

fn run(plan: &Plan, (old, new): (&[String], &[String]), resources: &Resources<'_>) -> Outcome {
    plan.finish_with(sketched(plan, 0, old), sketched(plan, 1, new), resources, &Unwatched).unwrap()
}

fn keepers(found: &Outcome) -> Vec<Option<(usize, f64)>> {
    (0..found.len()).map(|record| found.original_of(record)).collect()
}

const WITHOUT_PAIRS: Resources<'_> =
    Resources { supply: None, room: u64::MAX, work: None, decided: None, needs_pairs: false };

#[test]
fn the_same_records_are_kept_for_the_same_ones() {
    let settings = || Settings::new(0.7).shingles(Shingles::words(2));
    let choices = [
        ("first", settings()),
        ("longest", settings().keep(Keep::Longest)),
        ("last", settings().keep(Keep::Last)),
        ("edit", settings().verify(Verify::Edit)),
    ];
    for seed in 1..4 {
        let texts = texts(seed);
        for (name, settings) in &choices {
            let plan = settings.clone().plan().unwrap();
            for old in [0, texts.len() / 3] {
                let parts = texts.split_at(old);
                let all = run(&plan, parts, &Resources::default());
                assert!(all.knows_all_pairs() && all.summary().dropped > 500, "{:?}", all.summary());
                // With little room sets are loaded again and again, and pairs that are listed by blocks.
                let mut alike = None;
                for room in [u64::MAX, 200_000, 5_000] {
                    let few = run(&plan, parts, &Resources { room, ..WITHOUT_PAIRS });
                    assert_eq!(
                        *alike.get_or_insert(few.summary().alike),
                        few.summary().alike,
                        "counted with room {room}"
                    );
                    assert!(keepers(&few) == keepers(&all), "seed {seed}, {name}, {old} old ones, room {room}");
                    assert!(!few.knows_all_pairs(), "no bucket was crowded");
                    let (few, all) = (few.summary(), all.summary());
                    assert!(few.alike < all.alike && few.comparisons < all.comparisons, "{few:?} {all:?}");
                }
            }
        }
    }
}

/// Letters of a form, most of them just below the threshold to each other, some above.
#[test]
fn of_many_that_are_just_not_alike_the_same_are_kept() {
    let mut random = Random::new(8);
    let words = |random: &mut Random, count: usize| {
        (0..count).map(|_| format!("w{}", random.below(5_000))).collect::<Vec<_>>().join(" ")
    };
    let form: Vec<String> = (0..6).map(|_| words(&mut random, 20)).collect();
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..900 {
        let mut filled = form.clone();
        let slots = 1 + random.below(6);
        filled.iter_mut().take(slots).for_each(|part| *part = format!("{part} {}", words(&mut random, 3)));
        texts.push(filled.join(" "));
    }
    let plan = Settings::new(0.7).shingles(Shingles::words(3)).plan().unwrap();
    let all = run(&plan, (&[], &texts), &Resources::default());
    let (alike, candidates) = (all.summary().alike, all.summary().candidates);
    assert!(alike > 1_000 && candidates > 10 * alike / 9, "{alike} of {candidates}");
    for room in [u64::MAX, 200_000] {
        let few = run(&plan, (&[], &texts), &Resources { room, ..WITHOUT_PAIRS });
        assert!(!few.knows_all_pairs() && keepers(&few) == keepers(&all), "room {room}");
    }
}

#[test]
fn what_is_dropped_is_told_and_work_files_are_picked_up() {
    let texts = texts(7);
    let plan = Settings::new(0.7).shingles(Shingles::words(2)).plan().unwrap();
    let all = run(&plan, (&[], &texts), &Resources::default());
    let dropped: Vec<u32> = (0..all.len()).filter(|record| !all.is_kept(*record)).map(|record| record as u32).collect();
    let path = tempfile::tempdir().unwrap();
    let folder = WorkFolder::new(path.path(), Stamp::of("a test"));
    for work in [None, Some(&folder), Some(&folder)] {
        let told = Mutex::new(Vec::new());
        let tell = |decided: Decided<'_>| -> Result<(), Error> {
            told.lock().unwrap().extend_from_slice(decided.dropped);
            Ok(())
        };
        let found = run(&plan, (&[], &texts), &Resources { work, decided: Some(&tell), ..WITHOUT_PAIRS });
        assert!(keepers(&found) == keepers(&all));
        assert_eq!(told.into_inner().unwrap(), dropped);
    }
    // What was left by a run that lists some pairs is not taken for all of them, nor the other way round.
    for _ in 0..2 {
        let pairs = run(&plan, (&[], &texts), &Resources { work: Some(&folder), ..Resources::default() });
        assert!(pairs.pairs().eq(all.pairs()));
    }
    assert!(keepers(&run(&plan, (&[], &texts), &Resources { work: Some(&folder), ..WITHOUT_PAIRS })) == keepers(&all));
}

/// Texts that can be had again, but only by going through all of them.
struct Packed<'a> {
    plan: &'a Plan,
    texts: &'a [String],
    calls: AtomicUsize,
}

impl Supply for Packed<'_> {
    fn supply(&self, asked: &[Asked], take: &Take<'_>) -> Result<(), Error> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mut shingler = self.plan.supplier();
        let mut lists = ShingleLists::default();
        for record in asked {
            lists.push_with(|all| shingler.append_text(&self.texts[record.number.position() as usize], all));
        }
        take(0, &mut lists)
    }

    fn goes_through_all(&self) -> bool {
        true
    }
}

#[test]
fn packed_texts_are_gone_through_a_few_times() {
    let texts = texts(5);
    let plan = Settings::new(0.7).shingles(Shingles::words(2)).plan().unwrap();
    let all = run(&plan, (&[], &texts), &Resources::default());
    for (room, most_calls) in [(u64::MAX, 8), (100_000, 80)] {
        let packed = Packed { plan: &plan, texts: &texts, calls: AtomicUsize::new(0) };
        let mut sketcher = plan.sketcher().forget_shingles();
        let mut batch = Batch::new();
        (0..).zip(&texts).for_each(|(position, text)| batch.push_text(RecordNumber::new(1, position), text));
        let resources = Resources { supply: Some(&packed), room, ..WITHOUT_PAIRS };
        let found = plan.finish_with(Vec::new(), vec![sketcher.sketch(&batch)], &resources, &Unwatched).unwrap();
        assert!(keepers(&found) == keepers(&all), "room {room}");
        let calls = packed.calls.into_inner();
        assert!(calls < most_calls, "{calls} times with {room}");
    }
}

#[test]
fn sketches_in_files_are_loaded_when_they_are_needed() {
    let texts = texts(6);
    let plan = Settings::new(0.7).shingles(Shingles::words(2)).plan().unwrap();
    let all = run(&plan, (&[], &texts), &Resources::default());
    let path = tempfile::tempdir().unwrap();
    let packed = Packed { plan: &plan, texts: &texts, calls: AtomicUsize::new(0) };
    let mut sketcher = plan.sketcher().forget_shingles();
    let mut segments = Vec::new();
    for (at, texts) in texts.chunks(300).enumerate() {
        let mut batch = Batch::new();
        (300 * at as u64..)
            .zip(texts)
            .for_each(|(position, text)| batch.push_text(RecordNumber::new(1, position), text));
        let mut segment = Segment::default();
        segment.push(sketcher.sketch(&batch), Vec::new());
        segments.extend(segment.store(&path.path().join(format!("{at}")), Stamp::of("a test")).unwrap());
    }
    for room in [u64::MAX, 50_000] {
        let resources = Resources { supply: Some(&packed), room, ..WITHOUT_PAIRS };
        let found = plan.finish_with(Vec::new(), segments.clone(), &resources, &Unwatched).unwrap();
        assert!(keepers(&found) == keepers(&all) && !found.knows_all_pairs(), "room {room}");
    }
}

#[test]
fn the_bucket_rule_leaves_out_as_much() {
    let plan = Settings::new(0.9).bands(Bands::Disjoint { bands: 1, rows: 1 }).plan().unwrap();
    let item = |number: usize| hash_item(&number.to_le_bytes());
    let minhash = MinHash::new(1, plan.settings().seed);
    let least = (0..120_000).map(item).min_by_key(|item| minhash.sketch(&[*item])[0]).unwrap();
    // All are in one bucket. Behind the first hundred, twenty at a time are alike, and not compared.
    let set = |record: usize| {
        let family = if record < 100 { record } else { 100 + record / 20 };
        (0..40).map(|n| item(40 * family + n)).chain([least, item(100_000 + record)]).collect::<Vec<u64>>()
    };
    let mut batch = Batch::new();
    (0..2_600).for_each(|record| batch.push_set(RecordNumber::new(1, record as u64), set(record)));
    let sketched = vec![plan.sketcher().sketch(&batch)];
    let all = plan.finish(Vec::new(), sketched.clone(), &Unwatched).unwrap();
    let few = plan.finish_with(Vec::new(), sketched, &WITHOUT_PAIRS, &Unwatched).unwrap();
    assert!(keepers(&few) == keepers(&all) && !few.knows_all_pairs());
    let counts = |found: &Outcome| {
        let summary = found.summary();
        (summary.bounded_buckets, summary.bounded_comparisons, summary.bounded_lost_pairs)
    };
    assert_eq!(counts(&few), counts(&all));
    let missed = 2_500 / 20 * (20 * 19 / 2);
    assert!((missed / 2..2 * missed).contains(&few.summary().bounded_lost_pairs), "{:?} of {missed}", counts(&few));
}

#[test]
fn another_threshold_needs_all_pairs() {
    let plan = Settings::new(0.7).shingles(Shingles::words(2)).plan().unwrap();
    let few = run(&plan, (&[], &texts(2)), &WITHOUT_PAIRS);
    let error = few.at_threshold(0.9).unwrap_err().to_string();
    assert!(error.contains("not all pairs were looked at"), "{error}");
    // Without crowded buckets all are known.
    let few = run(&plan, (&[], &families::draw(3, 100, 4, 40)), &WITHOUT_PAIRS);
    assert!(few.knows_all_pairs() && few.at_threshold(0.9).is_ok());
}
