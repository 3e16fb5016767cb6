//! The hashes that everything else is built from. They are part of the file formats: docs/sketch.md specifies them, and
//! golden vectors pin them.

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Arbitrary odd constants: the fractional digits of π, in order, made odd.
const K0: u64 = 0x243f_6a88_85a3_08d3;
const K1: u64 = 0x1319_8a2e_0370_7345;
const K2: u64 = 0xa409_3822_299f_31d1;
const K3: u64 = 0x082e_fa98_ec4e_6c89;
const K4: u64 = 0x4528_21e6_38d0_1377;

/// What a rolled hash is multiplied by from token to token. 3 modulo 8, so that swapping tokens cannot cancel out.
const ROLL: u64 = 0xbe54_66cf_34e9_0c6b;

/// Bytes that may be read, never used, behind a token: [`hash_token`] loads sixteen at a time.
pub(crate) const PADDING: usize = 64;

/// Both halves of the 128-bit product, folded together: a strong mix for the price of one multiplication.
#[inline(always)]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of a byte string: XXH3, 64 bits, seed 0.
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// A fingerprint of a sequence of hashes, and of the value that its record may only meet itself with: XXH3, 128 bits, over the
/// bytes of the hashes as this machine has them. Nothing that outlasts a run holds it.
pub(crate) fn fingerprint(hashes: &[u64], within: u64) -> u128 {
    let sequence = xxh3_128(bytemuck::cast_slice(hashes));
    let within = if within == 0 { [0, 0] } else { [fold(within ^ K4, K2), fold(within ^ K2, K4)] };
    sequence ^ (u128::from(within[0]) << 64 | u128::from(within[1]))
}

/// The same for the shingles of a text of which every `apart`-th tells all, as those between have no tokens of their own. To hash
/// all of them would take as long as an eighth of all that is done for a text.
pub(crate) fn fingerprint_of_text(shingles: &[u64], apart: usize, within: u64) -> u128 {
    if apart == 1 {
        return fingerprint(shingles, within);
    }
    let step = |lane: u64, shingle: u64| fold(lane ^ shingle, K4).wrapping_add(K1);
    // Each step waits for the one before, so four go side by side.
    let [mut first, mut second, mut third, mut fourth] = [K0, K1, K2, K3];
    let fours = shingles.chunks_exact(4 * apart);
    let rest = fours.remainder();
    for four in fours {
        first = step(first, four[0]);
        second = step(second, four[apart]);
        third = step(third, four[2 * apart]);
        fourth = step(fourth, four[3 * apart]);
    }
    for shingle in rest.iter().step_by(apart).chain(shingles.last()) {
        first = step(first, *shingle);
    }
    fingerprint(&[first, second, third, fourth, shingles.len() as u64], within)
}

/// Masks that keep the first n of eight bytes.
const MASKS: [[u64; 2]; 17] = {
    let mut masks = [[0, 0]; 17];
    let mut length = 0;
    while length <= 16 {
        masks[length][0] = if length >= 8 { u64::MAX } else { (1 << (8 * length)) - 1 };
        masks[length][1] = if length <= 8 {
            0
        } else if length == 16 {
            u64::MAX
        } else {
            (1 << (8 * (length - 8))) - 1
        };
        length += 1;
    }
    masks
};

#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The hash of the token `buffer[start..end]`. The buffer must go on for [`PADDING`] bytes behind the token, whatever
/// they hold: short tokens are loaded whole and masked, which needs no branch on their length.
#[inline(always)]
pub(crate) fn hash_token(buffer: &[u8], start: usize, end: usize) -> u64 {
    let length = end - start;
    if length <= 16 {
        let masks = MASKS[length];
        return fold((word_at(buffer, start) & masks[0]) ^ K0, (word_at(buffer, start + 8) & masks[1]) ^ K1);
    }
    hash_long_token(buffer, start, end)
}

#[cold]
#[inline(never)]
fn hash_long_token(buffer: &[u8], start: usize, end: usize) -> u64 {
    let mut seed = K0;
    let mut at = start;
    while at < end {
        let masks = MASKS[(end - at).min(16)];
        seed = fold((word_at(buffer, at) & masks[0]) ^ seed, (word_at(buffer, at + 8) & masks[1]) ^ K1);
        at += 16;
    }
    seed
}

/// The hash of one character as a token.
#[inline(always)]
pub(crate) fn hash_character(character: char) -> u64 {
    fold(u64::from(u32::from(character)) ^ K0, K1)
}

/// Rolls a window of `k` token hashes along a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roll {
    /// ROLL to the power of k: what takes the oldest token out again.
    leaving: u64,
}

impl Roll {
    pub(crate) fn new(k: usize) -> Self {
        Self { leaving: (0..k).fold(1u64, |power, _| power.wrapping_mul(ROLL)) }
    }

    /// The rolled value of a run of tokens, from nothing.
    #[inline]
    pub(crate) fn start(tokens: &[u64]) -> u64 {
        tokens.iter().fold(0u64, |state, token| state.wrapping_mul(ROLL).wrapping_add(*token))
    }

    /// The value one token further.
    #[inline(always)]
    pub(crate) fn step(self, state: u64, leaving: u64, entering: u64) -> u64 {
        state.wrapping_mul(ROLL).wrapping_add(entering.wrapping_sub(leaving.wrapping_mul(self.leaving)))
    }

    /// The shingle hash of a rolled value.
    #[inline(always)]
    pub(crate) fn finish(state: u64) -> u64 {
        fold(state ^ K2, K3)
    }
}

/// The hash of the `occurrence`-th (from 1) occurrence of a shingle in a bag; the first is the shingle itself.
#[inline]
pub(crate) fn hash_occurrence(shingle: u64, occurrence: u64) -> u64 {
    if occurrence <= 1 { shingle } else { fold(shingle ^ K4, occurrence.wrapping_mul(K3) | 1) }
}

/// Where the key of a band begins: apart for every band and every value of `--within`.
#[inline]
pub(crate) fn start_band(band: u64, within: u64) -> u64 {
    fold(within ^ K4, band.wrapping_mul(K2) | 1) ^ K2
}

/// The key of a band: where it begins, and the hash of its slots, two at a time, as every step waits for the one before. An odd
/// one goes with 0.
#[inline]
pub(crate) fn hash_band(start: u64, slots: impl Iterator<Item = [u32; 2]>) -> u64 {
    let state = slots.fold(start, |state, [slot, other]| {
        fold(state ^ (u64::from(slot) | (u64::from(other) << 32)), K3).wrapping_add(K1)
    });
    fold(state ^ K0, K1)
}

/// One hash of several.
#[inline]
pub(crate) fn combine(hashes: &[u64]) -> u64 {
    hashes.iter().fold(K2, |state, hash| fold(state ^ hash, K3).wrapping_add(K1))
}

/// The hash of an element that only meets its like inside the same value of `--within`.
#[inline]
pub(crate) fn hash_within(element: u64, within: u64) -> u64 {
    fold(element ^ K1, within | 1)
}

/// A stream of random words from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `bound`, with a bias of at most bound/2⁶⁴.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_a_token_does_not_matter() {
        for length in 1..=60 {
            let token: Vec<u8> = (0..length).map(|byte| b'a' + byte % 26).collect();
            let padded = |filler: u8| {
                let mut buffer = token.clone();
                buffer.extend([filler; PADDING]);
                hash_token(&buffer, 0, length as usize)
            };
            assert_eq!(padded(0), padded(b'x'), "length {length}");
        }
    }

    #[test]
    fn a_fingerprint_tells_sequences_apart() {
        let mut random = SplitMix(2);
        let mut seen = std::collections::HashSet::new();
        let mut see = |hashes: &[u64], within: u64| {
            assert!(seen.insert(fingerprint(hashes, within)), "{hashes:x?} {within}");
        };
        // Zeros and ones, which nothing hides: how many there are, and in which order.
        for length in 0..64 {
            see(&vec![0; length], 0);
            see(&vec![0; length], 1);
            (0..length).for_each(|at| see(&(0..length).map(|place| u64::from(place == at)).collect::<Vec<_>>(), 0));
        }
        // Texts of few different characters, which can be moved about in many ways.
        for (characters, length) in [(2u64, 10u32), (4, 7)] {
            let of: Vec<u64> = (0..characters).map(|_| random.next()).collect();
            for number in 0..characters.pow(length) {
                let text = (0..length).map(|at| of[(number / characters.pow(at) % characters) as usize]);
                see(&text.collect::<Vec<_>>(), 0);
            }
        }
        let mut hashes: Vec<u64> = (0..101).map(|_| random.next()).collect();
        for _ in 0..2_000 {
            see(&hashes, 0);
            let (left, right) = (random.below(101) as usize, random.below(101) as usize);
            match random.below(3) {
                0 => hashes.swap(left, right),
                1 => hashes[left] ^= 1 << random.below(64),
                _ => hashes[left] = random.next(),
            }
            if left == right {
                hashes[left] = random.next();
            }
        }
    }

    #[test]
    fn rolling_equals_starting_anew() {
        let mut random = SplitMix(7);
        let tokens: Vec<u64> = (0..50).map(|_| random.next()).collect();
        for k in 1..8 {
            let roll = Roll::new(k);
            let mut state = Roll::start(&tokens[..k]);
            for at in k..tokens.len() {
                state = roll.step(state, tokens[at - k], tokens[at]);
                assert_eq!(state, Roll::start(&tokens[at + 1 - k..=at]));
            }
        }
    }
}
