//! Passages that were taken over, verbatim or reworded: whole sentences with most of their telling words.
//!
//! Seeds → clusters → checked as a whole → edges made exact where the text is verbatim → overlaps settled. The numbers
//! below were chosen on one half of the PAN 2013 text alignment corpus; docs/quality.md reports the other half.

use std::ops::Range;

use super::clusters::{clusters, extent};
use super::runs::{Run, shared_runs};
use super::seeds::{Seed, Vectors, sentences_of_runs};
use super::{Passage, Tokens};
use crate::verify::ratio;

/// Two sentences are a seed from this cosine and this Dice coefficient on.
const SEED_COSINE: f32 = 0.33;
const SEED_DICE: f32 = 0.33;
/// A verbatim run of so many tokens makes seeds of the sentences that it goes through, however long they are.
const SEED_RUN: usize = 12;
/// The shortest run that tells where a verbatim passage begins and ends.
const SHORTEST_RUN: usize = 5;
/// Sentences without a seed that a passage may have in a row; fewer if it does not hold together as a whole.
const WIDEST_GAP: u32 = 4;
/// Both sides of a passage have at least this cosine, all their words taken together.
const WHOLE_COSINE: f64 = 0.4;
/// If runs make up so much of both sides, they decide where the passage begins and ends.
const VERBATIM_SHARE: f64 = 0.5;
/// More tokens than these between two runs of a verbatim passage are no part of it.
const WIDEST_BREAK: usize = 15;
/// A passage has at least so many bytes on each side: what is shorter is alike by chance too often.
const SHORTEST: usize = 150;

/// A passage in tokens.
#[derive(Clone, Debug)]
struct Found {
    left: Range<usize>,
    right: Range<usize>,
    similarity: f64,
}

/// The passages of `left` that `right` has too, reworded or not, in the order of the left text. Both must be cut into
/// words.
pub(crate) fn taken_over(left: &Tokens, right: &Tokens) -> Vec<Passage> {
    let runs = shared_runs(&left.hashes, &right.hashes, SHORTEST_RUN);
    let vectors = Vectors::new((&left.hashes, &left.sentences), (&right.hashes, &right.sentences));
    let mut seeds = vectors.alike_sentences(SEED_COSINE, SEED_DICE);
    seeds.extend(sentences_of_runs(&runs, SEED_RUN, &left.sentences, &right.sentences));
    seeds.sort_unstable();
    seeds.dedup();
    if seeds.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    check(&vectors, left, right, seeds, WIDEST_GAP, &mut found);
    let is_long = |found: &Found| {
        let (left, right) = (left.span(found.left.clone()), right.span(found.right.clone()));
        left.len() >= SHORTEST && right.len() >= SHORTEST
    };
    let exact = found.into_iter().flat_map(|found| with_exact_edges(found, &runs)).filter(is_long);
    let settled = settle_overlaps(exact.collect());
    settled
        .into_iter()
        .map(|found| {
            let tokens = vectors.shared_words(found.left.clone(), found.right.clone());
            Passage {
                similarity: ratio(tokens, found.left.len().max(found.right.len())),
                tokens,
                left: left.span(found.left),
                right: right.span(found.right),
            }
        })
        .collect()
}

/// Cuts seeds into clusters, narrower ones where a cluster does not hold together as a whole.
fn check(vectors: &Vectors, left: &Tokens, right: &Tokens, seeds: Vec<Seed>, gap: u32, found: &mut Vec<Found>) {
    for cluster in clusters(seeds, gap) {
        let (in_left, in_right) = extent(&cluster);
        let in_left = left.sentences[in_left.start].start..left.sentences[in_left.end - 1].end;
        let in_right = right.sentences[in_right.start].start..right.sentences[in_right.end - 1].end;
        let similarity = vectors.cosine(in_left.clone(), in_right.clone());
        if similarity >= WHOLE_COSINE {
            found.push(Found { left: in_left, right: in_right, similarity });
        } else if gap > 0 && cluster.len() > 1 {
            check(vectors, left, right, cluster, gap - 1, found);
        }
    }
}

/// A passage that is mostly verbatim begins with its first run and ends with its last, also inside a sentence; and what
/// stands between runs that are far apart is no part of it.
fn with_exact_edges(found: Found, runs: &[Run]) -> Vec<Found> {
    let first = runs.partition_point(|run| run.left_end() <= found.left.start);
    let inside = runs[first..].iter().take_while(|run| run.left < found.left.end);
    let inside = inside.filter(|run| run.right < found.right.end && run.right_end() > found.right.start);
    let inside: Vec<Run> = inside.copied().collect();
    let tokens: usize = inside.iter().map(|run| run.length).sum();
    let longer = found.left.len().max(found.right.len());
    if (tokens as f64) < VERBATIM_SHARE * longer as f64 {
        return vec![found];
    }
    let is_near = |one: &Run, next: &Run| next.left.saturating_sub(one.left_end()) <= WIDEST_BREAK;
    let pieces = inside.chunk_by(is_near).map(|piece| {
        let start = |side: fn(&Run) -> usize| piece.iter().map(side).min().unwrap_or(0);
        let end = |side: fn(&Run) -> usize| piece.iter().map(side).max().unwrap_or(0);
        Found {
            left: start(|run| run.left)..end(Run::left_end),
            right: start(|run| run.right)..end(Run::right_end),
            similarity: 1.0,
        }
    });
    pieces.collect()
}

/// Where passages overlap in the left text, the one that explains more of it stays.
fn settle_overlaps(mut found: Vec<Found>) -> Vec<Found> {
    let explains = |found: &Found| found.similarity * found.left.len() as f64;
    found.sort_by(|a, b| {
        let order = explains(b).total_cmp(&explains(a));
        order.then_with(|| (a.left.start, a.right.start).cmp(&(b.left.start, b.right.start)))
    });
    let mut kept: Vec<Found> = Vec::new();
    for one in found {
        let overlap =
            |other: &Found| one.left.end.min(other.left.end).saturating_sub(one.left.start.max(other.left.start));
        let covered: usize = kept.iter().map(overlap).sum();
        if 2 * covered < one.left.len() {
            kept.push(one);
        }
    }
    kept.sort_by_key(|found| (found.left.start, found.right.start));
    kept
}
