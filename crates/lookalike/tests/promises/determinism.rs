//! Promise 5: the same input and settings give the same answer, whatever the threads and the sizes of batches.

use lookalike::{
    Bands, Batch, Group, Grouping, Keep, Measure, Pair, RecordNumber, Settings, Shingles, Summary, Unwatched,
};

use crate::families;

/// All that an outcome says.
#[derive(Debug, PartialEq)]
struct Said {
    kept: Vec<usize>,
    pairs: Vec<Pair>,
    groups: Vec<Group>,
    summary: Summary,
}

/// Runs in a pool of so many threads, on batches of so many records that are sketched in parallel.
fn run(settings: &Settings, texts: &[String], threads: usize, batch_size: usize) -> Said {
    use rayon::prelude::*;
    let plan = settings.clone().plan().unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let found = pool.install(|| {
        let numbered: Vec<(usize, &String)> = texts.iter().enumerate().collect();
        let sketched = numbered
            .par_chunks(batch_size)
            .map_init(
                || plan.sketcher(),
                |sketcher, chunk| {
                    let mut batch = Batch::new();
                    for (position, text) in chunk {
                        batch.push_text(RecordNumber::new(0, *position as u64), text);
                    }
                    sketcher.sketch(&batch)
                },
            )
            .collect();
        plan.finish(Vec::new(), sketched, &Unwatched).unwrap()
    });
    Said {
        kept: found.kept().collect(),
        pairs: found.pairs().collect(),
        groups: found.groups(),
        summary: found.summary().clone(),
    }
}

#[test]
fn promise_5_neither_threads_nor_batches_change_the_answer() {
    // Enough candidates that every stage cuts its work into several pieces.
    let texts = families::draw(8, 60, 40, 40);
    let settings = Settings::new(0.4).shingles(Shingles::words(2));
    for settings in [
        settings.clone(),
        settings.clone().keep(Keep::Longest).group(Grouping::Connected),
        settings.clone().bands(Bands::Random { keys: 60, rows: 3 }),
        settings.clone().exact(true).keep(Keep::Last),
        settings.clone().measure(Measure::Containment),
    ] {
        let alone = run(&settings, &texts, 1, texts.len());
        assert!(alone.pairs.len() > 10_000 && alone.groups.len() > 20, "{:?}", alone.summary);
        for (threads, batch_size) in [(1, 1), (2, 1000), (7, 1), (7, 64)] {
            assert!(run(&settings, &texts, threads, batch_size) == alone, "{threads} threads, batches of {batch_size}");
        }
    }
}

/// The front door, which cuts batches by itself, says the same.
#[test]
fn promise_5_the_front_door_is_the_same_run() {
    let texts = families::draw(9, 200, 10, 300);
    let settings = Settings::new(0.5);
    let expected = run(&settings, &texts, 1, 7);
    for threads in [1, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| lookalike::dedup(&texts, 0.5)).unwrap();
        assert_eq!(found.kept().collect::<Vec<_>>(), expected.kept);
        assert_eq!(found.pairs().collect::<Vec<_>>(), expected.pairs);
        assert_eq!(found.summary(), &expected.summary);
    }
}
