//! sketch: shingle hashes → MinHash values.
//!
//! Slot i of a sketch is the least of `a_i · x + b_i (mod 2³²)` over the record's elements, x being the upper half of
//! an element's 64-bit hash and a_i odd: a permutation of the 32-bit numbers, drawn from the seed for each slot on its
//! own. Two sets agree in a slot with probability equal to their Jaccard similarity, and slots are independent.
//! Repeated elements change nothing, so the elements need not be distinct. docs/sketch.md is the specification.

mod document;
mod kept;
mod kernel;

pub use document::{Damage, Mismatch, Sketch};
pub(crate) use kept::{SlotWidth, agreeing_bytes};

use crate::hash::SplitMix;

/// The value of every slot of an empty set.
pub const EMPTY_SLOT: u32 = u32::MAX;

/// Makes sketches of one kind: a number of slots and a seed.
#[derive(Clone, Debug)]
pub struct MinHash {
    /// Padded to whole vectors; the slots behind `slots` are computed and thrown away.
    multipliers: Vec<u32>,
    addends: Vec<u32>,
    slots: usize,
    kernel: kernel::Kernel,
}

impl MinHash {
    /// A MinHash with so many slots.
    pub fn new(slots: usize, seed: u64) -> Self {
        let padded = slots.next_multiple_of(kernel::LANES);
        let mut random = SplitMix(seed);
        let (multipliers, addends) = (0..padded)
            .map(|_| {
                let word = random.next();
                (word as u32 | 1, (word >> 32) as u32)
            })
            .unzip();
        Self { multipliers, addends, slots, kernel: kernel::fastest() }
    }

    /// How many slots a sketch has.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Appends the sketch of these elements.
    pub fn append(&self, elements: &[u64], sketches: &mut Vec<u32>) {
        let start = sketches.len();
        sketches.resize(start + self.multipliers.len(), EMPTY_SLOT);
        (self.kernel)(elements, &self.multipliers, &self.addends, &mut sketches[start..]);
        sketches.truncate(start + self.slots);
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
        for count in [0, 1, 2, 3, 7, 235] {
            let elements: Vec<u64> = (0..count).map(|_| random.next()).collect();
            for slots in [1, 15, 16, 17, 64, 96, 100, 128, 256, 300] {
                let fast = MinHash::new(slots, 9);
                for (name, kernel) in kernel::all() {
                    let other = MinHash { kernel, ..fast.clone() };
                    let reference = MinHash { kernel: kernel::portable, ..fast.clone() };
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
