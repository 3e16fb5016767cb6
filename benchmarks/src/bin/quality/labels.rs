//! Pairs beside what people, or the making of a corpus, say is alike.
//!
//! Labels mean more than shared words: the same story, the same product, the same thought. What is measured is how far
//! the similarity of shingles carries, at the threshold where F1 is best. The pairs are those of `--exact`.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use lookalike::Settings;

use crate::corpora::{Corpus, Labels};
use crate::records::{Contents, Records, read_rows};

/// How pairs agree with labels.
#[derive(Debug)]
pub(crate) struct Agreement {
    /// Which pairs are judged.
    pub(crate) judged: &'static str,
    pub(crate) measure: &'static str,
    /// The threshold that fits best.
    pub(crate) threshold: f64,
    /// Pairs that belong together.
    pub(crate) belonging: u64,
    /// Pairs at least that alike.
    pub(crate) found: u64,
    pub(crate) right: u64,
}

impl Agreement {
    pub(crate) fn precision(&self) -> f64 {
        if self.found == 0 { 1.0 } else { self.right as f64 / self.found as f64 }
    }

    pub(crate) fn recall(&self) -> f64 {
        if self.belonging == 0 { 1.0 } else { self.right as f64 / self.belonging as f64 }
    }

    pub(crate) fn f1(&self) -> f64 {
        2.0 * self.right as f64 / ((self.found + self.belonging) as f64).max(1.0)
    }
}

/// The lowest threshold that is tried where all pairs are looked at; pairs below it are too many in large corpora.
const LOWEST: f64 = 0.1;
const LOWEST_OF_LARGE: f64 = 0.3;
const LARGE: usize = 20_000;

/// Measures a corpus against its labels.
pub(crate) fn measure(data: &Path, corpus: &Corpus, records: &Records, labels: &Labels) -> Result<Agreement> {
    let folder = data.join(corpus.folder);
    match labels {
        Labels::Pairs { file, between_sources } => {
            let by_id = records.by_id();
            let mut belonging = HashMap::new();
            for row in read_rows(&folder.join(file))? {
                let (left, right) = (place(&by_id, &row[0])?, place(&by_id, &row[1])?);
                belonging.insert((left.min(right), left.max(right)), ());
            }
            let source = |record: usize| records.ids[record].as_bytes()[0];
            let judged = |left: usize, right: usize| !between_sources || source(left) != source(right);
            let belong = |left: usize, right: usize| belonging.contains_key(&(left, right));
            let all = if *between_sources { "all between the two sources" } else { "all" };
            measure_all(corpus, records, all, belonging.len() as u64, judged, belong)
        }
        Labels::SameFields(fields) => {
            let value = |record: usize| -> Vec<Option<&String>> {
                fields.iter().map(|field| records.fields[record].get(*field)).collect()
            };
            let mut sizes: HashMap<Vec<Option<&String>>, u64> = HashMap::new();
            for record in 0..records.len() {
                *sizes.entry(value(record)).or_default() += 1;
            }
            let belonging = sizes.values().map(|size| size * (size - 1) / 2).sum();
            measure_all(corpus, records, "all", belonging, |_, _| true, |left, right| value(left) == value(right))
        }
        Labels::Judged { file, yes, contained } => {
            let by_id = records.by_id();
            let mut judged = Vec::new();
            for row in read_rows(&folder.join(file))? {
                judged.push((place(&by_id, &row[0])?, place(&by_id, &row[1])?, yes.contains(&row[2].as_str())));
            }
            measure_judged(corpus, records, &judged, *contained)
        }
        Labels::JudgedLines { yes } => {
            let mut judged = Vec::new();
            for left in (0..records.len()).step_by(2) {
                let label = records.fields[left].get("label").context("a pair has no label")?;
                // Graded labels count by their whole part; marks behind a grade refine it.
                let grade = label.split(['.', '<', '>', 's', 'i']).next().unwrap_or_default();
                judged.push((left, left + 1, yes.contains(&grade)));
            }
            measure_judged(corpus, records, &judged, false)
        }
    }
}

fn place(by_id: &HashMap<&str, usize>, id: &str) -> Result<usize> {
    by_id.get(id).copied().with_context(|| format!("no record is called {id}"))
}

/// Every pair of the corpus is judged, or every one that `judged` accepts.
fn measure_all(
    corpus: &Corpus,
    records: &Records,
    all: &'static str,
    belonging: u64,
    judged: impl Fn(usize, usize) -> bool,
    belong: impl Fn(usize, usize) -> bool,
) -> Result<Agreement> {
    let lowest = if records.len() > LARGE { LOWEST_OF_LARGE } else { LOWEST };
    let mut settings = Settings::new(lowest).exact(true);
    if !corpus.shingles.is_empty() {
        settings = settings.shingles(corpus.shingles.parse()?);
    }
    let everything: Vec<usize> = (0..records.len()).collect();
    let outcome = records.run(&settings.plan()?, &everything)?;
    let similarities = outcome
        .pairs()
        .filter(|pair| judged(pair.left, pair.right))
        .map(|pair| (pair.similarity, belong(pair.left, pair.right)));
    Ok(best(all, "Jaccard", lowest, belonging, similarities))
}

/// Only these pairs are judged.
fn measure_judged(
    corpus: &Corpus,
    records: &Records,
    judged: &[(usize, usize, bool)],
    contained: bool,
) -> Result<Agreement> {
    let Contents::Texts(texts) = &records.contents else { bail!("judged pairs are pairs of texts") };
    let plan = Settings::new(0.5).shingles(corpus.shingles.parse()?).exact(true).plan()?;
    let similarities = judged.iter().map(|(left, right, belong)| {
        let compared = plan.compare(&texts[*left], &texts[*right]);
        let similarity =
            if contained { compared.left_in_right().max(compared.right_in_left()) } else { compared.jaccard() };
        (similarity, *belong)
    });
    let belonging = judged.iter().filter(|(_, _, belong)| *belong).count() as u64;
    let measure = if contained { "containment" } else { "Jaccard" };
    Ok(best("the listed ones", measure, 0.0, belonging, similarities))
}

/// The threshold with the best F1, in steps of 0.05, or of 0.01 below 0.1.
fn best(
    judged: &'static str,
    measure: &'static str,
    lowest: f64,
    belonging: u64,
    similarities: impl Iterator<Item = (f64, bool)>,
) -> Agreement {
    let thresholds = (1..10).map(|step| f64::from(step) / 100.0).chain((2..=20).map(|step| f64::from(step) / 20.0));
    let thresholds: Vec<f64> = thresholds.filter(|threshold| *threshold >= lowest).collect();
    let mut counts = vec![(0u64, 0u64); thresholds.len()];
    for (similarity, belong) in similarities {
        for (count, _) in counts.iter_mut().zip(&thresholds).filter(|(_, threshold)| similarity >= **threshold) {
            count.0 += 1;
            count.1 += u64::from(belong);
        }
    }
    let candidates = thresholds.iter().zip(&counts).map(|(threshold, (found, right))| Agreement {
        judged,
        measure,
        threshold: *threshold,
        belonging,
        found: *found,
        right: *right,
    });
    candidates.max_by(|left, right| left.f1().total_cmp(&right.f1())).expect("there are thresholds to choose from")
}
