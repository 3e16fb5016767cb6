//! The tokens of a text, with where each stands in the original.

use std::ops::Range;

use super::sentences::sentences;
use crate::hash::{PADDING, hash_bytes, hash_character, hash_token};
use crate::normalize::with_spans;
use crate::settings::{Normalize, Shingles};
use crate::shingle::for_each_word;

/// The tokens of a text: their hashes, and where they stand in the original.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    pub(super) hashes: Vec<u64>,
    pub(super) spans: Vec<Range<usize>>,
    /// Sentences as ranges of tokens, where tokens are words.
    pub(super) sentences: Vec<Range<usize>>,
}

impl Tokens {
    pub(crate) fn of(shingles: Shingles, steps: Normalize, text: &str) -> Self {
        let mut tokens = Self::default();
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
                tokens.sentences = sentences(text, &tokens.spans);
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

    /// The bytes of the original from the first to the last of these tokens.
    pub(super) fn span(&self, tokens: Range<usize>) -> Range<usize> {
        self.spans[tokens.start].start..self.spans[tokens.end - 1].end
    }
}

/// The bytes of the original that a range of the canonical text came from.
fn original_span(pieces: &[(Range<usize>, Range<usize>)], canonical: Range<usize>) -> Range<usize> {
    let first = pieces.partition_point(|(piece, _)| piece.end <= canonical.start);
    let behind = pieces.partition_point(|(piece, _)| piece.start < canonical.end);
    pieces[first].1.start..pieces[behind - 1].1.end
}
