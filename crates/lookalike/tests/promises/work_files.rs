//! Promise 6: however little room there is, and whoever did which part of the work before, the answer is the same.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use lookalike::{
    Asked, Batch, Decided, Error, Grouping, Outcome, Pair, Plan, RecordNumber, Resources, Segment, Settings, Shard,
    ShingleLists, Shingles, Sketched, Stage, Stamp, Summary, Supply, Take, Unwatched, Verify, WorkFolder,
};

use crate::families;

/// Texts that can be shingled again.
struct Texts<'a>(&'a Plan, &'a [String]);

impl Supply for Texts<'_> {
    fn supply(&self, asked: &[Asked], take: &Take<'_>) -> Result<(), Error> {
        let mut shingler = self.0.supplier();
        for (at, record) in asked.iter().enumerate() {
            let mut lists = ShingleLists::default();
            lists.push_with(|all| shingler.append_text(&self.1[record.number.position() as usize], all));
            take(at, &mut lists)?;
        }
        Ok(())
    }
}

/// All texts, sketched in batches, of which every other pair is put into a work file.
fn sketched(plan: &Plan, texts: &[String], folder: &WorkFolder) -> Vec<Sketched> {
    let mut sketcher = plan.sketcher().forget_shingles();
    let batches: Vec<Sketched> = texts
        .chunks(10)
        .enumerate()
        .map(|(at, texts)| {
            let mut batch = Batch::new();
            for (position, text) in texts.iter().enumerate() {
                batch.push_text(RecordNumber::new(0, (10 * at + position) as u64), text);
            }
            sketcher.sketch(&batch)
        })
        .collect();
    let mut all = Vec::new();
    for (at, pair) in batches.chunks(2).enumerate() {
        if at % 2 == 0 {
            all.extend_from_slice(pair);
            continue;
        }
        let mut segment = Segment::default();
        pair.iter().for_each(|batch| segment.push(batch.clone(), Vec::new()));
        all.extend(segment.store(&folder.path().join(format!("read-{at}")), folder.stamp()).unwrap());
    }
    all
}

fn said(found: &Outcome) -> (Vec<usize>, Vec<Pair>, Summary) {
    (found.kept().collect(), found.pairs().collect(), found.summary().clone())
}

fn work_folder(path: &Path) -> WorkFolder {
    WorkFolder::new(path, Stamp::of("a test"))
}

#[test]
fn promise_6_room_and_work_files_do_not_change_the_answer() {
    let texts = families::draw(11, 40, 12, 60);
    for (grouping, verify) in [
        (Grouping::Anchored, Verify::Exact),
        (Grouping::Connected, Verify::Exact),
        (Grouping::Anchored, Verify::Edit),
        (Grouping::Connected, Verify::Edit),
    ] {
        let settings = Settings::new(0.5).shingles(Shingles::words(3)).group(grouping).verify(verify);
        let plan = settings.plan().unwrap();
        let expected = said(&plan.run(&texts).unwrap());
        assert!(expected.1.len() > 500, "{} pairs are no test", expected.1.len());
        let supply = Texts(&plan, &texts);
        // From everything at once to two records at a time.
        for room in [u64::MAX, 100_000, 20_000, 2_000] {
            let path = tempfile::tempdir().unwrap();
            let folder = work_folder(path.path());
            for work in [None, Some(&folder), Some(&folder)] {
                let new = sketched(&plan, &texts, &folder);
                let resources = Resources { supply: Some(&supply), room, work, ..Resources::default() };
                let found = plan.finish_with(Vec::new(), new, &resources, &Unwatched).unwrap();
                assert!(
                    said(&found) == expected,
                    "{grouping:?}, {verify:?}, room {room}, work files: {}",
                    work.is_some()
                );
            }
        }
    }
}

#[test]
fn who_is_dropped_is_told_while_others_are_verified() {
    let texts = families::draw(13, 700, 5, 30);
    let plan = Settings::new(0.6).shingles(Shingles::words(2)).plan().unwrap();
    let expected = said(&plan.run(&texts).unwrap());
    let dropped: Vec<u32> =
        (0..texts.len()).filter(|at| expected.0.binary_search(at).is_err()).map(|at| at as u32).collect();
    assert!(dropped.len() > 500, "{} dropped are no test", dropped.len());
    let supply = Texts(&plan, &texts);
    let path = tempfile::tempdir().unwrap();
    let folder = work_folder(path.path());
    // The second time, all similarities are known from the first.
    for (room, times, work) in
        [(u64::MAX, 4, None), (u64::MAX, 4, Some(&folder)), (u64::MAX, 4, Some(&folder)), (100_000, 0, None)]
    {
        let told = Mutex::new((Vec::new(), Vec::new()));
        let tell = |decided: Decided<'_>| {
            let (places, all) = &mut *told.lock().unwrap();
            places.push(decided.behind);
            all.extend_from_slice(decided.dropped);
            assert_eq!(decided.numbers.len(), texts.len());
            Ok(())
        };
        let resources = Resources { supply: Some(&supply), room, work, decided: Some(&tell), ..Resources::default() };
        let new = sketched(&plan, &texts, &folder);
        let found = plan.finish_with(Vec::new(), new, &resources, &Unwatched).unwrap();
        assert!(said(&found) == expected);
        let (places, all) = told.into_inner().unwrap();
        assert!(places.len() == times && places.is_sorted(), "{places:?}");
        if times > 0 {
            assert_eq!(places.last(), Some(&texts.len()));
            assert_eq!(all, dropped);
        }
    }
}

#[test]
fn parts_that_others_did_are_picked_up() {
    let texts = families::draw(12, 30, 10, 60);
    let plan = Settings::new(0.6).shingles(Shingles::words(3)).plan().unwrap();
    let expected = said(&plan.run(&texts).unwrap());
    let supply = Texts(&plan, &texts);
    let path = tempfile::tempdir().unwrap();
    let folder = work_folder(path.path());
    for (at, (stage, shards)) in [(Stage::Band, "1/3"), (Stage::Verify, "1/5")].into_iter().enumerate() {
        let shards: Shard = shards.parse().unwrap();
        for shard in shards.all() {
            let resources = Resources {
                supply: Some(&supply),
                room: 50_000 << (10 * at),
                work: Some(&folder),
                ..Resources::default()
            };
            let new = sketched(&plan, &texts, &folder);
            plan.prepare(stage, shard, (Vec::new(), new), &resources, &Unwatched).unwrap();
        }
    }
    // Nothing is left to compare; only records with the same keys are looked at to tell whether they are identical.
    let few = Counted(&supply, AtomicUsize::new(0));
    let resources = Resources { supply: Some(&few), room: 9_999, work: Some(&folder), ..Resources::default() };
    let found = plan.finish_with(Vec::new(), sketched(&plan, &texts, &folder), &resources, &Unwatched).unwrap();
    assert!(said(&found) == expected);
    assert!(few.1.load(Ordering::Relaxed) < texts.len() / 10);
    let many = Counted(&supply, AtomicUsize::new(0));
    let resources = Resources { supply: Some(&many), ..Resources::default() };
    plan.finish_with(Vec::new(), sketched(&plan, &texts, &folder), &resources, &Unwatched).unwrap();
    assert!(many.1.load(Ordering::Relaxed) > texts.len() / 2);
}

/// Counts the records that are asked for.
struct Counted<'a>(&'a Texts<'a>, AtomicUsize);

impl Supply for Counted<'_> {
    fn supply(&self, asked: &[Asked], take: &Take<'_>) -> Result<(), Error> {
        self.1.fetch_add(asked.len(), Ordering::Relaxed);
        self.0.supply(asked, take)
    }
}
