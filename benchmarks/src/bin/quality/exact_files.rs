//! The exact answer beside files of exact pairs that were made elsewhere.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use lookalike::{Settings, Shingles};

use crate::corpora::{Corpus, ExactFile};
use crate::file_words;
use crate::records::{Contents, Records, read_rows};

/// How our exact answer compares with a file.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) file: &'static str,
    pub(crate) threshold: f64,
    pub(crate) listed: usize,
    pub(crate) found: usize,
    /// Listed pairs that we do not find, and pairs that we find and that are not listed, with their similarity.
    pub(crate) missed: Vec<Difference>,
    pub(crate) unlisted: Vec<Difference>,
    /// Pairs on both sides whose similarities differ by more than rounding.
    pub(crate) differing: Vec<Difference>,
    /// The greatest difference of similarity of pairs on both sides.
    pub(crate) greatest_difference: f64,
    /// How many of all these differences vanish if texts are cut into words as the file does.
    pub(crate) explained: usize,
}

impl Comparison {
    /// Every difference, of each kind.
    pub(crate) fn differences(&self) -> impl Iterator<Item = &Difference> {
        self.missed.iter().chain(&self.unlisted).chain(&self.differing)
    }
}

/// A pair that is not the same on both sides: what the file says and what we say, as far as either says anything.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) pair: (usize, usize),
    pub(crate) listed: Option<f64>,
    pub(crate) found: Option<f64>,
}

/// Compares a corpus with one of its exact files.
pub(crate) fn compare(
    data: &Path,
    corpus: &Corpus,
    records: &Records,
    exact: &'static ExactFile,
) -> Result<Comparison> {
    let taking_part: Vec<usize> =
        (0..records.len()).filter(|index| records.items(*index) >= exact.least_items).collect();
    let mut settings = Settings::new(exact.threshold).exact(true);
    if !corpus.shingles.is_empty() {
        settings = settings.shingles(corpus.shingles.parse()?);
    }
    let outcome = records.run(&settings.plan()?, &taking_part)?;
    let mut found: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for pair in outcome.pairs() {
        found.insert((taking_part[pair.left], taking_part[pair.right]), pair.similarity);
    }

    let by_id = records.by_id();
    let mut listed: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for row in read_rows(&data.join(corpus.folder).join(exact.file))? {
        let place = |id: &String| by_id.get(id.as_str()).copied().with_context(|| format!("no record is called {id}"));
        let (left, right) = (place(&row[0])?, place(&row[1])?);
        listed.insert((left.min(right), left.max(right)), row[2].parse()?);
    }
    if !exact.complete {
        // Such a file lists pairs of any similarity, but only some of them: what it does not list says nothing.
        found.retain(|pair, _| listed.contains_key(pair));
        listed.retain(|_, similarity| *similarity >= exact.threshold);
    }

    let rounding = 0.51 * 10f64.powi(-exact.decimals);
    let mut comparison = Comparison {
        file: exact.file,
        threshold: exact.threshold,
        listed: listed.len(),
        found: found.len(),
        missed: Vec::new(),
        unlisted: Vec::new(),
        differing: Vec::new(),
        greatest_difference: 0.0,
        explained: 0,
    };
    for (pair, said) in &listed {
        let ours = found.get(pair).copied();
        let difference = Difference { pair: *pair, listed: Some(*said), found: ours };
        match ours {
            None => comparison.missed.push(difference),
            Some(ours) => {
                comparison.greatest_difference = comparison.greatest_difference.max((ours - said).abs());
                if (ours - said).abs() > rounding {
                    comparison.differing.push(difference);
                }
            }
        }
    }
    for (pair, ours) in found.iter().filter(|(pair, _)| !listed.contains_key(pair)) {
        comparison.unlisted.push(Difference { pair: *pair, listed: None, found: Some(*ours) });
    }
    if let (Contents::Texts(texts), Ok(Shingles::Words { k, .. })) = (&records.contents, corpus.shingles.parse()) {
        let vanishes = |difference: &&Difference| {
            let (left, right) = difference.pair;
            let by_their_words = file_words::similarity(k, &texts[left], &texts[right]);
            match difference.listed {
                Some(said) => (by_their_words - said).abs() <= rounding,
                None => by_their_words < exact.threshold,
            }
        };
        comparison.explained = comparison.differences().filter(vanishes).count();
    }
    Ok(comparison)
}
