//! A corpus of families of texts, in which every degree of likeness occurs; and how alike two of them are, by the
//! definition.

use std::collections::HashSet;

use crate::random::Random;

/// So many families of so many texts of about `words` words. Members differ from the first of their family in none to
/// a fifth of their words, and families are mixed.
pub(crate) fn draw(seed: u64, families: usize, members: usize, words: usize) -> Vec<String> {
    let mut random = Random::new(seed);
    let word = |random: &mut Random| format!("w{}", random.below(5_000));
    let mut texts = Vec::new();
    let first: Vec<Vec<String>> = (0..families).map(|_| (0..words).map(|_| word(&mut random)).collect()).collect();
    for _ in 0..members {
        for family in &first {
            let mut text = family.clone();
            for _ in 0..random.below(words / 5) {
                let at = random.below(text.len());
                text[at] = word(&mut random);
            }
            texts.push(text.join(" "));
        }
    }
    texts
}

/// The runs of `k` words of a text that has at least so many.
pub(crate) fn shingles(text: &str, k: usize) -> HashSet<Vec<&str>> {
    let words: Vec<&str> = text.split(' ').collect();
    words.windows(k).map(<[&str]>::to_vec).collect()
}

pub(crate) fn jaccard(left: &str, right: &str, k: usize) -> f64 {
    let (left, right) = (shingles(left, k), shingles(right, k));
    left.intersection(&right).count() as f64 / left.union(&right).count() as f64
}

pub(crate) fn containment(left: &str, right: &str, k: usize) -> f64 {
    let (left, right) = (shingles(left, k), shingles(right, k));
    left.intersection(&right).count() as f64 / left.len() as f64
}
