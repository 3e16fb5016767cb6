//! What is asked about, and what there is to be found.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use benchmarks::corpus::Corpus;
use benchmarks::definition::{Definition, IndexMeasures};
use benchmarks::random::Random;

use crate::DATA;
use crate::accuracy::{self, Accuracy, Of};

/// The least similarity of a copy to its record: below the threshold, so that it matters what is just above and below.
const LEAST_SIMILARITY: f64 = 0.7;

/// The texts that are asked about: every other one is a new copy of a record, the others are unseen.
pub(crate) struct Asked {
    pub(crate) texts: Vec<String>,
    /// A file with all of them.
    pub(crate) file: PathBuf,
}

/// The number of the first asked text that is a copy, and of the first that is unseen.
pub(crate) const FIRST_COPY: usize = 0;
pub(crate) const FIRST_UNSEEN: usize = 1;

/// Items that were found, and how alike they are where that is known exactly.
pub(crate) type Found = Vec<(String, Option<f64>)>;

impl Asked {
    /// Makes them. Empty texts are like nothing, and are left out.
    pub(crate) fn make(definition: &Definition, measures: &IndexMeasures, corpus: &Corpus) -> Result<Self> {
        let mut random = Random::new(&[definition.seed, measures.queries as u64]);
        let mut copies = (0..)
            .map(|number| corpus.copy_of(random.below(definition.records as usize) as u64, number, LEAST_SIMILARITY));
        let mut unseen = (0..).map(|number| corpus.unseen_text(number));
        let mut texts = Vec::with_capacity(measures.queries);
        for number in 0..measures.queries {
            let text = if number % 2 == FIRST_COPY {
                copies.find(|text| !text.is_empty())
            } else {
                unseen.find(|text| !text.is_empty())
            };
            texts.extend(text);
        }
        let file = Path::new(DATA).join(format!("asked-{}.jsonl", definition.name));
        let asked = Self { texts, file };
        asked.write().with_context(|| format!("cannot write {}", asked.file.display()))?;
        Ok(asked)
    }

    fn write(&self) -> Result<()> {
        let mut out = BufWriter::new(std::fs::File::create(&self.file)?);
        for (number, text) in self.texts.iter().enumerate() {
            writeln!(out, "{}", serde_json::json!({ "id": name(number), "text": text }))?;
        }
        Ok(out.flush()?)
    }
}

/// What an asked text is called: unlike any record.
pub(crate) fn name(number: usize) -> String {
    format!("q{number}")
}

/// For each asked text the records that are alike, and how much.
pub(crate) struct Answers(Vec<HashMap<String, f64>>);

impl Answers {
    /// Asks `lookalike pairs --exact`, which shares neither sketches nor tables with the index.
    pub(crate) fn compute(definition: &Definition, corpus: &Path, asked: &Asked) -> Result<Self> {
        let mut answers = vec![HashMap::new(); asked.texts.len()];
        for ((left, right), similarity) in accuracy::pairs(definition, &[corpus, &asked.file], &["--exact"])? {
            // Pairs have the lesser id first, and q stands before r.
            let Some(number) = left.strip_prefix('q').filter(|_| right.starts_with('r')) else { continue };
            answers[number.parse::<usize>()?].insert(right, similarity.parse()?);
        }
        Ok(Self(answers))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(HashMap::len).sum()
    }

    /// How much of it was found, of the first so many records, by the texts that were asked about. An exact similarity must
    /// be the right one. Items that are not of the corpus do not count: what is alike to them is not known.
    pub(crate) fn compare<'a>(
        &self,
        records: u64,
        found: impl Iterator<Item = (usize, &'a [(String, Option<f64>)])>,
    ) -> Accuracy {
        let is_there =
            |id: &str| id.strip_prefix('r').and_then(|id| id.parse().ok()).is_some_and(|at: u64| at < records);
        let mut accuracy = Accuracy { exact: 0, found: 0, right: 0, of: Of::Pairs };
        for (number, found) in found {
            let exact = &self.0[number];
            accuracy.exact += exact.keys().filter(|id| is_there(id)).count();
            for (id, similarity) in found.iter().filter(|(id, _)| is_there(id)) {
                accuracy.found += 1;
                let is_right = |exact: &f64| similarity.is_none_or(|told| (told - exact).abs() < PRINTED);
                accuracy.right += usize::from(exact.get(id).is_some_and(is_right));
            }
        }
        accuracy
    }
}

/// Similarities are printed with six digits.
const PRINTED: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_compared_with_what_is_there() {
        let answers = Answers(vec![
            HashMap::from([("r1".to_string(), 0.9), ("r7".to_string(), 0.8)]),
            HashMap::new(),
            HashMap::from([("r2".to_string(), 0.85)]),
        ]);
        let found: [Found; 2] = [vec![("r1".into(), Some(0.9)), ("w3".into(), Some(1.0))], vec![("r3".into(), None)]];
        let all = answers.compare(10, [(0, &found[0][..]), (1, &found[1][..])].into_iter());
        assert_eq!((all.exact, all.found, all.right), (2, 2, 1));
        let first_five = answers.compare(5, [(0, &found[0][..])].into_iter());
        assert_eq!((first_five.exact, first_five.found, first_five.right), (1, 1, 1));
        let wrong = [("r2".to_string(), Some(0.95))];
        assert_eq!(answers.compare(10, [(2, &wrong[..])].into_iter()).right, 0);
    }
}
