//! Writing to the index that was built: commits of one item, and of many.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use benchmarks::corpus::Corpus;
use benchmarks::definition::IndexMeasures;
use lookalike::{Content, Index, Info, Snapshot};

use super::build;
use super::latency::Latencies;
use crate::DATA;

/// Bytes of a write that the disk is asked for by itself: about those of an item.
const SYNCED_BYTES: usize = 4096;

/// What writing took.
pub(crate) struct Commits {
    /// Insert and commit of one item.
    pub(crate) single: Latencies,
    /// To append about as much to a file and let the disk have it, which no durable commit can do without.
    pub(crate) disk: Latencies,
    /// All inserts and commits of the larger batches, from the first to the last.
    pub(crate) batches_took: Duration,
    pub(crate) batch_commits: Latencies,
    pub(crate) longest_insert: Duration,
    /// The index afterwards, and opening it.
    pub(crate) info: Info,
    pub(crate) open: Latencies,
}

/// Texts of numbers from `first_unseen` on are new to the index.
pub(crate) fn measure(path: &Path, corpus: &Corpus, first_unseen: u64, measures: &IndexMeasures) -> Result<Commits> {
    let mut unseen = (first_unseen..).map(|number| corpus.unseen_text(number));
    let mut index = Index::open(path)?;
    let mut single = Latencies::default();
    for (number, text) in unseen.by_ref().take(measures.single_commits).enumerate() {
        let id = format!("c{number}");
        single.time(|| {
            index.insert(&id, Content::Text(&text), None)?;
            Ok(index.commit()?)
        })?;
    }
    let disk = append_and_sync(measures.single_commits)?;
    let texts: Vec<String> = unseen.take(measures.inserts).collect();
    let (mut inserts, mut batch_commits) = (Latencies::default(), Latencies::default());
    let began = Instant::now();
    for (number, text) in texts.iter().enumerate() {
        let id = format!("b{number}");
        inserts.time(|| Ok(index.insert(&id, Content::Text(text), None)?))?;
        if (number + 1) % measures.commit_every == 0 || number + 1 == texts.len() {
            batch_commits.time(|| Ok(index.commit()?))?;
        }
    }
    let batches_took = began.elapsed();
    drop(index);
    let (info, open) = (Snapshot::open(path)?.info(), build::open(path)?);
    Ok(Commits { single, disk, batches_took, batch_commits, longest_insert: inserts.longest(), info, open })
}

fn append_and_sync(times: usize) -> Result<Latencies> {
    let path = Path::new(DATA).join("synced.tmp");
    let mut file = File::create(&path)?;
    let mut latencies = Latencies::default();
    for _ in 0..times {
        latencies.time(|| {
            file.write_all(&[1; SYNCED_BYTES])?;
            Ok(file.sync_data()?)
        })?;
    }
    std::fs::remove_file(path)?;
    Ok(latencies)
}
