//! Two texts side by side: how alike they are, and which passages they share.

use std::collections::HashMap;
use std::ops::Range;

use crate::hash::{PADDING, Roll, hash_bytes, hash_character, hash_token};
use crate::normalize::with_spans;
use crate::plan::{Method, Plan};
use crate::settings::{Normalize, Shingles};
use crate::shingle::{Shingler, for_each_word, sort_distinct};
use crate::sketch::{MinHash, agreement};
use crate::verify::{ratio, shared};

/// How alike two texts are, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Shingles that both have.
    pub shared: usize,
    /// Different shingles of the left text.
    pub left_shingles: usize,
    /// Different shingles of the right text.
    pub right_shingles: usize,
    /// What the sketches say, where the plan has sketches.
    pub estimate: Option<Estimate>,
    /// What both have in common, in the order of the left text. Passages may have moved.
    pub passages: Vec<Passage>,
}

/// An estimate of the Jaccard similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The share of agreeing slots.
    pub similarity: f64,
    /// Its standard error, √(s(1−s)/k).
    pub standard_error: f64,
}

/// A run of tokens that both texts have: byte ranges into the original texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Where it stands in the left text.
    pub left: Range<usize>,
    /// Where it stands in the right text.
    pub right: Range<usize>,
    /// How many tokens it has.
    pub tokens: usize,
}

impl Comparison {
    /// Shared shingles over all shingles of both.
    pub fn jaccard(&self) -> f64 {
        ratio(self.shared, self.left_shingles + self.right_shingles - self.shared)
    }

    /// How much of the left text is in the right one.
    pub fn left_in_right(&self) -> f64 {
        ratio(self.shared, self.left_shingles)
    }

    /// How much of the right text is in the left one.
    pub fn right_in_left(&self) -> f64 {
        ratio(self.shared, self.right_shingles)
    }
}

impl Plan {
    /// Compares two texts.
    pub fn compare(&self, left: &str, right: &str) -> Comparison {
        let settings = self.settings();
        let mut shingler = Shingler::new(settings.shingles, self.normalize(), settings.bag);
        let mut distinct_shingles = |text: &str| {
            let mut shingles = Vec::new();
            shingler.append_text(text, &mut shingles);
            let distinct = sort_distinct(&mut shingles);
            shingles.truncate(distinct);
            shingles
        };
        let (left_set, right_set) = (distinct_shingles(left), distinct_shingles(right));
        let estimate = match self.method() {
            Method::Sketches(scheme) => {
                let minhash = MinHash::new(scheme.slots as usize, settings.seed);
                let agreeing = agreement(&minhash.sketch(&left_set), &minhash.sketch(&right_set));
                let either_empty = left_set.is_empty() || right_set.is_empty();
                let similarity = if either_empty { 0.0 } else { f64::from(agreeing) / f64::from(scheme.slots) };
                let standard_error = (similarity * (1.0 - similarity) / f64::from(scheme.slots)).sqrt();
                Some(Estimate { similarity, standard_error })
            }
            Method::InvertedLists => None,
        };
        Comparison {
            shared: shared(&left_set, &right_set),
            left_shingles: left_set.len(),
            right_shingles: right_set.len(),
            estimate,
            passages: shared_passages(
                &Tokens::of(settings.shingles, self.normalize(), left),
                &Tokens::of(settings.shingles, self.normalize(), right),
                settings.shingles.k(),
            ),
        }
    }
}

/// The tokens of a text: their hashes, and where they stand in the original.
struct Tokens {
    hashes: Vec<u64>,
    spans: Vec<Range<usize>>,
}

impl Tokens {
    fn of(shingles: Shingles, steps: Normalize, text: &str) -> Self {
        let mut tokens = Self { hashes: Vec::new(), spans: Vec::new() };
        match shingles {
            Shingles::Lines => {
                let mut start = 0;
                for line in text.split_inclusive('\n') {
                    let (canonical, _) = with_spans(steps, line.trim_end_matches(['\r', '\n']));
                    if !canonical.trim().is_empty() {
                        tokens.hashes.push(hash_bytes(canonical.trim().as_bytes()));
                        tokens.spans.push(start..start + line.trim_end().len());
                    }
                    start += line.len();
                }
            }
            Shingles::Words { .. } => {
                let (canonical, pieces) = with_spans(steps, text);
                let mut padded = canonical.clone().into_bytes();
                padded.extend([0; PADDING]);
                for_each_word(&canonical, |word| {
                    tokens.hashes.push(hash_token(&padded, word.start, word.end));
                    tokens.spans.push(original_span(&pieces, word));
                });
            }
            Shingles::Chars { .. } => {
                let (canonical, pieces) = with_spans(steps, text);
                for (at, character) in canonical.char_indices() {
                    tokens.hashes.push(hash_character(character));
                    tokens.spans.push(original_span(&pieces, at..at + character.len_utf8()));
                }
            }
        }
        tokens
    }

    fn span(&self, tokens: Range<usize>) -> Range<usize> {
        self.spans[tokens.start].start..self.spans[tokens.end - 1].end
    }
}

/// The bytes of the original that a range of the canonical text came from.
fn original_span(pieces: &[(Range<usize>, Range<usize>)], canonical: Range<usize>) -> Range<usize> {
    let first = pieces.partition_point(|(piece, _)| piece.end <= canonical.start);
    let behind = pieces.partition_point(|(piece, _)| piece.start < canonical.end);
    pieces[first].1.start..pieces[behind - 1].1.end
}

/// Places of one window in the right text that are looked at: enough for any text but a litany.
const MOST_PLACES: usize = 32;

/// The runs of at least `k` tokens that both texts have, each as long as it can be.
fn shared_passages(left: &Tokens, right: &Tokens, k: usize) -> Vec<Passage> {
    // A text shorter than a window is one window.
    let window = k.min(left.hashes.len()).min(right.hashes.len());
    let is_short = window < k;
    if window == 0 || is_short && left.hashes.len() != right.hashes.len() {
        return Vec::new();
    }
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, tokens) in right.hashes.windows(window).enumerate() {
        let places = places.entry(Roll::start(tokens)).or_default();
        if places.len() < MOST_PLACES {
            places.push(at);
        }
    }
    let mut passages = Vec::new();
    let mut at = 0;
    let mut covered = 0;
    while at + window <= left.hashes.len() {
        let run_at = |place: &usize| {
            let length = left.hashes[at..].iter().zip(&right.hashes[*place..]).take_while(|(a, b)| a == b).count();
            (length, *place)
        };
        let candidates = places.get(&Roll::start(&left.hashes[at..at + window])).into_iter().flatten().map(run_at);
        // The longest run; among equals the first place.
        let longest = candidates.max_by_key(|(length, place)| (*length, std::cmp::Reverse(*place)));
        match longest {
            Some((length, place)) if length >= window && at + length > covered => {
                passages.push(Passage {
                    left: left.span(at..at + length),
                    right: right.span(place..place + length),
                    tokens: length,
                });
                covered = at + length;
                // The next passage may begin inside this one, but must reach beyond it.
                at = covered + 1 - window;
            }
            _ => at += 1,
        }
    }
    passages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn compare<'a>(shingles: &str, left: &'a str, right: &'a str) -> (Comparison, Vec<(&'a str, &'a str)>) {
        let plan = Settings::new(0.8).shingles(shingles.parse().unwrap()).plan().unwrap();
        let comparison = plan.compare(left, right);
        let passages = comparison
            .passages
            .iter()
            .map(|passage| (&left[passage.left.clone()], &right[passage.right.clone()]))
            .collect();
        (comparison, passages)
    }

    #[test]
    fn passages_are_found_where_they_moved_to() {
        let left = "One two THREE four, five; six. Seven eight nine ten eleven.";
        let right = "seven eight (nine) ten eleven — and then: one two three four five six";
        let (comparison, passages) = compare("words:3", left, right);
        assert_eq!(
            passages,
            [
                ("One two THREE four, five; six", "one two three four five six"),
                ("Seven eight nine ten eleven", "seven eight (nine) ten eleven"),
            ]
        );
        assert_eq!(comparison.shared, 7);
        assert!(comparison.left_in_right() > comparison.jaccard());
    }

    #[test]
    fn spans_point_into_the_original() {
        let (_, passages) = compare("words:2", "Cafe\u{301} «Müller» x", "the CAFÉ müller is");
        assert_eq!(passages, [("Cafe\u{301} «Müller", "CAFÉ müller")]);
        let (_, passages) = compare("chars:4", "a   b c d!", "xa b c dx");
        assert_eq!(passages, [("a   b c d", "a b c d")]);
        let (_, passages) = compare("lines", "one\r\n  two \nthree\n", "zero\ntwo\nthree");
        assert_eq!(passages, [("  two \nthree", "two\nthree")]);
    }

    #[test]
    fn short_and_empty_texts() {
        assert_eq!(compare("words:5", "Hello world", "hello, world!").1, [("Hello world", "hello, world")]);
        assert!(compare("words:5", "hello", "hello world").1.is_empty());
        let (comparison, passages) = compare("words:5", "", "");
        assert!(passages.is_empty() && comparison.jaccard() == 0.0);
        assert_eq!(comparison.estimate.unwrap().similarity, 0.0);
    }

    #[test]
    fn repetitive_texts_take_linear_time() {
        let litany = "a ".repeat(50_000);
        let (comparison, _) = compare("words:5", &litany, &litany);
        assert_eq!(comparison.jaccard(), 1.0);
        assert_eq!(comparison.passages.len(), 1);
    }
}
