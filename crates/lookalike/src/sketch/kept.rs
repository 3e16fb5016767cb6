//! What is kept of the slots of a sketch once its keys are known: of each a byte or two, by which it is counted how often two
//! sketches agree.

use super::agreement;

/// How many bytes of each slot are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotWidth {
    /// For a filter in front of the exact check. Slots that differ agree here once in 256 times, which lets a few more pairs
    /// pass and never holds one back.
    One,
    /// For estimates, which are told: slots that differ agree here once in 65,536 times.
    Two,
}

impl SlotWidth {
    /// Bytes of a slot.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    /// Appends what is kept of a sketch.
    pub(crate) fn append(self, sketch: &[u32], kept: &mut Vec<u8>) {
        match self {
            Self::One => kept.extend(sketch.iter().map(|slot| *slot as u8)),
            Self::Two => kept.extend(sketch.iter().flat_map(|slot| (*slot as u16).to_le_bytes())),
        }
    }

    /// In how many slots two sketches agree, by what is kept of them.
    #[inline]
    pub(crate) fn agreement(self, left: &[u8], right: &[u8]) -> u32 {
        match self {
            Self::One => agreeing_bytes(left, right),
            Self::Two => agreement(left.as_chunks::<2>().0, right.as_chunks::<2>().0),
        }
    }
}

/// How many bytes agree.
#[inline]
pub(crate) fn agreeing_bytes(left: &[u8], right: &[u8]) -> u32 {
    // So few at a time that they are counted in bytes, of which a register holds the most.
    const COUNTED_IN_A_BYTE: usize = 128;
    let pieces = left.chunks(COUNTED_IN_A_BYTE).zip(right.chunks(COUNTED_IN_A_BYTE));
    pieces
        .map(|(left, right)| u32::from(left.iter().zip(right).map(|(left, right)| u8::from(left == right)).sum::<u8>()))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn agreement_is_counted_by_the_bytes_that_are_kept() {
        let mut random = SplitMix(8);
        for slots in [0, 1, 7, 96, 127, 128, 129, 300, 1024] {
            let left: Vec<u32> = (0..slots).map(|_| random.next() as u32).collect();
            // Some agree, some in their lower byte or half alone.
            let change = |slot: u32, kind: u64| [slot, slot ^ 0x0101_0000, slot ^ 0x0100, slot ^ 1][kind as usize];
            let right: Vec<u32> = left.iter().map(|slot| change(*slot, random.below(4))).collect();
            for (width, mask) in [(SlotWidth::One, 0xFF), (SlotWidth::Two, 0xFFFF)] {
                let kept = |sketch: &[u32]| {
                    let mut kept = Vec::new();
                    width.append(sketch, &mut kept);
                    assert_eq!(kept.len(), sketch.len() * width.bytes());
                    kept
                };
                let agreeing = left.iter().zip(&right).filter(|(left, right)| *left & mask == *right & mask).count();
                assert_eq!(width.agreement(&kept(&left), &kept(&right)), agreeing as u32, "{width:?} {slots}");
            }
        }
    }
}
