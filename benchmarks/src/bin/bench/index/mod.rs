//! A lasting index: how fast it is built, opened, asked, written to and served, beside other libraries on the same texts.

mod asked;
mod build;
mod commits;
mod engines;
mod latency;
mod load;
mod page;
mod search;
mod service;

use std::path::Path;

use anyhow::Result;
use benchmarks::corpus::Corpus;
use benchmarks::definition::{Definition, IndexMeasures};

use self::asked::{Answers, Asked};

/// Everything that was measured.
struct Measured {
    built: build::Built,
    searches: search::Searches,
    services: service::Services,
    commits: commits::Commits,
    engines: engines::EngineIndexes,
    asked: usize,
    answers: usize,
}

/// Numbers of unseen texts that are written. Those that are asked about are far below them: what is written is like
/// nothing that is asked about, and changes no answer.
const WRITTEN_TO_SERVICE: u64 = 1 << 32;
const WRITTEN_TO_INDEX: u64 = 2 << 32;

/// Measures all of it, and gives the page.
pub(crate) fn measure(definition: &Definition, measures: &IndexMeasures, corpus_file: &Path) -> Result<String> {
    let corpus = Corpus::new(definition.kind, definition.records, definition.seed);
    let asked = Asked::make(definition, measures, &corpus)?;
    let built = build::measure(definition, corpus_file)?;
    eprintln!("  what there is to be found");
    let answers = Answers::compute(definition, corpus_file, &asked)?;
    eprintln!("  queries");
    let searches = search::measure(&built.index, &asked, &answers)?;
    eprintln!("  service");
    let texts = (&corpus, WRITTEN_TO_SERVICE);
    let services = service::measure(&built.index, definition, measures, &asked, &answers, texts)?;
    eprintln!("  commits");
    let commits = commits::measure(&built.index, &corpus, WRITTEN_TO_INDEX, measures)?;
    std::fs::remove_dir_all(&built.index)?;
    let engines = engines::measure(definition, measures, corpus_file, &asked, &answers)?;
    let (asked, answers) = (asked.texts.len(), answers.count());
    let measured = Measured { built, searches, services, commits, engines, asked, answers };
    page::write(definition, measures, corpus_file, &measured)
}
