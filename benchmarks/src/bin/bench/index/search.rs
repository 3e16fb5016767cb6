//! Single queries in this process, on one thread, warm.

use std::path::Path;

use anyhow::Result;
use lookalike::{Answer, Content, Query, Sketch, Snapshot};

use super::asked::{Answers, Asked, Found};
use super::latency::Latencies;
use crate::accuracy::Accuracy;

/// What one way of asking took, and found.
pub(crate) struct Searched {
    pub(crate) times: Latencies,
    pub(crate) accuracy: Accuracy,
}

/// With the text given, and with the sketch given.
pub(crate) struct Searches {
    pub(crate) text: Searched,
    pub(crate) sketch: Searched,
}

pub(crate) fn measure(index: &Path, asked: &Asked, answers: &Answers) -> Result<Searches> {
    let snapshot = Snapshot::open(index)?;
    let query = Query::default();
    let text = ask(&asked.texts, answers, Exact::Yes, |text| Ok(snapshot.query(Content::Text(text), &query)?))?;
    let sketches = asked.texts.iter().map(|text| snapshot.plan().sketch_text(text));
    let sketches = sketches.collect::<lookalike::Result<Vec<Sketch>>>()?;
    let sketch = ask(&sketches, answers, Exact::No, |sketch| Ok(snapshot.query_sketch(sketch, &query)?))?;
    Ok(Searches { text, sketch })
}

/// Whether the similarities of an answer are exact.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exact {
    Yes,
    No,
}

/// How often everything is asked after it was asked once to warm; the best pass counts.
const PASSES: usize = 3;

fn ask<T>(all: &[T], answers: &Answers, exact: Exact, answer: impl Fn(&T) -> Result<Answer>) -> Result<Searched> {
    let mut found = Vec::with_capacity(all.len());
    for one in all {
        let told = answer(one)?.matches.into_iter();
        let told = told.map(|item| (item.id, (exact == Exact::Yes).then_some(item.similarity)));
        found.push(told.collect::<Found>());
    }
    let mut best: Option<Latencies> = None;
    for _ in 0..PASSES {
        let mut times = Latencies::default();
        for one in all {
            std::hint::black_box(times.time(|| answer(one))?);
        }
        if best.as_ref().is_none_or(|best| times.sum() < best.sum()) {
            best = Some(times);
        }
    }
    let accuracy = answers.compare(u64::MAX, found.iter().map(Vec::as_slice).enumerate());
    Ok(Searched { times: best.unwrap_or_default(), accuracy })
}
