//! Passages that were taken over, beside those that are known: PAN 2013 text alignment, and short answers that were
//! copied more or less.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use lookalike::{Characters, Plan, Settings};
use rayon::prelude::*;
use serde_json::Value;

use crate::plagdet::{Case, Score};
use crate::records::{read_rows, read_text};

const PAN: &str = "pan13-text-alignment";
const ANSWERS: &str = "clough-short-answers";

/// What must hold on the half that the finder was not tuned on: the least plagdet of all pairs and of two kinds, and the
/// most clean pairs in which something is detected.
const TARGETS: [(&str, f64); 3] = [("all", 0.75), ("no-obfuscation", 0.92), ("random-obfuscation", 0.75)];
const MOST_ALARMS: f64 = 0.01;

/// What was measured.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Of the half that was tuned on, and of the other: the score of each kind of pair.
    halves: [BTreeMap<String, Score>; 2],
    /// Of each level of copying: answers, and how much of each was taken over, ascending.
    levels: Vec<(&'static str, Vec<f64>)>,
}

/// Measures both corpora.
pub(crate) fn measure(data: &Path) -> Result<Measured> {
    let plan = Settings::new(0.8).plan()?;
    Ok(Measured {
        halves: measure_alignment(&data.join(PAN), &plan)?,
        levels: measure_levels(&data.join(ANSWERS), &plan)?,
    })
}

fn measure_alignment(folder: &Path, plan: &Plan) -> Result<[BTreeMap<String, Score>; 2]> {
    let mut texts = read_texts(&folder.join("source.jsonl.zst"))?;
    texts.extend(read_texts(&folder.join("suspicious.jsonl.zst"))?);
    let mut known: HashMap<(String, String), Vec<Case>> = HashMap::new();
    for row in read_rows(&folder.join("passages.tsv.zst"))? {
        let number = |column: usize| row[column].parse::<usize>().context("a passage's offset is no number");
        let range = |column: usize| -> Result<_> { Ok(number(column)?..number(column)? + number(column + 1)?) };
        let case = Case { suspicious: range(3)?, source: range(5)? };
        known.entry((row[0].clone(), row[1].clone())).or_default().push(case);
    }
    let pairs = read_rows(&folder.join("pairs.tsv.zst"))?;
    let detected: Vec<Vec<Case>> = pairs
        .par_iter()
        .map(|row| {
            let text = |column: usize| texts.get(&row[column]).with_context(|| format!("no text {}", row[column]));
            let (suspicious, source) = (text(0)?, text(1)?);
            let (in_suspicious, in_source) = (Characters::of(suspicious), Characters::of(source));
            let passages = plan.taken_over(suspicious, source);
            let cases = passages.iter().map(|passage| {
                let [from, to] = in_suspicious.span(&passage.left);
                let [source_from, source_to] = in_source.span(&passage.right);
                Case { suspicious: from..to, source: source_from..source_to }
            });
            Ok(cases.collect())
        })
        .collect::<Result<_>>()?;
    let mut halves = [BTreeMap::new(), BTreeMap::new()];
    for (row, detected) in pairs.iter().zip(&detected) {
        let cases = known.get(&(row[0].clone(), row[1].clone())).map_or(&[][..], Vec::as_slice);
        for kind in ["all", &row[2]] {
            halves[half_of(&row[0])].entry(kind.to_string()).or_insert_with(Score::default).add(cases, detected);
        }
    }
    Ok(halves)
}

/// Documents with even numbers were tuned on, those with odd ones are reported. All pairs of a document are in its half.
fn half_of(suspicious: &str) -> usize {
    usize::from(suspicious.bytes().last().is_some_and(|digit| digit % 2 == 1))
}

fn measure_levels(folder: &Path, plan: &Plan) -> Result<Vec<(&'static str, Vec<f64>)>> {
    let texts = read_texts(&folder.join("docs.jsonl.zst"))?;
    let rows = read_rows(&folder.join("truth.tsv"))?;
    let mut levels = Vec::new();
    for level in ["cut", "light", "heavy", "non"] {
        let mut shares = Vec::new();
        for row in rows.iter().filter(|row| row[2] == level) {
            let text = |id: &String| texts.get(id).with_context(|| format!("no text {id}"));
            let (answer, source) = (text(&row[0])?, text(&row[1])?);
            let taken: usize = plan.taken_over(answer, source).iter().map(|passage| passage.left.len()).sum();
            shares.push((taken as f64 / answer.trim().len().max(1) as f64).min(1.0));
        }
        shares.sort_by(f64::total_cmp);
        levels.push((level, shares));
    }
    Ok(levels)
}

fn read_texts(path: &Path) -> Result<HashMap<String, String>> {
    let lines = read_text(path)?;
    let text_of = |line: &str| -> Result<(String, String)> {
        let object: Value = serde_json::from_str(line).context("a line is no JSON object")?;
        let field = |name: &str| object[name].as_str().map(str::to_string).with_context(|| format!("no {name}"));
        Ok((field("id")?, field("text")?))
    };
    lines.lines().map(text_of).collect()
}

impl Measured {
    /// What is below its target, in words.
    pub(crate) fn broken_promises(&self) -> Vec<String> {
        let reported = &self.halves[1];
        let plagdet = |kind: &str| reported.get(kind).map_or(0.0, Score::plagdet);
        let mut broken: Vec<String> = TARGETS
            .iter()
            .filter(|(kind, least)| plagdet(kind) < *least)
            .map(|(kind, least)| format!("{PAN}, {kind}: plagdet {:.4}, wanted {least}", plagdet(kind)))
            .collect();
        let alarms = reported.get("no-plagiarism").map_or(1.0, Score::alarms);
        if alarms >= MOST_ALARMS {
            broken.push(format!("{PAN}: false alarms in {:.2} % of clean pairs", 100.0 * alarms));
        }
        broken
    }

    /// Its part of the page.
    pub(crate) fn section(&self) -> String {
        let mut page = String::from(
            "\n## Passages against known ones\n\n\
             pan13-text-alignment, measured as PAN does: precision and recall in characters of both documents, the mean \
             over detections and over cases; granularity, detections a case; plagdet = F1 / log2(1 + granularity). Alarms: \
             pairs in which anything was detected; in pairs without plagiarism they are false. The numbers of the finder \
             were chosen on the pairs of suspicious documents with even numbers, and the table of the others is the one \
             that counts. A suspicious document is in one half only; a source can be in both.\n",
        );
        for (half, scores) in [("Even, tuned on", &self.halves[0]), ("Odd, never tuned on", &self.halves[1])] {
            let _ = write!(
                page,
                "\n{half}:\n\n| pairs of kind | pairs | cases | detections | plagdet | precision | recall | granularity \
                 | alarms |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
            );
            for (kind, score) in scores {
                let value = |value: f64| if score.cases == 0 { "–".to_string() } else { format!("{value:.4}") };
                let _ = writeln!(
                    page,
                    "| {kind} | {} | {} | {} | {} | {} | {} | {} | {:.2} % |",
                    score.pairs,
                    score.cases,
                    score.detections,
                    value(score.plagdet()),
                    value(score.precision()),
                    value(score.recall()),
                    value(score.granularity()),
                    100.0 * score.alarms()
                );
            }
        }
        page.push_str(
            "\nclough-short-answers: how much of an answer was found to be taken over from its source, by the level of \
             copying that its author was asked for. Told apart: the probability that an answer of this level has a \
             larger share than one that was not copied (ties count half).\n\n\
             | level | answers | mean share | median | told apart from non |\n|---|---:|---:|---:|---:|\n",
        );
        let clean = self.levels.last().map_or(&[][..], |(_, shares)| shares.as_slice());
        for (level, shares) in &self.levels {
            let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
            let median = shares.get(shares.len() / 2).copied().unwrap_or(0.0);
            let apart = if *level == "non" { "–".to_string() } else { format!("{:.3}", told_apart(shares, clean)) };
            let _ = writeln!(page, "| {level} | {} | {mean:.3} | {median:.3} | {apart} |", shares.len());
        }
        page
    }
}

/// The probability that one of `higher` is above one of `lower`; ties count half.
fn told_apart(higher: &[f64], lower: &[f64]) -> f64 {
    let pairs = higher.iter().flat_map(|high| lower.iter().map(move |low| (high, low)));
    let above: f64 = pairs
        .map(|(high, low)| {
            if high > low {
                1.0
            } else if high == low {
                0.5
            } else {
                0.0
            }
        })
        .sum();
    above / (higher.len() * lower.len()).max(1) as f64
}
