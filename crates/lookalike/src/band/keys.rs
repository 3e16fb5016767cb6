//! The keys of a sketch: 64-bit hashes of a few slots each, so that a shared key means identical slots.

use crate::hash::{SplitMix, hash_band, start_band};
use crate::plan::Scheme;
use crate::settings::Bands;

/// Which slots make each key.
#[derive(Clone, Debug)]
pub(crate) struct BandKeys {
    rows: usize,
    /// The slots of key 0, then those of key 1, …; none where they follow each other.
    drawn: Vec<u32>,
    /// Where the keys of records begin that may meet all others.
    starts: Vec<u64>,
}

impl BandKeys {
    pub(crate) fn new(scheme: &Scheme, seed: u64) -> Self {
        let (keys, rows) = (scheme.bands.keys(), scheme.bands.rows());
        let drawn = match scheme.bands {
            Bands::Disjoint { .. } => Vec::new(),
            Bands::Random { .. } => {
                let mut random = SplitMix(seed ^ 0x6b65_7973_6f66_3132);
                (0..keys).flat_map(|_| draw(&mut random, rows, scheme.slots)).collect()
            }
        };
        let starts = (0..u64::from(keys)).map(|band| start_band(band, 0)).collect();
        Self { rows: rows as usize, drawn, starts }
    }

    /// Appends the keys of a sketch.
    pub(crate) fn append(&self, sketch: &[u32], within: u64, keys: &mut Vec<u64>) {
        if within == 0 {
            self.append_from(self.starts.iter().copied(), sketch, keys);
        } else {
            self.append_from((0..self.starts.len() as u64).map(|band| start_band(band, within)), sketch, keys);
        }
    }

    fn append_from(&self, starts: impl Iterator<Item = u64>, sketch: &[u32], keys: &mut Vec<u64>) {
        if self.drawn.is_empty() {
            let bands = sketch.chunks_exact(self.rows).zip(starts);
            keys.extend(bands.map(|(slots, start)| hash_band(start, in_pairs(slots, |slot| *slot))));
        } else {
            let bands = self.drawn.chunks_exact(self.rows).zip(starts);
            keys.extend(bands.map(|(drawn, start)| hash_band(start, in_pairs(drawn, |slot| sketch[*slot as usize]))));
        }
    }
}

/// What each of these stands for, two at a time; an odd one with 0.
#[inline]
fn in_pairs(slots: &[u32], value: impl Fn(&u32) -> u32) -> impl Iterator<Item = [u32; 2]> {
    let (pairs, last) = slots.as_chunks();
    let odd = last.first().map(|slot| [value(slot), 0]);
    pairs.iter().map(move |[slot, other]| [value(slot), value(other)]).chain(odd)
}

/// Draws `rows` different slots of `slots`, in ascending order.
fn draw(random: &mut SplitMix, rows: u32, slots: u32) -> Vec<u32> {
    let mut drawn: Vec<u32> = Vec::with_capacity(rows as usize);
    while drawn.len() < rows as usize {
        let slot = random.below(u64::from(slots)) as u32;
        if let Err(at) = drawn.binary_search(&slot) {
            drawn.insert(at, slot);
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bands: Bands, slots: u32, sketch: &[u32], within: u64) -> Vec<u64> {
        let mut keys = Vec::new();
        BandKeys::new(&Scheme { slots, bands, least_agreement: 0 }, 1).append(sketch, within, &mut keys);
        keys
    }

    #[test]
    fn a_key_is_shared_only_with_an_identical_band() {
        let bands = Bands::Disjoint { bands: 3, rows: 2 };
        let left = keys(bands, 6, &[1, 2, 3, 4, 1, 2], 0);
        let right = keys(bands, 6, &[1, 2, 3, 5, 2, 1], 0);
        assert_eq!(left[0], right[0]);
        assert!(left[1] != right[1] && left[2] != right[2]);
        assert_ne!(left[0], left[2], "equal slots in different bands do not meet");
        assert_ne!(left[0], keys(bands, 6, &[1, 2, 3, 4, 1, 2], 7)[0], "nor do different values of --within");
    }

    #[test]
    fn random_keys_draw_different_slots() {
        let mut random = SplitMix(1);
        for _ in 0..1000 {
            let drawn = draw(&mut random, 3, 5);
            assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]) && drawn[2] < 5);
        }
    }
}
