//! Seeds of reworded passages: pairs of sentences that have unusually many telling words in common.
//!
//! The idea is that of Sanchez-Perez, Sidorov and Gelbukh (2014): sentences as vectors of words, each word weighted by
//! how few sentences have it, compared by cosine and Dice.

use std::collections::HashMap;
use std::ops::Range;

use super::runs::Run;

/// A word that more sentences of the right text have leads to no candidates: it tells nothing, and a book has thousands
/// of such sentences.
const MOST_SENTENCES: usize = 48;

/// The words of one text, sentence by sentence.
#[derive(Debug)]
pub(crate) struct Bags {
    /// Word, how often, of every sentence, by word.
    words: Vec<(u32, f32)>,
    ends: Vec<usize>,
    /// The length of each sentence's vector.
    norms: Vec<f32>,
}

impl Bags {
    fn of(&self, sentence: usize) -> &[(u32, f32)] {
        let start = if sentence == 0 { 0 } else { self.ends[sentence - 1] };
        &self.words[start..self.ends[sentence]]
    }
}

/// Both texts as bags of words over one vocabulary.
#[derive(Debug)]
pub(crate) struct Vectors {
    /// The weight of each word.
    weights: Vec<f32>,
    left_words: Vec<u32>,
    right_words: Vec<u32>,
    left: Bags,
    right: Bags,
}

/// Two sentences, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seed {
    pub(crate) left: u32,
    pub(crate) right: u32,
}

impl Vectors {
    pub(crate) fn new(left: (&[u64], &[Range<usize>]), right: (&[u64], &[Range<usize>])) -> Self {
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let mut numbered = |hashes: &[u64]| -> Vec<u32> {
            let number = |hash: &u64| {
                let next = numbers.len() as u32;
                *numbers.entry(*hash).or_insert(next)
            };
            hashes.iter().map(number).collect()
        };
        let (left_words, right_words) = (numbered(left.0), numbered(right.0));
        let mut in_sentences = vec![0u32; numbers.len()];
        let left_bags = count(&left_words, left.1, &mut in_sentences);
        let right_bags = count(&right_words, right.1, &mut in_sentences);
        let all = (left.1.len() + right.1.len()) as f32;
        let weights: Vec<f32> = in_sentences.iter().map(|having| ((all + 1.0) / *having as f32).ln()).collect();
        let mut vectors = Self { weights, left_words, right_words, left: left_bags, right: right_bags };
        vectors.left.norms = vectors.norms(&vectors.left);
        vectors.right.norms = vectors.norms(&vectors.right);
        vectors
    }

    fn norms(&self, bags: &Bags) -> Vec<f32> {
        let square = |(word, count): &(u32, f32)| (self.weights[*word as usize] * count).powi(2);
        (0..bags.ends.len()).map(|sentence| bags.of(sentence).iter().map(square).sum::<f32>().sqrt()).collect()
    }

    /// All pairs of sentences with at least this cosine and Dice coefficient, by left, then right.
    pub(crate) fn alike_sentences(&self, least_cosine: f32, least_dice: f32) -> Vec<Seed> {
        let mut having: Vec<Vec<u32>> = vec![Vec::new(); self.weights.len()];
        for sentence in 0..self.right.ends.len() {
            for (word, _) in self.right.of(sentence) {
                let list = &mut having[*word as usize];
                if list.len() <= MOST_SENTENCES {
                    list.push(sentence as u32);
                }
            }
        }
        let mut seeds = Vec::new();
        let mut candidates: Vec<u32> = Vec::new();
        for left in 0..self.left.ends.len() {
            candidates.clear();
            for (word, _) in self.left.of(left) {
                let list = &having[*word as usize];
                if list.len() <= MOST_SENTENCES {
                    candidates.extend(list);
                }
            }
            candidates.sort_unstable();
            candidates.dedup();
            for right in &candidates {
                if self.is_alike(left, *right as usize, least_cosine, least_dice) {
                    seeds.push(Seed { left: left as u32, right: *right });
                }
            }
        }
        seeds
    }

    fn is_alike(&self, left: usize, right: usize, least_cosine: f32, least_dice: f32) -> bool {
        let (mut a, mut b) = (self.left.of(left), self.right.of(right));
        let words = (a.len() + b.len()) as f32;
        let (mut product, mut common) = (0.0, 0);
        while let ([(left_word, left_count), ..], [(right_word, right_count), ..]) = (a, b) {
            if left_word == right_word {
                let weight = self.weights[*left_word as usize];
                product += weight * weight * left_count * right_count;
                common += 1;
            }
            if left_word <= right_word {
                a = &a[1..];
            }
            if right_word <= left_word {
                b = &b[1..];
            }
        }
        let lengths = self.left.norms[left] * self.right.norms[right];
        product >= least_cosine * lengths && 2.0 * common as f32 >= least_dice * words && lengths > 0.0
    }

    /// The cosine of two stretches of tokens as bags of words.
    pub(crate) fn cosine(&self, left: Range<usize>, right: Range<usize>) -> f64 {
        let (mut product, mut of_left, mut of_right) = (0.0, 0.0, 0.0);
        for (word, left, right) in self.counts(left, right) {
            let square = f64::from(self.weights[word as usize]).powi(2);
            product += square * f64::from(left) * f64::from(right);
            of_left += square * f64::from(left).powi(2);
            of_right += square * f64::from(right).powi(2);
        }
        if product == 0.0 { 0.0 } else { product / (of_left * of_right).sqrt() }
    }

    /// How many tokens two stretches have in common, in any order.
    pub(crate) fn shared_words(&self, left: Range<usize>, right: Range<usize>) -> usize {
        self.counts(left, right).iter().map(|(_, left, right)| *left.min(right) as usize).sum()
    }

    /// How often each word occurs in two stretches, by word: sums must never depend on the order of a hash map.
    fn counts(&self, left: Range<usize>, right: Range<usize>) -> Vec<(u32, u32, u32)> {
        let mut counts: HashMap<u32, (u32, u32)> = HashMap::new();
        for word in &self.left_words[left] {
            counts.entry(*word).or_default().0 += 1;
        }
        for word in &self.right_words[right] {
            counts.entry(*word).or_default().1 += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().map(|(word, (left, right))| (word, left, right)).collect();
        counts.sort_unstable_by_key(|(word, ..)| *word);
        counts
    }
}

/// The bags of all sentences; adds up in how many sentences each word is.
fn count(words: &[u32], sentences: &[Range<usize>], in_sentences: &mut [u32]) -> Bags {
    let mut bags = Bags { words: Vec::with_capacity(words.len()), ends: Vec::new(), norms: Vec::new() };
    let mut sorted = Vec::new();
    for sentence in sentences {
        sorted.clear();
        sorted.extend_from_slice(&words[sentence.clone()]);
        sorted.sort_unstable();
        for same in sorted.chunk_by(|a, b| a == b) {
            bags.words.push((same[0], same.len() as f32));
            in_sentences[same[0] as usize] += 1;
        }
        bags.ends.push(bags.words.len());
    }
    bags
}

/// The pairs of sentences that verbatim runs go through.
pub(crate) fn sentences_of_runs(
    runs: &[Run],
    least_tokens: usize,
    left: &[Range<usize>],
    right: &[Range<usize>],
) -> Vec<Seed> {
    let mut seeds = Vec::new();
    for run in runs.iter().filter(|run| run.length >= least_tokens) {
        let mut at = 0;
        while at < run.length {
            let l = left.partition_point(|sentence| sentence.end <= run.left + at);
            let r = right.partition_point(|sentence| sentence.end <= run.right + at);
            seeds.push(Seed { left: l as u32, right: r as u32 });
            at = (left[l].end - run.left).min(right[r].end - run.right);
        }
    }
    seeds
}
