//! How good the answers are on real corpora: recall and precision against the exact answer, the exact answer against
//! files made elsewhere, and pairs against labels.
//!
//! The passages that are taken over have a measure of their own; `--only passages` measures nothing else.
//!
//! `quality DATA [--seeds N] [--only NAME] [--output FILE]`

mod alignment;
mod corpora;
mod exact_files;
mod file_words;
mod labels;
mod plagdet;
mod recall;
mod records;
mod report;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use benchmarks::resources::cpu_model;

use crate::corpora::{CORPORA, Corpus};
use crate::records::Records;
use crate::report::Measured;

/// What was asked on the command line.
struct Asked {
    data: PathBuf,
    seeds: u64,
    only: String,
    output: Option<PathBuf>,
}

fn main() -> Result<()> {
    let asked = ask(std::env::args().skip(1))?;
    let start = Instant::now();
    let mut measured = Vec::new();
    for corpus in CORPORA.iter().filter(|corpus| corpus.name().contains(&asked.only)) {
        let start = Instant::now();
        let one = measure(&asked.data, corpus, asked.seeds).with_context(|| corpus.name())?;
        let worst = one.recalls.iter().map(|recall| recall.recall).fold(1.0, f64::min);
        eprintln!(
            "{:<60} {:>7} records  least mean recall {worst:.5}  {:>6.1} s",
            format!("{} ({})", corpus.name(), corpus.cut()),
            one.records,
            start.elapsed().as_secs_f64()
        );
        measured.push(one);
    }
    let passages = (asked.only.is_empty() || asked.only == "passages").then(|| alignment::measure(&asked.data));
    let passages = passages.transpose().context("passages")?;
    let mut page = report::page(&measured, asked.seeds, &cpu_model(), start.elapsed().as_secs_f64());
    page.extend(passages.iter().map(alignment::Measured::section));
    println!("{page}");
    if let Some(output) = &asked.output {
        if let Some(folder) = output.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(output, &page).with_context(|| format!("cannot write {}", output.display()))?;
    }
    let mut broken: Vec<String> = measured.iter().flat_map(Measured::broken_promises).collect();
    broken.extend(passages.iter().flat_map(alignment::Measured::broken_promises));
    if !broken.is_empty() {
        bail!("below the promise: {}", broken.join("; "));
    }
    Ok(())
}

fn ask(mut arguments: impl Iterator<Item = String>) -> Result<Asked> {
    let usage = "write: quality DATA [--seeds N] [--only NAME] [--output FILE]";
    let data = arguments.next().context(usage)?.into();
    let mut asked = Asked { data, seeds: 20, only: String::new(), output: None };
    while let Some(flag) = arguments.next() {
        let value = arguments.next().context(usage)?;
        match flag.as_str() {
            "--seeds" => asked.seeds = value.parse().with_context(|| format!("{value} is no number of seeds"))?,
            "--only" => asked.only = value,
            "--output" => asked.output = Some(value.into()),
            _ => bail!(usage),
        }
    }
    Ok(asked)
}

fn measure(data: &Path, corpus: &'static Corpus, seeds: u64) -> Result<Measured> {
    let records = Records::read(data, corpus)?;
    let recalls = recall::measure(corpus, &records, seeds)?;
    let mut comparisons = Vec::new();
    let mut differences = Vec::new();
    for exact in corpus.exact {
        let comparison = exact_files::compare(data, corpus, &records, exact)?;
        differences.extend(report::tell_differences(corpus, &records, &comparison));
        comparisons.push(comparison);
    }
    let agreement = corpus.labels.as_ref().map(|labels| labels::measure(data, corpus, &records, labels)).transpose()?;
    Ok(Measured { corpus, records: records.len(), recalls, comparisons, differences, agreement })
}
