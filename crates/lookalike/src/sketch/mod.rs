//! sketch: shingle hashes → MinHash values.
//!
//! A sketch is made in one pass: every element falls into one bin, a slot of the sketch, with one value, and the slot
//! keeps the least. A slot that no element fell into takes the least of `a_i · x (mod 2³²)` over all elements, x being
//! the upper half of an element's 64-bit hash and a_i odd: a permutation of the 32-bit numbers, drawn from the seed for
//! each slot on its own. Either way a slot samples one element of the set, and the same one in two sets if it is that
//! of their union: two sets agree in a slot with probability equal to their Jaccard similarity. Slots filled from bins
//! sample different elements, so that the share of agreeing slots varies less than with a permutation for every slot, and
//! most sets need only a few permutations, which are what costs. Repeated elements change nothing, so the elements need not
//! be distinct. docs/sketch.md is the specification.

mod document;
mod kept;
mod kernel;

pub use document::{Damage, Mismatch, Sketch};
pub(crate) use kept::{SlotWidth, agreeing_bytes};

use crate::hash::SplitMix;
use kernel::AT_A_TIME;

/// The value of every slot of an empty set.
pub const EMPTY_SLOT: u32 = u32::MAX;

/// Empty slots that are filled together, where they are few.
const TOGETHER: usize = 4 * kernel::LANES;

/// Set in a slot that no element fell into.
const BY_PERMUTATION: u32 = 1 << 31;

/// Makes sketches of one kind: a number of slots and a seed.
#[derive(Clone, Debug)]
pub struct MinHash {
    /// Of the hash that says into which slot an element falls, and with which value.
    bin_multiplier: u64,
    /// Of the permutation of each slot, padded to whole vectors.
    multipliers: Vec<u32>,
    slots: usize,
    kernel: kernel::Kernel,
}

impl MinHash {
    /// A MinHash with so many slots.
    pub fn new(slots: usize, seed: u64) -> Self {
        let mut random = SplitMix(seed);
        let bin_multiplier = random.next() | 1;
        let mut multipliers: Vec<u32> = (0..slots).map(|_| random.next() as u32 | 1).collect();
        multipliers.resize(slots.next_multiple_of(kernel::LANES), 1);
        Self { bin_multiplier, multipliers, slots, kernel: kernel::fastest() }
    }

    /// How many slots a sketch has.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Appends the sketch of these elements.
    pub fn append(&self, elements: &[u64], sketches: &mut Vec<u32>) {
        let start = sketches.len();
        sketches.resize(start + self.slots(), EMPTY_SLOT);
        if !elements.is_empty() {
            let slots = &mut sketches[start..];
            kernel::fall(elements, self.bin_multiplier, slots);
            self.fill_empty(elements, slots);
        }
    }

    /// Fills the slots that are still empty by their permutations.
    fn fill_empty(&self, elements: &[u64], slots: &mut [u32]) {
        // Where few are empty they are gathered first; where nearly all are, that takes longer than it saves.
        let are_few = elements.len().saturating_mul(elements.len()) > 12 * slots.len();
        let multipliers = self.multipliers.chunks(AT_A_TIME);
        for (slots, multipliers) in slots.chunks_mut(AT_A_TIME).zip(multipliers) {
            if are_few {
                self.fill_few(elements, multipliers, slots);
                continue;
            }
            let mut least = [u32::MAX; AT_A_TIME];
            (self.kernel.permute)(elements, multipliers, &mut least[..multipliers.len()]);
            for (slot, least) in slots.iter_mut().zip(least) {
                *slot = if *slot == EMPTY_SLOT { BY_PERMUTATION | (least >> 1) } else { *slot };
            }
        }
    }

    /// Fills the few of these slots that are empty.
    fn fill_few(&self, elements: &[u64], multipliers: &[u32], slots: &mut [u32]) {
        let mut empty = (self.kernel.find_empty)(slots);
        while empty != 0 {
            let (mut places, mut gathered, mut count) = ([0; TOGETHER], [1; TOGETHER], 0);
            while empty != 0 && count < TOGETHER {
                let place = empty.trailing_zeros() as usize;
                empty &= empty - 1;
                (places[count], gathered[count]) = (place, multipliers[place]);
                count += 1;
            }
            let mut least = [u32::MAX; TOGETHER];
            // Lanes are permutations or elements, whichever fills more of them.
            let in_lanes = |number: usize| number.next_multiple_of(kernel::LANES);
            let padded = in_lanes(count);
            if padded * elements.len() < count * in_lanes(elements.len()) {
                (self.kernel.permute)(elements, &gathered[..padded], &mut least[..padded]);
            } else {
                (self.kernel.permute_few)(elements, &gathered[..count], &mut least[..count]);
            }
            for (place, least) in places[..count].iter().zip(least) {
                slots[*place] = BY_PERMUTATION | (least >> 1);
            }
        }
    }

    /// The sketch of these elements.
    pub fn sketch(&self, elements: &[u64]) -> Vec<u32> {
        let mut sketch = Vec::new();
        self.append(elements, &mut sketch);
        sketch
    }
}

/// In how many slots two sketches agree.
#[inline]
pub fn agreement<T: PartialEq>(left: &[T], right: &[T]) -> u32 {
    left.iter().zip(right).map(|(left, right)| u32::from(left == right)).sum()
}

/// The sketch of a union is the least of both sketches, slot by slot.
pub fn merge(into: &mut [u32], other: &[u32]) {
    for (slot, other) in into.iter_mut().zip(other) {
        *slot = (*slot).min(*other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kernel_equals_the_reference() {
        let mut random = SplitMix(3);
        for count in [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 40, 235] {
            let elements: Vec<u64> = (0..count).map(|_| random.next()).collect();
            for slots in [1, 15, 16, 17, 64, 96, 100, 128, 256, 300] {
                let fast = MinHash::new(slots, 9);
                for (name, kernel) in kernel::all() {
                    let other = MinHash { kernel, ..fast.clone() };
                    let reference = MinHash { kernel: kernel::PORTABLE, ..fast.clone() };
                    assert_eq!(other.sketch(&elements), reference.sketch(&elements), "{name} {count} {slots}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn order_and_repeats_change_nothing(mut elements in prop::collection::vec(any::<u64>(), 0..40)) {
            let minhash = MinHash::new(32, 5);
            let sketch = minhash.sketch(&elements);
            elements.extend(elements.clone());
            elements.reverse();
            prop_assert_eq!(minhash.sketch(&elements), sketch);
        }

        #[test]
        fn the_sketch_of_a_union_is_the_merge(left in prop::collection::vec(any::<u64>(), 0..40), right in prop::collection::vec(any::<u64>(), 0..40)) {
            let minhash = MinHash::new(48, 5);
            let mut merged = minhash.sketch(&left);
            merge(&mut merged, &minhash.sketch(&right));
            prop_assert_eq!(merged, minhash.sketch(&[left, right].concat()));
        }
    }
}
