//! ASCII, 64 bytes at a time: lower-cased, and classified into a bit mask.
//!
//! One kernel a width; all give the same bytes and masks, and a test holds them to it.

/// Bytes that one mask covers.
pub(super) const BLOCK: usize = 64;

/// Copies the blocks of `text` to `canonical`, lower-cased if asked, and pushes a mask for each: a bit for every byte of ASCII
/// that is part of a word. Ends behind the first block that is not all ASCII and tells which bytes of that one are not; 0 if
/// there is none.
pub(super) fn classify(text: &[u8], lower: bool, canonical: &mut [u8], masks: &mut Vec<u64>) -> u64 {
    kernel()(text, lower, canonical, masks)
}

/// See [`classify`].
type Kernel = fn(&[u8], bool, &mut [u8], &mut Vec<u64>) -> u64;

fn kernel() -> Kernel {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw") {
            return x86::classify_avx512;
        }
        if is_x86_feature_detected!("avx2") {
            return x86::classify_avx2;
        }
    }
    classify_portable
}

/// The reference.
fn classify_portable(text: &[u8], lower: bool, canonical: &mut [u8], masks: &mut Vec<u64>) -> u64 {
    for (block, canonical) in text.chunks_exact(BLOCK).zip(canonical.chunks_exact_mut(BLOCK)) {
        let (mut mask, mut others) = (0u64, 0u64);
        for (at, (byte, slot)) in block.iter().zip(canonical).enumerate() {
            *slot = if lower { byte.to_ascii_lowercase() } else { *byte };
            mask |= u64::from(byte.is_ascii_alphanumeric() || *byte == b'_') << at;
            others |= u64::from(!byte.is_ascii()) << at;
        }
        masks.push(mask);
        if others != 0 {
            return others;
        }
    }
    0
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use std::arch::x86_64::*;

    use super::BLOCK;

    pub(super) fn classify_avx512(text: &[u8], lower: bool, canonical: &mut [u8], masks: &mut Vec<u64>) -> u64 {
        // SAFETY: chosen only where the CPU has AVX-512BW.
        unsafe { avx512(text, lower, canonical, masks) }
    }

    pub(super) fn classify_avx2(text: &[u8], lower: bool, canonical: &mut [u8], masks: &mut Vec<u64>) -> u64 {
        // SAFETY: chosen only where the CPU has AVX2.
        unsafe { avx2(text, lower, canonical, masks) }
    }

    #[target_feature(enable = "avx512bw")]
    fn avx512(text: &[u8], lower: bool, canonical: &mut [u8], masks: &mut Vec<u64>) -> u64 {
        let to_lower = _mm512_set1_epi8(if lower { 0x20 } else { 0 });
        let letters = _mm512_set1_epi8(26);
        let digits = _mm512_set1_epi8(10);
        for (block, canonical) in text.chunks_exact(BLOCK).zip(canonical.chunks_exact_mut(BLOCK)) {
            // SAFETY: the block is 64 bytes long; the load needs no alignment.
            let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            // Unsigned `byte - first < count` is one comparison for a range.
            let capital = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8(b'A' as i8)), letters);
            let small = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8(b'a' as i8)), letters);
            let digit = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8(b'0' as i8)), digits);
            let underscore = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'_' as i8));
            let lowered = _mm512_mask_add_epi8(bytes, capital, bytes, to_lower);
            // SAFETY: the slot is 64 bytes long; the store needs no alignment.
            unsafe { _mm512_storeu_si512(canonical.as_mut_ptr().cast(), lowered) };
            masks.push(capital | small | digit | underscore);
            let others = _mm512_movepi8_mask(bytes);
            if others != 0 {
                return others;
            }
        }
        0
    }

    /// The highest bits of all bytes. Written by hand: the compiler (LLVM 22) sees that two of these masks are put together, and
    /// puts them together byte by byte, which takes seven times as long as all the rest.
    #[target_feature(enable = "avx2")]
    fn mask_of(bytes: __m256i) -> u32 {
        let mask: u32;
        // SAFETY: the instruction is there where AVX2 is, and touches nothing else.
        unsafe {
            std::arch::asm!(
                "vpmovmskb {mask:e}, {bytes}",
                mask = lateout(reg) mask,
                bytes = in(ymm_reg) bytes,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        mask
    }

    #[target_feature(enable = "avx2")]
    fn avx2(text: &[u8], lower: bool, canonical: &mut [u8], masks: &mut Vec<u64>) -> u64 {
        let to_lower = _mm256_set1_epi8(if lower { 0x20 } else { 0 });
        // Moves `first ..= last` to the bottom of the signed range, where one comparison finds it.
        let in_range = |bytes: __m256i, first: u8, count: u8| {
            let shifted = _mm256_add_epi8(bytes, _mm256_set1_epi8((0x80 - first as i16) as i8));
            _mm256_cmpgt_epi8(_mm256_set1_epi8((0x80u8).wrapping_add(count) as i8), shifted)
        };
        for (block, canonical) in text.chunks_exact(BLOCK).zip(canonical.chunks_exact_mut(BLOCK)) {
            let (mut mask, mut others) = (0u64, 0u64);
            for half in 0..2 {
                // SAFETY: both halves of the 64 bytes are in the block; the load needs no alignment.
                let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().add(half * 32).cast()) };
                let capital = in_range(bytes, b'A', 26);
                let small = in_range(bytes, b'a', 26);
                let digit = in_range(bytes, b'0', 10);
                let underscore = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'_' as i8));
                let lowered = _mm256_add_epi8(bytes, _mm256_and_si256(capital, to_lower));
                // SAFETY: both halves of the 64 bytes are in the slot; the store needs no alignment.
                unsafe { _mm256_storeu_si256(canonical.as_mut_ptr().add(half * 32).cast(), lowered) };
                let word = _mm256_or_si256(_mm256_or_si256(capital, small), _mm256_or_si256(digit, underscore));
                mask |= u64::from(mask_of(word)) << (half * 32);
                others |= u64::from(mask_of(bytes)) << (half * 32);
            }
            masks.push(mask);
            if others != 0 {
                return others;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_equals_the_reference() {
        #[allow(unused_mut)]
        let mut kernels: Vec<(&str, Kernel)> = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512bw") {
                kernels.push(("avx512", x86::classify_avx512));
            }
            if is_x86_feature_detected!("avx2") {
                kernels.push(("avx2", x86::classify_avx2));
            }
        }
        // Every byte at every place of a block, and every neighbour.
        let text: Vec<u8> = (0..256 * BLOCK).map(|at| (at + at / BLOCK) as u8).collect();
        for (name, kernel) in kernels {
            for lower in [false, true] {
                for block in text.chunks_exact(BLOCK) {
                    let run = |kernel: Kernel| {
                        let (mut canonical, mut masks) = (vec![0; BLOCK], Vec::new());
                        let others = kernel(block, lower, &mut canonical, &mut masks);
                        (others, canonical, masks)
                    };
                    assert_eq!(run(kernel), run(classify_portable), "{name}");
                }
            }
        }
    }

    #[test]
    fn the_first_block_that_is_not_ascii_is_the_last() {
        let mut text = [b'a'; 4 * BLOCK];
        text[2 * BLOCK + 5] = 0xc3;
        let (mut canonical, mut masks) = (vec![0; 4 * BLOCK], Vec::new());
        assert_eq!(classify(&text, true, &mut canonical, &mut masks), 1 << 5);
        assert_eq!(masks, [u64::MAX, u64::MAX, !(1 << 5)]);
    }
}
