//! Made-up words, as often as words are in natural texts: the r-th most common one about 1/r as often as the first.

use std::collections::HashSet;

use crate::random::Random;

/// How many different words there are.
pub const WORDS: usize = 50_000;

/// Entries of the table that words are drawn from. The rarest word has about two of them.
const DRAWS: usize = 1 << 21;

/// Added to a rank before it is inverted: without it the first word would be every tenth.
const FLATTENED_BY: usize = 3;

/// Words to draw from.
#[derive(Debug)]
pub struct Vocabulary {
    words: Vec<String>,
    draws: Vec<u32>,
}

impl Vocabulary {
    /// The words of this seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(&[seed, 0x776f_7264]);
        let mut known = HashSet::new();
        let mut words = Vec::with_capacity(WORDS);
        while words.len() < WORDS {
            let length = natural_length(words.len(), &mut random);
            let word = make_word(length, &mut random);
            if known.insert(word.clone()) {
                words.push(word);
            }
        }
        let weight = |rank: usize| (1u64 << 40) / (rank + FLATTENED_BY) as u64;
        let total: u64 = (0..WORDS).map(weight).sum();
        let mut draws = Vec::with_capacity(DRAWS);
        let mut below = 0u64;
        for rank in 0..WORDS {
            below += weight(rank);
            let end = (u128::from(below) * DRAWS as u128 / u128::from(total)) as usize;
            draws.resize(end, rank as u32);
        }
        Self { words, draws }
    }

    /// Draws a word by its frequency.
    pub fn draw(&self, random: &mut Random) -> u32 {
        self.draws[random.below(DRAWS)]
    }

    /// The letters of a word.
    pub fn word(&self, word: u32) -> &str {
        &self.words[word as usize]
    }
}

/// Common words are short. The slope makes running words 4.7 letters long on average, as in English.
fn natural_length(rank: usize, random: &mut Random) -> usize {
    const DOUBLING_ADDS: f64 = 0.36;
    let doublings = f64::from((rank + 1).ilog2());
    let length = 1.9 + DOUBLING_ADDS * doublings + 0.9 * random.normal() * (doublings / 8.0).min(1.0);
    // Two letters give only some two hundred words, so the rare ones have to be longer.
    let least = if rank < 60 { 2 } else { 3 };
    (length.round() as usize).clamp(least, 16)
}

/// Consonants and vowels in turn, the common letters more often.
fn make_word(length: usize, random: &mut Random) -> String {
    const CONSONANTS: &[u8] = b"ttttnnnnsssrrrhhhllldddccmmwfgpbvkyjxz";
    const VOWELS: &[u8] = b"eeeeeaaaaooooiiiuu";
    let mut word = String::with_capacity(length);
    let mut vowel = random.happens(0.4);
    while word.len() < length {
        let letters = if vowel { VOWELS } else { CONSONANTS };
        word.push(char::from(letters[random.below(letters.len())]));
        vowel = if vowel { random.happens(0.12) } else { random.happens(0.75) };
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_words_are_as_long_and_as_skewed_as_natural_ones() {
        let vocabulary = Vocabulary::new(1);
        assert_eq!(vocabulary.draws.len(), DRAWS);
        let mut random = Random::new(&[2]);
        let count = 200_000;
        let drawn: Vec<u32> = (0..count).map(|_| vocabulary.draw(&mut random)).collect();
        let letters: usize = drawn.iter().map(|word| vocabulary.word(*word).len()).sum();
        let mean = letters as f64 / f64::from(count);
        assert!((4.6..4.8).contains(&mean), "{mean} letters a running word");
        let most_common = drawn.iter().filter(|word| **word < 100).count() as f64 / f64::from(count);
        assert!((0.25..0.5).contains(&most_common), "the first hundred words are {most_common} of all");
        assert!(vocabulary.words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
    }
}
