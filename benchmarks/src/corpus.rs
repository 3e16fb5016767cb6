//! Made-up corpora that are like real ones where it matters for speed and recall: lengths, word frequencies,
//! punctuation, escapes, and families of near-duplicates.
//!
//! A record is a function of seed, count and its index alone, so a corpus of any size is made without keeping it in
//! memory, and by any number of threads.

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use rayon::prelude::*;
use serde::Deserialize;

use crate::random::Random;
use crate::vocabulary::Vocabulary;

/// What the records of a corpus are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A fifth of the records is in near-duplicate families; there is boilerplate, and very long and empty records.
    Natural,
    /// The same texts as a publisher sets them: with curly apostrophes and dashes, about one in sixteen words.
    Typeset,
    /// The same texts in Cyrillic letters.
    Cyrillic,
    /// Unrelated texts only.
    Plain,
    /// One text, again and again.
    Copies,
    /// One text, each time with one to three other words.
    Variants,
    /// Half of every text is the same.
    Boilerplate,
    /// Every text is like the one before it and the one after it, and like no other.
    Chain,
    /// Three words each.
    Short,
    /// Texts of 50 MB.
    Huge,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::Natural,
        Self::Typeset,
        Self::Cyrillic,
        Self::Plain,
        Self::Copies,
        Self::Variants,
        Self::Boilerplate,
        Self::Chain,
        Self::Short,
        Self::Huge,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Natural => "natural",
            Self::Typeset => "typeset",
            Self::Cyrillic => "cyrillic",
            Self::Plain => "plain",
            Self::Copies => "copies",
            Self::Variants => "variants",
            Self::Boilerplate => "boilerplate",
            Self::Chain => "chain",
            Self::Short => "short",
            Self::Huge => "huge",
        })
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|kind| kind.to_string() == name);
        known.ok_or_else(|| {
            format!("{name} is no kind of corpus: write {}", Self::ALL.map(|kind| kind.to_string()).join(", "))
        })
    }
}

/// Words of a common record: the median, and how far lengths spread around it.
const MEDIAN_WORDS: f64 = 200.0;
const SPREAD: f64 = 0.6;

/// Families of two to five take turns, so so many records are four families.
const FAMILY_SIZES: [u64; 4] = [2, 3, 4, 5];
const FOUR_FAMILIES: u64 = 14;

/// One in so many records is empty, very long, or ends in boilerplate.
const EMPTY_ONE_IN: usize = 2_000;
const LONG_ONE_IN: usize = 10_000;
const BOILERPLATE_ONE_IN: usize = 20;

/// How much longer a very long record is.
const LONG_FACTOR: f64 = 100.0;

/// Different pieces of boilerplate, and words of each.
const BOILERPLATES: usize = 20;
const BOILERPLATE_WORDS: usize = 40;

/// The share of a family's copies that differ from their model in nothing.
const IDENTICAL_COPIES: f64 = 0.1;

/// Words of a link of a chain, and how many of them each link changes: neighbours are alike (0.82 in shingles of five
/// words), those two links apart are not (0.67).
const CHAIN_WORDS: u64 = 200;
const CHAIN_STEP: u64 = 20;

/// Words of a huge text.
const HUGE_WORDS: usize = 50_000_000 / 7;

/// What tells the random streams of different purposes apart.
mod stream {
    pub(super) const TEXT: u64 = 1;
    pub(super) const FAMILY: u64 = 2;
    pub(super) const EDITS: u64 = 3;
    pub(super) const BOILERPLATE: u64 = 4;
    pub(super) const NEW_COPIES: u64 = 5;
}

/// A corpus that is made while it is asked for.
#[derive(Debug)]
pub struct Corpus {
    kind: Kind,
    records: u64,
    seed: u64,
    vocabulary: Vocabulary,
    boilerplate: Vec<Vec<Piece>>,
}

/// A word as it stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    word: u32,
    capital: bool,
    /// What follows it: one of [`MARKS`].
    mark: u8,
}

/// What can follow a word.
const MARKS: [&str; 6] = [" ", ", ", ". ", ".\n", "; ", " - "];
const SENTENCE_ENDS: std::ops::RangeInclusive<u8> = 2..=3;

impl Corpus {
    /// The corpus of this kind, size and seed.
    pub fn new(kind: Kind, records: u64, seed: u64) -> Self {
        let vocabulary = Vocabulary::new(seed);
        let boilerplate = (0..BOILERPLATES as u64)
            .map(|number| {
                write_text(&vocabulary, BOILERPLATE_WORDS, &mut Random::new(&[seed, stream::BOILERPLATE, number]))
            })
            .collect();
        Self { kind, records, seed, vocabulary, boilerplate }
    }

    /// Writes all records, one JSON object a line.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let (records_in_a_piece, pieces_at_once) = if self.kind == Kind::Huge { (1, 4) } else { (1_000, 64) };
        let step = records_in_a_piece * pieces_at_once;
        for start in (0..self.records).step_by(step as usize) {
            let starts: Vec<u64> =
                (start..self.records.min(start + step)).step_by(records_in_a_piece as usize).collect();
            let pieces: Vec<Vec<u8>> = starts
                .into_par_iter()
                .map(|start| {
                    let mut lines = Vec::new();
                    for index in start..self.records.min(start + records_in_a_piece) {
                        let text = serde_json::Value::from(self.text(index));
                        lines.extend(format!("{{\"id\":\"r{index}\",\"text\":{text}}}\n").into_bytes());
                    }
                    lines
                })
                .collect();
            for piece in pieces {
                out.write_all(&piece)?;
            }
        }
        out.flush()
    }

    /// The text of the `index`-th record.
    pub fn text(&self, index: u64) -> String {
        self.render(&self.pieces(index))
    }

    /// A text that is not in the corpus: a copy of the `index`-th record, this alike or more; one in ten is the same. Each
    /// number gives another one.
    pub fn copy_of(&self, index: u64, number: u64, least_similarity: f64) -> String {
        let model = self.pieces(index);
        let mut random = Random::new(&[self.seed, stream::NEW_COPIES, number]);
        if random.happens(IDENTICAL_COPIES) {
            return self.render(&model);
        }
        let similarity = least_similarity + (1.0 - least_similarity) * random.unit();
        self.render(&self.edit(&model, edit_rate(similarity), &mut random))
    }

    /// A text that is not in the corpus and like none there, in the same words. Each number gives another one.
    pub fn unseen_text(&self, number: u64) -> String {
        self.render(&self.unrelated_text(self.records + number))
    }

    fn pieces(&self, index: u64) -> Vec<Piece> {
        match self.kind {
            Kind::Plain => self.common_text(index),
            Kind::Natural | Kind::Typeset | Kind::Cyrillic => self.natural_text(index),
            Kind::Copies => self.common_text(0),
            Kind::Variants => {
                let mut text = write_text(
                    &self.vocabulary,
                    MEDIAN_WORDS as usize,
                    &mut Random::new(&[self.seed, stream::TEXT, 0]),
                );
                let mut random = Random::new(&[self.seed, stream::EDITS, index]);
                for _ in 0..=random.below(3) {
                    let at = random.below(text.len());
                    text[at].word = self.vocabulary.draw(&mut random);
                }
                text
            }
            Kind::Boilerplate => {
                let half = |stream: u64, index: u64| {
                    let mut random = Random::new(&[self.seed, stream, index]);
                    write_text(&self.vocabulary, MEDIAN_WORDS as usize / 2, &mut random)
                };
                [half(stream::BOILERPLATE, BOILERPLATES as u64), half(stream::TEXT, index)].concat()
            }
            Kind::Chain => self.link(index),
            Kind::Short => write_text(&self.vocabulary, 3, &mut Random::new(&[self.seed, stream::TEXT, index])),
            Kind::Huge => write_text(&self.vocabulary, HUGE_WORDS, &mut Random::new(&[self.seed, stream::TEXT, index])),
        }
    }

    fn common_text(&self, index: u64) -> Vec<Piece> {
        let mut random = Random::new(&[self.seed, stream::TEXT, index]);
        let words = random.lognormal(MEDIAN_WORDS, SPREAD) as usize;
        write_text(&self.vocabulary, words, &mut random)
    }

    /// A window on an endless text, moved on by a few words for each link.
    fn link(&self, index: u64) -> Vec<Piece> {
        let start = self.place(index) * CHAIN_STEP;
        let word = |at: u64| self.vocabulary.draw(&mut Random::new(&[self.seed, stream::TEXT, at]));
        (start..start + CHAIN_WORDS).map(|at| Piece { word: word(at), capital: false, mark: 0 }).collect()
    }

    fn natural_text(&self, index: u64) -> Vec<Piece> {
        let place = self.place(index);
        // Family members come first in this order, so one in five records is one.
        let in_families = self.records / 5 / FOUR_FAMILIES * FOUR_FAMILIES;
        if place < in_families {
            let mut rest = place % FOUR_FAMILIES;
            let mut family = place / FOUR_FAMILIES * FAMILY_SIZES.len() as u64;
            for size in FAMILY_SIZES {
                if rest < size {
                    break;
                }
                rest -= size;
                family += 1;
            }
            return self.family_member(family, rest);
        }
        self.unrelated_text(place)
    }

    /// A text of its own: common, empty or very long, with boilerplate or without.
    fn unrelated_text(&self, place: u64) -> Vec<Piece> {
        let mut random = Random::new(&[self.seed, stream::TEXT, place]);
        if random.below(EMPTY_ONE_IN) == 0 {
            return Vec::new();
        }
        let mut words = random.lognormal(MEDIAN_WORDS, SPREAD);
        if random.below(LONG_ONE_IN) == 0 {
            words *= LONG_FACTOR;
        }
        let mut text = write_text(&self.vocabulary, words as usize, &mut random);
        if random.below(BOILERPLATE_ONE_IN) == 0 {
            text.extend(&self.boilerplate[random.below(BOILERPLATES)]);
        }
        text
    }

    /// Spreads the members of a family over the corpus: a permutation of the records' indices.
    fn place(&self, index: u64) -> u64 {
        let greatest_common_divisor = |mut left: u64, mut right: u64| {
            while right != 0 {
                (left, right) = (right, left % right);
            }
            left
        };
        let near_golden = (self.records as f64 * 0.618) as u64 | 1;
        let factor = (near_golden..).find(|factor| greatest_common_divisor(*factor, self.records) == 1).unwrap_or(1);
        (u128::from(index) * u128::from(factor) % u128::from(self.records)) as u64
    }

    /// The model of a family is its member 0; the others are edited copies of it.
    fn family_member(&self, family: u64, member: u64) -> Vec<Piece> {
        let mut random = Random::new(&[self.seed, stream::FAMILY, family]);
        let words = random.lognormal(MEDIAN_WORDS, SPREAD) as usize;
        let model = write_text(&self.vocabulary, words, &mut random);
        if member == 0 {
            return model;
        }
        let mut random = Random::new(&[self.seed, stream::EDITS, family, member]);
        if random.happens(IDENTICAL_COPIES) {
            return model;
        }
        let similarity = 0.3 + 0.7 * random.unit();
        self.edit(&model, edit_rate(similarity), &mut random)
    }

    /// Replaces, deletes or inserts words at this rate.
    fn edit(&self, model: &[Piece], rate: f64, random: &mut Random) -> Vec<Piece> {
        let mut edited = Vec::with_capacity(model.len() + 8);
        for piece in model {
            if !random.happens(rate) {
                edited.push(*piece);
                continue;
            }
            let other = Piece { word: self.vocabulary.draw(random), ..*piece };
            match random.below(10) {
                0 => {}
                1 => edited.extend([Piece { mark: 0, ..*piece }, Piece { capital: false, ..other }]),
                _ => edited.push(other),
            }
        }
        edited
    }

    fn render(&self, text: &[Piece]) -> String {
        let mut rendered = String::with_capacity(text.len() * 7);
        for piece in text {
            let word = self.vocabulary.word(piece.word);
            if piece.capital {
                rendered.push(word.as_bytes()[0].to_ascii_uppercase().into());
                rendered.push_str(&word[1..]);
            } else {
                rendered.push_str(word);
            }
            rendered.push_str(MARKS[piece.mark as usize]);
        }
        rendered.truncate(rendered.trim_end().len());
        match self.kind {
            Kind::Typeset => rendered.replace(" - ", " — ").replace(", ", "’s, "),
            Kind::Cyrillic => rendered.chars().map(in_cyrillic).collect(),
            _ => rendered,
        }
    }
}

/// Another letter for each letter, capitals for capitals.
fn in_cyrillic(character: char) -> char {
    let letter = |first: char, last: char| u32::from(character) + u32::from(first) - u32::from(last);
    let code = match character {
        'a'..='z' => letter('а', 'a'),
        'A'..='Z' => letter('А', 'A'),
        other => return other,
    };
    char::from_u32(code).unwrap_or(character)
}

/// Sentences of about 18 words, some with a comma; every fifth or so ends a paragraph.
fn write_text(vocabulary: &Vocabulary, words: usize, random: &mut Random) -> Vec<Piece> {
    let mut text = Vec::with_capacity(words);
    let mut starts_sentence = true;
    for at in 1..=words {
        let mark = match random.below(360) {
            0..=15 => 2,
            16..=19 => 3,
            20..=41 => 1,
            42 => 4,
            43 => 5,
            _ if at == words => 2,
            _ => 0,
        };
        let capital = starts_sentence || random.below(40) == 0;
        text.push(Piece { word: vocabulary.draw(random), capital, mark });
        starts_sentence = SENTENCE_ENDS.contains(&mark);
    }
    text
}

/// The rate of edited words that makes the five-word shingles of a copy this alike to its model's.
///
/// A shingle survives if all its five words do: q = (1 − rate)⁵, and similarity = q / (2 − q).
fn edit_rate(similarity: f64) -> f64 {
    let surviving = 2.0 * similarity / (1.0 + similarity);
    // The fifth root by Newton's steps, from above.
    let mut root = 1.0f64;
    for _ in 0..40 {
        root -= (root * root * root * root * root - surviving) / (5.0 * root * root * root * root);
    }
    1.0 - root
}

#[cfg(test)]
mod tests {
    use super::*;
    use lookalike::Settings;

    #[test]
    fn a_corpus_is_a_function_of_seed_and_count() {
        let bytes = |kind, seed| {
            let mut bytes = Vec::new();
            Corpus::new(kind, 300, seed).write(&mut bytes).unwrap();
            bytes
        };
        assert_eq!(bytes(Kind::Natural, 1), bytes(Kind::Natural, 1));
        assert_ne!(bytes(Kind::Natural, 1), bytes(Kind::Natural, 2));
        assert_ne!(bytes(Kind::Natural, 1), bytes(Kind::Plain, 1));
        assert!(bytes(Kind::Plain, 1).is_ascii());
    }

    #[test]
    fn records_are_about_as_long_as_they_should_be() {
        let corpus = Corpus::new(Kind::Plain, 3_000, 1);
        let mut bytes = Vec::new();
        corpus.write(&mut bytes).unwrap();
        let mean = bytes.len() as f64 / 3_000.0;
        assert!((1_400.0..1_600.0).contains(&mean), "{mean} bytes a record");
    }

    #[test]
    fn the_similarities_of_families_are_spread() {
        let records = 7_000;
        let corpus = Corpus::new(Kind::Natural, records, 1);
        let found = Settings::new(0.25).exact(true).plan().unwrap();
        let found = found.run((0..records).map(|index| corpus.text(index))).unwrap();
        let members: std::collections::HashSet<usize> =
            found.pairs().flat_map(|pair| [pair.left, pair.right]).collect();
        let share = members.len() as f64 / records as f64;
        assert!((0.17..0.23).contains(&share), "{share} of the records are in families");
        for from in [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] {
            let pairs = found.pairs().filter(|pair| (from..from + 0.1).contains(&pair.similarity)).count();
            assert!(pairs > 50, "only {pairs} pairs at {from}");
        }
    }

    #[test]
    fn new_copies_are_as_alike_as_asked_and_unseen_texts_are_not() {
        let corpus = Corpus::new(Kind::Natural, 500, 1);
        let compare = Settings::new(0.1).exact(true).plan().unwrap();
        let similarities: Vec<f64> = (0..200)
            .filter(|index| corpus.text(*index).len() > 300)
            .map(|index| compare.compare(&corpus.text(index), &corpus.copy_of(index, index, 0.7)).jaccard())
            .collect();
        let mean = similarities.iter().sum::<f64>() / similarities.len() as f64;
        assert!((0.83..0.9).contains(&mean), "{mean} on average");
        assert!(similarities.contains(&1.0));
        assert!((0..100).all(|number| compare.compare(&corpus.text(1), &corpus.unseen_text(number)).jaccard() < 0.2));
    }

    #[test]
    fn awkward_texts_are_as_alike_as_they_should_be() {
        let corpus = Corpus::new(Kind::Chain, 500, 1);
        let found =
            Settings::new(0.8).exact(true).plan().unwrap().run((0..500).map(|index| corpus.text(index))).unwrap();
        assert_eq!(found.count_pairs(), 499);
        let variants = Corpus::new(Kind::Variants, 200, 1);
        let found =
            Settings::new(0.7).exact(true).plan().unwrap().run((0..200).map(|index| variants.text(index))).unwrap();
        assert_eq!(found.count_pairs(), 200 * 199 / 2);
        assert!(found.summary().classes > 190);
        let halves = Corpus::new(Kind::Boilerplate, 50, 1);
        let found =
            Settings::new(0.3).exact(true).plan().unwrap().run((0..50).map(|index| halves.text(index))).unwrap();
        assert_eq!(found.count_pairs(), 50 * 49 / 2);
        assert!(found.pairs().all(|pair| pair.similarity < 0.4));
    }

    #[test]
    fn places_are_a_permutation() {
        for records in [1, 2, 10, 997, 1000] {
            let corpus = Corpus { records, ..Corpus::new(Kind::Plain, 1, 1) };
            let mut places: Vec<u64> = (0..records).map(|index| corpus.place(index)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..records).collect::<Vec<_>>());
        }
    }
}
