//! Which passages two texts share, wherever they stand: verbatim, with small edits, or reworded.
//!
//! Two finders, because readers ask two questions:
//!
//! - *What is the same?* [`shared_passages`]: verbatim runs of at least k tokens, joined where only a few tokens between
//!   them were changed.
//! - *What was taken over?* [`taken_over()`]: stretches of whole sentences that have most of their telling words in common,
//!   in any order. It finds reworded text, and passes over the phrases that any two texts share.
//!
//! Both are near linear: a window or a word that occurs too often leads to a bounded number of places.

mod bridge;
mod clusters;
mod runs;
mod seeds;
mod sentences;
mod taken_over;
mod tokens;

use std::ops::Range;

pub(crate) use taken_over::taken_over;
pub(crate) use tokens::Tokens;

use bridge::bridge;
use runs::{Run, shared_runs};

use crate::verify::ratio;

/// Something that both texts have: byte ranges into the original texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Where it stands in the left text.
    pub left: Range<usize>,
    /// Where it stands in the right text.
    pub right: Range<usize>,
    /// How many of its tokens both texts have.
    pub tokens: usize,
    /// How much of it is the same: those tokens over all tokens of its longer side. 1 if it is verbatim.
    pub similarity: f64,
}

/// The passages with runs of at least `k` tokens that both texts have, in the order of the left text, small edits bridged.
pub(crate) fn shared_passages(left: &Tokens, right: &Tokens, k: usize) -> Vec<Passage> {
    // A text shorter than a window is one window.
    let window = k.min(left.hashes.len()).min(right.hashes.len());
    let is_short = window < k;
    if window == 0 || is_short && left.hashes.len() != right.hashes.len() {
        return Vec::new();
    }
    let chains = bridge(&shared_runs(&left.hashes, &right.hashes, window));
    chains.iter().map(|chain| passage_of(chain, left, right)).collect()
}

fn passage_of(chain: &[Run], left: &Tokens, right: &Tokens) -> Passage {
    let (first, last) = (chain[0], chain[chain.len() - 1]);
    let (in_left, in_right) = (first.left..last.left_end(), first.right..last.right_end());
    let tokens = chain.iter().map(|run| run.length).sum();
    Passage {
        similarity: ratio(tokens, in_left.len().max(in_right.len())),
        tokens,
        left: left.span(in_left),
        right: right.span(in_right),
    }
}
