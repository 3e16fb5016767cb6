//! What a sketch is computed with: a portable reference, and the same with AVX2. The portable loops are what aarch64 runs; its
//! compiler turns them into NEON.
//!
//! Vectors of 512 bits are left alone. They make this part faster by a twentieth at most, and multiplying them lowers the clock of
//! a core for everything else it does: on an Ice Lake a whole run took 4 to 10 % longer.

use super::EMPTY_SLOT;

/// Slots come padded to multiples of this.
pub(super) const LANES: usize = 8;

/// The most slots that are filled by their permutations at a time.
pub(super) const AT_A_TIME: usize = 16 * LANES;

/// The loops that depend on the CPU, as one does them best.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    /// Lowers every number of `least` to the least value that its permutation gives any element. `multipliers` and `least`
    /// are equally long, a multiple of [`LANES`].
    pub(super) permute: fn(elements: &[u64], multipliers: &[u32], least: &mut [u32]),
    /// The same for any number of permutations, where there are more elements than permutations.
    pub(super) permute_few: fn(elements: &[u64], multipliers: &[u32], least: &mut [u32]),
    /// A bit for each slot, of at most [`AT_A_TIME`], that is empty.
    pub(super) find_empty: fn(slots: &[u32]) -> u128,
}

/// The fastest kernel that this CPU runs.
pub(super) fn fastest() -> Kernel {
    all().last().map_or(PORTABLE, |(_, kernel)| *kernel)
}

/// Every kernel that this CPU runs, slowest first.
pub(super) fn all() -> Vec<(&'static str, Kernel)> {
    #[allow(unused_mut)]
    let mut kernels = vec![("portable", PORTABLE)];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") {
            kernels.push(("avx2", x86::AVX2));
        }
    }
    kernels
}

/// The reference.
pub(super) const PORTABLE: Kernel = Kernel { permute, permute_few, find_empty };

/// The half of an element's hash that is permuted.
#[inline(always)]
fn permuted_half(element: u64) -> u32 {
    (element >> 32) as u32
}

/// Lowers the slot into which each element falls.
#[allow(unsafe_code)]
pub(super) fn fall(elements: &[u64], multiplier: u64, slots: &mut [u32]) {
    let bins = slots.len() as u64;
    assert!((1..1 << 32).contains(&bins));
    for element in elements {
        let word = element.wrapping_mul(multiplier);
        let bin = (((word >> 32) * bins) >> 32) as usize;
        // SAFETY: a 32-bit number times `bins` is less than 2³² times `bins`, and that fits 64 bits. The check that the compiler
        // would make takes a quarter of this loop.
        let slot = unsafe { slots.get_unchecked_mut(bin) };
        *slot = (*slot).min(word as u32 >> 1);
    }
}

fn permute(elements: &[u64], multipliers: &[u32], least: &mut [u32]) {
    // A block stays in registers while all elements pass by.
    for (multipliers, least) in multipliers.chunks_exact(LANES).zip(least.chunks_exact_mut(LANES)) {
        let mut block: [u32; LANES] = least.try_into().expect("a block");
        for element in elements {
            let x = permuted_half(*element);
            for lane in 0..LANES {
                block[lane] = block[lane].min(multipliers[lane].wrapping_mul(x));
            }
        }
        least.copy_from_slice(&block);
    }
}

fn permute_few(elements: &[u64], multipliers: &[u32], least: &mut [u32]) {
    for (multiplier, least) in multipliers.iter().zip(least) {
        *least =
            elements.iter().fold(*least, |least, element| least.min(multiplier.wrapping_mul(permuted_half(*element))));
    }
}

fn find_empty(slots: &[u32]) -> u128 {
    slots.iter().rev().fold(0, |bits, slot| bits << 1 | u128::from(*slot == EMPTY_SLOT))
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use std::arch::x86_64::*;

    use super::{EMPTY_SLOT, Kernel, LANES, permuted_half};

    pub(super) const AVX2: Kernel = Kernel {
        // SAFETY: listed only where the CPU has AVX2.
        permute: |elements, multipliers, least| unsafe { permute_avx2(elements, multipliers, least) },
        // SAFETY: listed only where the CPU has AVX2.
        permute_few: |elements, multipliers, least| unsafe { permute_few_avx2(elements, multipliers, least) },
        // SAFETY: listed only where the CPU has AVX2.
        find_empty: |slots| unsafe { find_empty_avx2(slots) },
    };

    /// Takes as many vectors at a time as stay in registers with their multipliers.
    #[target_feature(enable = "avx2")]
    fn permute_avx2(elements: &[u64], multipliers: &[u32], least: &mut [u32]) {
        let mut at = 0;
        while at < least.len() {
            let vectors = (least.len() - at) / LANES;
            let (multipliers, least) = (&multipliers[at..], &mut least[at..]);
            at += LANES
                * match vectors {
                    6.. => block_avx2::<6>(elements, multipliers, least),
                    4..6 => block_avx2::<4>(elements, multipliers, least),
                    2..4 => block_avx2::<2>(elements, multipliers, least),
                    _ => block_avx2::<1>(elements, multipliers, least),
                };
        }
    }

    /// One block of N vectors; tells N.
    #[target_feature(enable = "avx2")]
    fn block_avx2<const N: usize>(elements: &[u64], multipliers: &[u32], least: &mut [u32]) -> usize {
        assert!(multipliers.len() >= N * LANES && least.len() >= N * LANES);
        let zero = _mm256_setzero_si256();
        let (mut a, mut block) = ([zero; N], [zero; N]);
        for vector in 0..N {
            // SAFETY: the assertion above leaves 8 numbers from here in each; the loads need no alignment.
            unsafe {
                a[vector] = _mm256_loadu_si256(multipliers.as_ptr().add(vector * LANES).cast());
                block[vector] = _mm256_loadu_si256(least.as_ptr().add(vector * LANES).cast());
            }
        }
        for element in elements {
            let x = _mm256_set1_epi32(permuted_half(*element) as i32);
            for vector in 0..N {
                block[vector] = _mm256_min_epu32(block[vector], _mm256_mullo_epi32(a[vector], x));
            }
        }
        for (vector, block) in block.into_iter().enumerate() {
            // SAFETY: as for the loads.
            unsafe { _mm256_storeu_si256(least.as_mut_ptr().add(vector * LANES).cast(), block) };
        }
        N
    }

    /// Lanes are elements here, so that none is wasted on permutations that nobody asked for.
    #[target_feature(enable = "avx2")]
    fn permute_few_avx2(elements: &[u64], multipliers: &[u32], least: &mut [u32]) {
        if elements.len() < LANES {
            return super::permute_few(elements, multipliers, least);
        }
        let mut at = 0;
        while at < least.len() {
            let (multipliers, least) = (&multipliers[at..], &mut least[at..]);
            at += match least.len() {
                4.. => few_avx2::<4>(elements, multipliers, least),
                3 => few_avx2::<3>(elements, multipliers, least),
                2 => few_avx2::<2>(elements, multipliers, least),
                _ => few_avx2::<1>(elements, multipliers, least),
            };
        }
    }

    /// N permutations of at least 8 elements; tells N.
    #[target_feature(enable = "avx2")]
    fn few_avx2<const N: usize>(elements: &[u64], multipliers: &[u32], least: &mut [u32]) -> usize {
        let mut a = [_mm256_setzero_si256(); N];
        let mut lanes = [_mm256_setzero_si256(); N];
        for permutation in 0..N {
            a[permutation] = _mm256_set1_epi32(multipliers[permutation] as i32);
            lanes[permutation] = _mm256_set1_epi32(least[permutation] as i32);
        }
        let mut lower = |elements: &[u64; LANES]| {
            // SAFETY: there are twice four elements; the loads need no alignment.
            let (front, back) = unsafe {
                (_mm256_loadu_ps(elements.as_ptr().cast()), _mm256_loadu_ps(elements.as_ptr().add(4).cast()))
            };
            // The upper halves of all, in an order that does not matter.
            let x = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(front, back));
            for permutation in 0..N {
                lanes[permutation] = _mm256_min_epu32(lanes[permutation], _mm256_mullo_epi32(a[permutation], x));
            }
        };
        elements.as_chunks().0.iter().for_each(&mut lower);
        // The last ones, some of which may have been seen before: that changes no minimum.
        elements.last_chunk().into_iter().for_each(&mut lower);
        for (least, lanes) in least.iter_mut().zip(lanes) {
            let half = _mm_min_epu32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256::<1>(lanes));
            let quarter = _mm_min_epu32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
            let one = _mm_min_epu32(quarter, _mm_shuffle_epi32::<0b10_11_00_01>(quarter));
            *least = _mm_cvtsi128_si32(one) as u32;
        }
        N
    }

    #[target_feature(enable = "avx2")]
    fn find_empty_avx2(slots: &[u32]) -> u128 {
        let empty = _mm256_set1_epi32(EMPTY_SLOT as i32);
        let (vectors, rest) = slots.as_chunks::<LANES>();
        let mut bits = super::find_empty(rest);
        for eight in vectors.iter().rev() {
            // SAFETY: there are eight slots; the load needs no alignment.
            let eight = unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) };
            let equal = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(eight, empty)));
            bits = bits << LANES | u128::from(equal as u8);
        }
        bits
    }
}
