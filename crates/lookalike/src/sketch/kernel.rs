//! The inner loop of MinHash: a portable reference, and the same for the vector units of x86. The portable loop is
//! what aarch64 runs; its compiler turns it into NEON.

/// Slots come in multiples of this.
pub(super) const LANES: usize = 16;

/// Lowers every slot to the least value that its permutation gives any element:
/// `(elements, multipliers, addends, slots)`, the last three equally long, a multiple of [`LANES`].
pub(super) type Kernel = fn(&[u64], &[u32], &[u32], &mut [u32]);

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
pub(super) fn portable(elements: &[u64], multipliers: &[u32], addends: &[u32], slots: &mut [u32]) {
    // A block of slots stays in registers while all elements pass by.
    for ((multipliers, addends), slots) in
        multipliers.chunks_exact(LANES).zip(addends.chunks_exact(LANES)).zip(slots.chunks_exact_mut(LANES))
    {
        let mut least: [u32; LANES] = slots.try_into().expect("a block of slots");
        for element in elements {
            let x = permuted_half(*element);
            for lane in 0..LANES {
                least[lane] = least[lane].min(multipliers[lane].wrapping_mul(x).wrapping_add(addends[lane]));
            }
        }
        slots.copy_from_slice(&least);
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use std::arch::x86_64::*;

    use super::{LANES, permuted_half};

    pub(super) fn avx512(elements: &[u64], multipliers: &[u32], addends: &[u32], slots: &mut [u32]) {
        // SAFETY: listed only where the CPU has AVX-512F.
        unsafe { in_blocks_avx512(elements, multipliers, addends, slots) }
    }

    pub(super) fn avx2(elements: &[u64], multipliers: &[u32], addends: &[u32], slots: &mut [u32]) {
        // SAFETY: listed only where the CPU has AVX2.
        unsafe { in_blocks_avx2(elements, multipliers, addends, slots) }
    }

    /// Takes as many vectors at a time as stay in registers with their multipliers and addends.
    #[target_feature(enable = "avx512f")]
    fn in_blocks_avx512(elements: &[u64], multipliers: &[u32], addends: &[u32], slots: &mut [u32]) {
        let mut at = 0;
        while at < slots.len() {
            let vectors = (slots.len() - at) / LANES;
            let (multipliers, addends, slots) = (&multipliers[at..], &addends[at..], &mut slots[at..]);
            at += LANES
                * match vectors {
                    8.. => block_avx512::<8>(elements, multipliers, addends, slots),
                    6..8 => block_avx512::<6>(elements, multipliers, addends, slots),
                    4..6 => block_avx512::<4>(elements, multipliers, addends, slots),
                    _ => block_avx512::<1>(elements, multipliers, addends, slots),
                };
        }
    }

    /// One block of N vectors; tells N.
    #[target_feature(enable = "avx512f")]
    fn block_avx512<const N: usize>(
        elements: &[u64],
        multipliers: &[u32],
        addends: &[u32],
        slots: &mut [u32],
    ) -> usize {
        assert!(multipliers.len() >= N * LANES && addends.len() >= N * LANES && slots.len() >= N * LANES);
        let zero = _mm512_setzero_si512();
        let (mut a, mut b, mut least) = ([zero; N], [zero; N], [zero; N]);
        for vector in 0..N {
            // SAFETY: the assertion above leaves 16 numbers from here in each; the loads need no alignment.
            unsafe {
                a[vector] = _mm512_loadu_si512(multipliers.as_ptr().add(vector * LANES).cast());
                b[vector] = _mm512_loadu_si512(addends.as_ptr().add(vector * LANES).cast());
                least[vector] = _mm512_loadu_si512(slots.as_ptr().add(vector * LANES).cast());
            }
        }
        for element in elements {
            let x = _mm512_set1_epi32(permuted_half(*element) as i32);
            for vector in 0..N {
                let value = _mm512_add_epi32(_mm512_mullo_epi32(a[vector], x), b[vector]);
                least[vector] = _mm512_min_epu32(least[vector], value);
            }
        }
        for (vector, least) in least.into_iter().enumerate() {
            // SAFETY: as for the loads.
            unsafe { _mm512_storeu_si512(slots.as_mut_ptr().add(vector * LANES).cast(), least) };
        }
        N
    }

    #[target_feature(enable = "avx2")]
    fn in_blocks_avx2(elements: &[u64], multipliers: &[u32], addends: &[u32], slots: &mut [u32]) {
        const WIDTH: usize = 8;
        /// Vectors in a block: three times as many registers are used, of sixteen.
        const N: usize = 4;
        let mut at = 0;
        while at < slots.len() {
            let vectors = ((slots.len() - at) / WIDTH).min(N);
            let zero = _mm256_setzero_si256();
            let (mut a, mut b, mut least) = ([zero; N], [zero; N], [zero; N]);
            for vector in 0..vectors {
                let from = at + vector * WIDTH;
                assert!(from + WIDTH <= multipliers.len().min(addends.len()).min(slots.len()));
                // SAFETY: the assertion leaves 8 numbers from here in each; the loads need no alignment.
                unsafe {
                    a[vector] = _mm256_loadu_si256(multipliers.as_ptr().add(from).cast());
                    b[vector] = _mm256_loadu_si256(addends.as_ptr().add(from).cast());
                    least[vector] = _mm256_loadu_si256(slots.as_ptr().add(from).cast());
                }
            }
            for element in elements {
                let x = _mm256_set1_epi32(permuted_half(*element) as i32);
                for vector in 0..N {
                    let value = _mm256_add_epi32(_mm256_mullo_epi32(a[vector], x), b[vector]);
                    least[vector] = _mm256_min_epu32(least[vector], value);
                }
            }
            for (vector, least) in least.into_iter().enumerate().take(vectors) {
                // SAFETY: as for the loads.
                unsafe { _mm256_storeu_si256(slots.as_mut_ptr().add(at + vector * WIDTH).cast(), least) };
            }
            at += vectors * WIDTH;
        }
    }
}
