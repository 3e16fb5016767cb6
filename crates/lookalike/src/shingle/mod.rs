//! shingle: canonical text → 64-bit shingle hashes.
//!
//! A [`Shingler`] normalises, cuts and hashes one record after another with the same buffers. What it gives is the
//! sequence of the record's shingle hashes, repeats included; the record's *set* is that sequence without repeats.
//! For a bag, and for a set as input, repeats are already dealt with.

mod ascii;
mod distinct;
mod word_bytes;
mod words;

use std::sync::Arc;

use crate::batch::Content;
use crate::hash::{self, PADDING, Roll};
use crate::normalize::normalize;
use crate::settings::{Normalize, Shingles};

pub(crate) use distinct::{BitMap, LONG, Repeats, sort_distinct, sort_hashes};
use word_bytes::WordBytes;
pub(crate) use words::for_each_word;

/// Cuts records into shingle hashes.
#[derive(Clone, Debug)]
pub struct Shingler {
    shingles: Shingles,
    steps: Normalize,
    bag: bool,
    roll: Roll,
    canonical: String,
    word_bytes: WordBytes,
    tokens: Vec<u64>,
    repeats: Repeats,
    /// Shingles that are left out, sorted.
    ignored: Arc<[u64]>,
}

/// What a record turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nothing to compare: alike to nothing.
    Empty,
    /// Fewer tokens than a shingle has: all of them together are its one shingle.
    Short,
    /// At least one whole shingle.
    Full,
}

impl Shingler {
    /// A shingler for these settings.
    pub fn new(shingles: Shingles, steps: Normalize, bag: bool) -> Self {
        Self {
            shingles,
            steps,
            bag,
            roll: Roll::new(shingles.k()),
            canonical: String::new(),
            word_bytes: WordBytes::default(),
            tokens: Vec::new(),
            repeats: Repeats::default(),
            ignored: Arc::default(),
        }
    }

    /// Leaves these shingles, which are sorted, out of every record.
    pub(crate) fn ignoring(self, ignored: Arc<[u64]>) -> Self {
        Self { ignored, ..self }
    }

    /// Every so many-th shingle of a text, with the last, has all of its tokens, so that these tell the others.
    pub(crate) fn apart(&self) -> usize {
        // Where some are left out, neighbours need not overlap.
        if self.ignored.is_empty() { self.shingles.k() / self.shingles.step() } else { 1 }
    }

    /// Appends the shingle hashes of a text, or the elements of a set.
    pub fn append(&mut self, content: Content<'_>, hashes: &mut Vec<u64>) -> Shape {
        match content {
            Content::Text(text) => self.append_text(text, hashes),
            Content::Set(items) => self.append_set(items, hashes),
        }
    }

    /// Appends the shingle hashes of `text`, in the order of the text.
    pub fn append_text(&mut self, text: &str, hashes: &mut Vec<u64>) -> Shape {
        self.tokenize(text);
        let start = hashes.len();
        let mut shape = self.append_windows(hashes);
        if !self.ignored.is_empty() {
            let kept = self.leave_out(&mut hashes[start..]);
            hashes.truncate(start + kept);
            shape = if kept == 0 { Shape::Empty } else { shape };
        }
        if self.bag {
            // The n-th occurrence is an element of its own, so that set similarity is bag similarity.
            self.repeats.number(&mut hashes[start..], hash::hash_occurrence);
        }
        shape
    }

    /// Appends the elements of a set: sorted, each once.
    pub fn append_set(&self, items: &[u64], hashes: &mut Vec<u64>) -> Shape {
        let start = hashes.len();
        hashes.extend_from_slice(items);
        let distinct = sort_distinct(&mut hashes[start..]);
        hashes.truncate(start + distinct);
        let kept = if self.ignored.is_empty() { distinct } else { self.leave_out(&mut hashes[start..]) };
        hashes.truncate(start + kept);
        if kept == 0 { Shape::Empty } else { Shape::Full }
    }

    /// Moves what is not ignored to the front, in its order; tells how many there are.
    fn leave_out(&self, hashes: &mut [u64]) -> usize {
        let mut kept = 0;
        for at in 0..hashes.len() {
            if self.ignored.binary_search(&hashes[at]).is_err() {
                hashes[kept] = hashes[at];
                kept += 1;
            }
        }
        kept
    }

    /// Normalises the text and fills `tokens` with its token hashes.
    fn tokenize(&mut self, text: &str) {
        self.tokens.clear();
        match self.shingles {
            Shingles::Words { .. } => {
                if self.word_bytes.fill(text, self.steps) {
                    self.word_bytes.hash_words(&mut self.tokens);
                } else {
                    self.hash_canonical_words(text);
                }
            }
            Shingles::Chars { .. } => {
                normalize(self.steps, text, &mut self.canonical);
                self.tokens.extend(self.canonical.chars().map(hash::hash_character));
            }
            Shingles::Lines => {
                for line in text.lines() {
                    normalize(self.steps, line, &mut self.canonical);
                    let line = self.canonical.trim();
                    if !line.is_empty() {
                        self.tokens.push(hash::hash_bytes(line.as_bytes()));
                    }
                }
            }
        }
    }

    /// Any text after any normalisation: the reference for the quicker way.
    fn hash_canonical_words(&mut self, text: &str) {
        normalize(self.steps, text, &mut self.canonical);
        let length = self.canonical.len();
        self.canonical.extend([' '; PADDING]);
        let (canonical, tokens) = (&self.canonical, &mut self.tokens);
        for_each_word(&canonical[..length], |word| {
            tokens.push(hash::hash_token(canonical.as_bytes(), word.start, word.end));
        });
    }

    /// Appends the hash of every window of k tokens.
    fn append_windows(&self, hashes: &mut Vec<u64>) -> Shape {
        let tokens = self.tokens.as_slice();
        let k = self.shingles.k();
        if tokens.is_empty() {
            return Shape::Empty;
        }
        if tokens.len() < k {
            hashes.push(Roll::finish(Roll::start(tokens)));
            return Shape::Short;
        }
        let step = self.shingles.step();
        if step == 1 {
            let mut state = Roll::start(&tokens[..k]);
            hashes.reserve(tokens.len() + 1 - k);
            hashes.push(Roll::finish(state));
            hashes.extend(tokens.iter().zip(&tokens[k..]).map(|(leaving, entering)| {
                state = self.roll.step(state, *leaving, *entering);
                Roll::finish(state)
            }));
        } else {
            // Windows end where the text ends, so that no token is left out.
            let mut start = 0;
            loop {
                let end = (start + k).min(tokens.len());
                hashes.push(Roll::finish(Roll::start(&tokens[start..end])));
                if end == tokens.len() {
                    break;
                }
                start += step;
            }
        }
        Shape::Full
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Step;
    use proptest::prelude::*;

    fn distinct(shingles: &str, text: &str) -> usize {
        let shingles: Shingles = shingles.parse().unwrap();
        let mut hashes = Vec::new();
        Shingler::new(shingles, shingles.default_normalize(), false).append_text(text, &mut hashes);
        sort_distinct(&mut hashes)
    }

    #[test]
    fn every_so_many_th_shingle_tells_the_others() {
        let mut random = hash::SplitMix(4);
        for (kind, bag) in ["words:5", "words:5/2", "words:5/5", "words:1", "chars:9", "chars:4/3", "lines"]
            .into_iter()
            .flat_map(|kind| [(kind, false), (kind, true)])
        {
            let shingles: Shingles = kind.parse().unwrap();
            let mut shingler = Shingler::new(shingles, shingles.default_normalize(), bag);
            let mut seen = std::collections::HashMap::new();
            let mut see = |words: &[u64]| {
                let text: String = words.iter().flat_map(|word| [["a", "bc", "d"][*word as usize], " \n"]).collect();
                let mut hashes = Vec::new();
                shingler.append_text(&text, &mut hashes);
                let fingerprint = hash::fingerprint_of_text(&hashes, shingler.apart(), 0);
                assert_eq!(seen.entry(fingerprint).or_insert_with(|| hashes.clone()), &hashes, "{kind} {bag} {text:?}");
            };
            // Lengths around the places where one more shingle is looked at, of one word and of several.
            for length in 0..60 {
                see(&vec![0; length]);
                for _ in 0..20 {
                    let mut words: Vec<u64> = (0..length).map(|_| random.below(3)).collect();
                    see(&words);
                    if let Some(word) = words.get_mut(random.below(length.max(1) as u64) as usize) {
                        *word = (*word + 1) % 3;
                    }
                    see(&words);
                }
            }
        }
    }

    #[test]
    fn the_textbook_shingles() {
        assert_eq!(distinct("chars:2", "abcab"), 3);
        assert_eq!(distinct("chars:3", "This is a test"), 11);
        assert_eq!(distinct("words:3", "This is a test"), 2);
        assert_eq!(distinct("words:4", "a rose is a rose is a rose"), 3);
    }

    #[test]
    fn short_and_empty_records() {
        let mut shingler = Shingler::new(Shingles::words(5), Normalize::NONE, false);
        let mut hashes = Vec::new();
        assert_eq!(shingler.append_text(" ,.! ", &mut hashes), Shape::Empty);
        assert_eq!(shingler.append_text("one two", &mut hashes), Shape::Short);
        assert_eq!(hashes.len(), 1);
        assert_eq!(shingler.append_text("one two three four five", &mut hashes), Shape::Full);
        assert_eq!(hashes.len(), 2);
    }

    #[test]
    fn a_step_leaves_no_token_out() {
        assert_eq!(distinct("words:3/3", "a b c d e f"), 2);
        assert_eq!(distinct("words:3/3", "a b c d e f g"), 3);
        assert_eq!(distinct("words:3/2", "a b c d e f"), 3);
    }

    #[test]
    fn a_bag_counts_repeats() {
        let bag = |text: &str| {
            let mut hashes = Vec::new();
            Shingler::new(Shingles::words(1), Normalize::NONE, true).append_text(text, &mut hashes);
            sort_distinct(&mut hashes);
            hashes
        };
        let (left, right) = (bag("a a b"), bag("a b b"));
        assert_eq!((left.len(), right.len()), (3, 3));
        let shared = left.iter().filter(|hash| right.contains(hash)).count();
        assert_eq!(shared, 2, "bag Jaccard is 2/4");
    }

    /// The tokens of a text, on the quick way if there is one for it and by the reference.
    fn tokens_both_ways(steps: Normalize, text: &str) -> (bool, Vec<u64>, Vec<u64>) {
        let mut shingler = Shingler::new(Shingles::words(1), steps, false);
        let is_quick = shingler.word_bytes.fill(text, steps);
        shingler.tokenize(text);
        let quick = std::mem::take(&mut shingler.tokens);
        shingler.hash_canonical_words(text);
        (is_quick, quick, shingler.tokens)
    }

    #[test]
    fn words_across_blocks() {
        for letter in ["a", "é", "東", "𐐨"] {
            for length in 1..70 {
                for offset in 0..70 {
                    let text = format!("{}{} b", " ".repeat(offset), letter.repeat(length));
                    let (is_quick, quick, reference) = tokens_both_ways(Normalize::NONE, &text);
                    assert!(is_quick && quick == reference, "{length} times {letter} at {offset}");
                }
            }
        }
    }

    #[test]
    fn every_character_among_others_is_seen_as_by_the_reference() {
        let steps = Normalize::NONE.with(Step::Nfc).with(Step::Lower);
        for character in ('\0'..='\u{2ffff}').filter(|character| !character.is_ascii()) {
            for text in [format!("{character}"), format!("a{character}b東{character}東 {character}")] {
                let (_, quick, reference) = tokens_both_ways(steps, &text);
                assert_eq!(quick, reference, "{text}");
            }
        }
    }

    #[test]
    fn only_what_normalisation_may_change_is_left_to_the_reference() {
        let steps = Normalize::NONE.with(Step::Nfc).with(Step::Lower);
        for text in
            ["It’s “so”", "ÀÉÎ und ÄÖÜ", "Москва", "2024年3月、東京", "हिन्दी में", "ที่นี่", "안녕하세요 세계", "שָׁלוֹם"]
        {
            assert!(tokens_both_ways(steps, text).0, "{text}");
        }
        assert!(!tokens_both_ways(steps, "e\u{301}").0);
        assert!(tokens_both_ways(Normalize::NONE, "e\u{301}").0);
        for step in [Step::Nfkc, Step::Accents, Step::Punct, Step::Digits] {
            assert!(!tokens_both_ways(steps.with(step), "é").0);
        }
    }

    proptest! {
        /// The quick way sees what the reference sees, whatever is mixed.
        #[test]
        fn quick_equals_reference(
            parts in prop::collection::vec(
                prop_oneof![
                    "[ -~\n\t]{0,80}", "[a-zA-Z_]{0,100}", "[ a]{0,90}", "[éÀßıİŸ’“ſ—…]{0,4}", "[а-яА-ЯςΣ ]{0,50}", "[東京のー、。ｱ]{0,9}",
                    "[ก-๛]{0,9}", "[ऀ-ॿ \u{200d}]{0,9}", "[\u{300}-\u{310}]{0,2}", "[\u{1100}-\u{1200}가-깋]{0,3}", "[𐐀-𐐿𝒜-𝒵😀-😂]{0,3}", "\\PC{0,20}",
                ],
                0..12,
            ),
            bits in 0u8..128,
        ) {
            let text = parts.concat();
            let steps = Step::NAMES.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1)
                .fold(Normalize::NONE, |steps, (_, (_, step))| steps.with(*step));
            for steps in [steps, Normalize::NONE.with(Step::Nfc).with(Step::Lower)] {
                let (_, quick, reference) = tokens_both_ways(steps, &text);
                prop_assert_eq!(quick, reference);
            }
        }
    }
}
