//! The least value of every permutation: a portable reference, and the same for the vector units of x86. The portable
//! loop is what aarch64 runs; its compiler turns it into NEON.

/// Permutations come in multiples of this.
pub(super) const LANES: usize = 16;

/// Lowers every number of `least` to the least value that its permutation gives any element:
/// `(elements, multipliers, least)`, the last two equally long, a multiple of [`LANES`].
pub(super) type Kernel = fn(&[u64], &[u32], &mut [u32]);

/// The fastest kernel that this CPU runs.
pub(super) fn fastest() -> Kernel {
    all().last().map_or(portable, |(_, kernel)| *kernel)
}

/// Every kernel that this CPU runs, slowest first.
pub(super) fn all() -> Vec<(&'static str, Kernel)> {
    #[allow(unused_mut)]
    let mut kernels: Vec<(&'static str, Kernel)> = vec![("portable", portable)];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") {
            kernels.push(("avx2", x86::avx2));
        }
        if is_x86_feature_detected!("avx512f") {
            kernels.push(("avx512", x86::avx512));
        }
    }
    kernels
}

/// The half of an element's hash that is permuted.
#[inline(always)]
fn permuted_half(element: u64) -> u32 {
    (element >> 32) as u32
}

/// The reference.
pub(super) fn portable(elements: &[u64], multipliers: &[u32], least: &mut [u32]) {
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

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use std::arch::x86_64::*;

    use super::{LANES, permuted_half};

    pub(super) fn avx512(elements: &[u64], multipliers: &[u32], least: &mut [u32]) {
        // SAFETY: listed only where the CPU has AVX-512F.
        unsafe { in_blocks_avx512(elements, multipliers, least) }
    }

    pub(super) fn avx2(elements: &[u64], multipliers: &[u32], least: &mut [u32]) {
        // SAFETY: listed only where the CPU has AVX2.
        unsafe { in_blocks_avx2(elements, multipliers, least) }
    }

    /// Takes as many vectors at a time as stay in registers with their multipliers.
    #[target_feature(enable = "avx512f")]
    fn in_blocks_avx512(elements: &[u64], multipliers: &[u32], least: &mut [u32]) {
        let mut at = 0;
        while at < least.len() {
            let vectors = (least.len() - at) / LANES;
            let (multipliers, least) = (&multipliers[at..], &mut least[at..]);
            at += LANES
                * match vectors {
                    8.. => block_avx512::<8>(elements, multipliers, least),
                    4..8 => block_avx512::<4>(elements, multipliers, least),
                    3 => block_avx512::<3>(elements, multipliers, least),
                    2 => block_avx512::<2>(elements, multipliers, least),
                    _ => block_avx512::<1>(elements, multipliers, least),
                };
        }
    }

    /// One block of N vectors; tells N.
    #[target_feature(enable = "avx512f")]
    fn block_avx512<const N: usize>(elements: &[u64], multipliers: &[u32], least: &mut [u32]) -> usize {
        assert!(multipliers.len() >= N * LANES && least.len() >= N * LANES);
        let zero = _mm512_setzero_si512();
        let (mut a, mut block) = ([zero; N], [zero; N]);
        for vector in 0..N {
            // SAFETY: the assertion above leaves 16 numbers from here in each; the loads need no alignment.
            unsafe {
                a[vector] = _mm512_loadu_si512(multipliers.as_ptr().add(vector * LANES).cast());
                block[vector] = _mm512_loadu_si512(least.as_ptr().add(vector * LANES).cast());
            }
        }
        for element in elements {
            let x = _mm512_set1_epi32(permuted_half(*element) as i32);
            for vector in 0..N {
                block[vector] = _mm512_min_epu32(block[vector], _mm512_mullo_epi32(a[vector], x));
            }
        }
        for (vector, block) in block.into_iter().enumerate() {
            // SAFETY: as for the loads.
            unsafe { _mm512_storeu_si512(least.as_mut_ptr().add(vector * LANES).cast(), block) };
        }
        N
    }

    #[target_feature(enable = "avx2")]
    fn in_blocks_avx2(elements: &[u64], multipliers: &[u32], least: &mut [u32]) {
        let mut at = 0;
        while at < least.len() {
            let vectors = (least.len() - at) / LANES;
            let (multipliers, least) = (&multipliers[at..], &mut least[at..]);
            at += LANES
                * match vectors {
                    3.. => block_avx2::<6>(elements, multipliers, least),
                    2 => block_avx2::<4>(elements, multipliers, least),
                    _ => block_avx2::<2>(elements, multipliers, least),
                };
        }
    }

    /// One block of N vectors of half the width; tells N / 2.
    #[target_feature(enable = "avx2")]
    fn block_avx2<const N: usize>(elements: &[u64], multipliers: &[u32], least: &mut [u32]) -> usize {
        const WIDTH: usize = 8;
        assert!(multipliers.len() >= N * WIDTH && least.len() >= N * WIDTH);
        let zero = _mm256_setzero_si256();
        let (mut a, mut block) = ([zero; N], [zero; N]);
        for vector in 0..N {
            // SAFETY: the assertion above leaves 8 numbers from here in each; the loads need no alignment.
            unsafe {
                a[vector] = _mm256_loadu_si256(multipliers.as_ptr().add(vector * WIDTH).cast());
                block[vector] = _mm256_loadu_si256(least.as_ptr().add(vector * WIDTH).cast());
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
            unsafe { _mm256_storeu_si256(least.as_mut_ptr().add(vector * WIDTH).cast(), block) };
        }
        N * WIDTH / LANES
    }
}
