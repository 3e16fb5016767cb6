//! The fast path for ASCII texts: 64 bytes at a time, lower-cased and classified into a bit mask.
//!
//! One kernel a width; all give the same bytes and masks, and a test holds them to it.

use crate::hash::{PADDING, hash_token};

/// Bytes that one mask covers.
const BLOCK: usize = 64;

/// Copies `text` into `padded`, lower-cased if asked, and sets a bit of `masks` for every byte that is part of a word.
/// Returns false, with the buffers in any state, where the text is not ASCII.
pub(super) fn find_words(text: &[u8], lower: bool, padded: &mut Vec<u8>, masks: &mut Vec<u64>) -> bool {
    let blocks = text.len().div_ceil(BLOCK);
    // Every byte up to the padding is overwritten below, so growing is the only time that memory is cleared.
    let needed = blocks * BLOCK + PADDING;
    if padded.len() < needed {
        padded.resize(needed, 0);
    }
    masks.clear();
    masks.reserve(blocks);
    let classify = kernel();
    let whole = text.len() / BLOCK * BLOCK;
    if !classify(&text[..whole], lower, padded, masks) {
        return false;
    }
    if whole < text.len() {
        let mut last = [0u8; BLOCK];
        last[..text.len() - whole].copy_from_slice(&text[whole..]);
        if !classify(&last, lower, &mut padded[whole..], masks) {
            return false;
        }
    }
    true
}

/// Appends the hash of every word that the masks show.
pub(super) fn hash_words(padded: &[u8], masks: &[u64], tokens: &mut Vec<u64>) {
    // The start of a word that runs on into the next block.
    let mut open: Option<usize> = None;
    for (block, mask) in masks.iter().enumerate() {
        let base = block * BLOCK;
        let mut edges = mask ^ (mask << 1 | u64::from(open.is_some()));
        if let Some(start) = open {
            if edges == 0 {
                continue;
            }
            tokens.push(hash_token(padded, start, base + edges.trailing_zeros() as usize));
            edges &= edges - 1;
        }
        // Edges now alternate: a start, an end, a start, ….
        while edges != 0 {
            let start = base + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            if edges == 0 {
                open = Some(start);
                break;
            }
            let end = base + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            tokens.push(hash_token(padded, start, end));
        }
        if mask >> (BLOCK - 1) == 0 {
            open = None;
        }
    }
    if let Some(start) = open {
        tokens.push(hash_token(padded, start, masks.len() * BLOCK));
    }
}

/// Classifies whole blocks; see [`find_words`].
type Kernel = fn(&[u8], bool, &mut [u8], &mut Vec<u64>) -> bool;

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
fn classify_portable(text: &[u8], lower: bool, padded: &mut [u8], masks: &mut Vec<u64>) -> bool {
    let mut seen = 0u8;
    for (block, canonical) in text.chunks_exact(BLOCK).zip(padded.chunks_exact_mut(BLOCK)) {
        let mut mask = 0u64;
        for (at, (byte, slot)) in block.iter().zip(canonical).enumerate() {
            seen |= byte;
            *slot = if lower { byte.to_ascii_lowercase() } else { *byte };
            mask |= u64::from(byte.is_ascii_alphanumeric() || *byte == b'_') << at;
        }
        masks.push(mask);
    }
    seen < 0x80
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use std::arch::x86_64::*;

    use super::BLOCK;

    pub(super) fn classify_avx512(text: &[u8], lower: bool, padded: &mut [u8], masks: &mut Vec<u64>) -> bool {
        // SAFETY: chosen only where the CPU has AVX-512BW.
        unsafe { avx512(text, lower, padded, masks) }
    }

    pub(super) fn classify_avx2(text: &[u8], lower: bool, padded: &mut [u8], masks: &mut Vec<u64>) -> bool {
        // SAFETY: chosen only where the CPU has AVX2.
        unsafe { avx2(text, lower, padded, masks) }
    }

    #[target_feature(enable = "avx512bw")]
    fn avx512(text: &[u8], lower: bool, padded: &mut [u8], masks: &mut Vec<u64>) -> bool {
        let to_lower = _mm512_set1_epi8(if lower { 0x20 } else { 0 });
        let letters = _mm512_set1_epi8(26);
        let digits = _mm512_set1_epi8(10);
        let mut seen = _mm512_setzero_si512();
        for (block, canonical) in text.chunks_exact(BLOCK).zip(padded.chunks_exact_mut(BLOCK)) {
            // SAFETY: the block is 64 bytes long; the load needs no alignment.
            let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            seen = _mm512_or_si512(seen, bytes);
            // Unsigned `byte - first < count` is one comparison for a range.
            let capital = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8(b'A' as i8)), letters);
            let small = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8(b'a' as i8)), letters);
            let digit = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8(b'0' as i8)), digits);
            let underscore = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'_' as i8));
            let lowered = _mm512_mask_add_epi8(bytes, capital, bytes, to_lower);
            // SAFETY: the slot is 64 bytes long; the store needs no alignment.
            unsafe { _mm512_storeu_si512(canonical.as_mut_ptr().cast(), lowered) };
            masks.push(capital | small | digit | underscore);
        }
        _mm512_movepi8_mask(seen) == 0
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
    fn avx2(text: &[u8], lower: bool, padded: &mut [u8], masks: &mut Vec<u64>) -> bool {
        let to_lower = _mm256_set1_epi8(if lower { 0x20 } else { 0 });
        // Moves `first ..= last` to the bottom of the signed range, where one comparison finds it.
        let in_range = |bytes: __m256i, first: u8, count: u8| {
            let shifted = _mm256_add_epi8(bytes, _mm256_set1_epi8((0x80 - first as i16) as i8));
            _mm256_cmpgt_epi8(_mm256_set1_epi8((0x80u8).wrapping_add(count) as i8), shifted)
        };
        let mut seen = _mm256_setzero_si256();
        for (block, canonical) in text.chunks_exact(BLOCK).zip(padded.chunks_exact_mut(BLOCK)) {
            let mut mask = 0u64;
            for half in 0..2 {
                // SAFETY: both halves of the 64 bytes are in the block; the load needs no alignment.
                let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().add(half * 32).cast()) };
                seen = _mm256_or_si256(seen, bytes);
                let capital = in_range(bytes, b'A', 26);
                let small = in_range(bytes, b'a', 26);
                let digit = in_range(bytes, b'0', 10);
                let underscore = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'_' as i8));
                let lowered = _mm256_add_epi8(bytes, _mm256_and_si256(capital, to_lower));
                // SAFETY: both halves of the 64 bytes are in the slot; the store needs no alignment.
                unsafe { _mm256_storeu_si256(canonical.as_mut_ptr().add(half * 32).cast(), lowered) };
                let word = _mm256_or_si256(_mm256_or_si256(capital, small), _mm256_or_si256(digit, underscore));
                mask |= u64::from(mask_of(word)) << (half * 32);
            }
            masks.push(mask);
        }
        _mm256_movemask_epi8(seen) == 0
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
                        let (mut padded, mut masks) = (vec![0; BLOCK], Vec::new());
                        let is_ascii = kernel(block, lower, &mut padded, &mut masks);
                        (is_ascii, padded, masks)
                    };
                    let (fast, reference) = (run(kernel), run(classify_portable));
                    assert_eq!(fast.0, reference.0, "{name}");
                    if fast.0 {
                        assert_eq!(fast, reference, "{name}");
                    }
                }
            }
        }
    }

    #[test]
    fn words_across_blocks() {
        for length in 1..200 {
            for offset in 0..70 {
                let text = format!("{}{} b", " ".repeat(offset), "a".repeat(length));
                let (mut padded, mut masks, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
                assert!(find_words(text.as_bytes(), true, &mut padded, &mut masks));
                hash_words(&padded, &masks, &mut tokens);
                assert_eq!(tokens.len(), 2, "length {length} offset {offset}");
            }
        }
    }
}
