//! The inner loops of datasketch's permutation schemes, bit for bit. Each is written once, in plain Rust, and compiled for
//! the vector units that x86 may have; which of them is taken is found out when it runs. On aarch64 the plain build is NEON.

/// Lowers each slot to the least value that its permutation gives any of the hashes:
/// `(hashes, multipliers, addends, slots)`, the last three equally long.
pub(super) type Kernel<T> = fn(&[T], &[T], &[T], &mut [T]);

/// 2^61 - 1, the modulus of the scheme "legacy".
const MERSENNE_PRIME: u64 = (1 << 61) - 1;
/// The scheme "legacy" keeps so many bits of a value.
const LEGACY_MASK: u64 = (1 << 32) - 1;

/// The finalizer of MurmurHash3 for 32 bits, which datasketch mixes hashes with before they are permuted.
#[inline(always)]
pub(super) fn mix32(mut hash: u32) -> u32 {
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85EB_CA6B);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xC2B2_AE35);
    hash ^ (hash >> 16)
}

/// The finalizer of MurmurHash3 for 64 bits.
#[inline(always)]
pub(super) fn mix64(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^ (hash >> 33)
}

#[inline(always)]
fn affine32(hash: u32, multiplier: u32, addend: u32) -> u32 {
    multiplier.wrapping_mul(hash).wrapping_add(addend)
}

#[inline(always)]
fn affine64(hash: u64, multiplier: u64, addend: u64) -> u64 {
    multiplier.wrapping_mul(hash).wrapping_add(addend)
}

/// The product wraps at 64 bits before the modulus is taken: that is what numpy computes, and so what sketches hold.
#[inline(always)]
fn legacy(hash: u64, multiplier: u64, addend: u64) -> u64 {
    let wrapped = multiplier.wrapping_mul(hash).wrapping_add(addend);
    let folded = (wrapped & MERSENNE_PRIME) + (wrapped >> 61);
    let reduced = if folded >= MERSENNE_PRIME { folded - MERSENNE_PRIME } else { folded };
    reduced & LEGACY_MASK
}

/// The loop that all kernels share. A block of slots stays in registers while all hashes pass by.
#[inline(always)]
fn lower<T: Copy + Ord, const LANES: usize>(
    hashes: &[T],
    multipliers: &[T],
    addends: &[T],
    slots: &mut [T],
    permuted: impl Fn(T, T, T) -> T,
) {
    let (multipliers, addends) = (&multipliers[..slots.len()], &addends[..slots.len()]);
    let whole = slots.len() - slots.len() % LANES;
    for at in (0..whole).step_by(LANES) {
        let (multipliers, addends) = (&multipliers[at..at + LANES], &addends[at..at + LANES]);
        let mut least = [multipliers[0]; LANES];
        least.copy_from_slice(&slots[at..at + LANES]);
        for hash in hashes {
            for lane in 0..LANES {
                least[lane] = least[lane].min(permuted(*hash, multipliers[lane], addends[lane]));
            }
        }
        slots[at..at + LANES].copy_from_slice(&least);
    }
    for at in whole..slots.len() {
        for hash in hashes {
            slots[at] = slots[at].min(permuted(*hash, multipliers[at], addends[at]));
        }
    }
}

/// One scheme's kernel for each kind of CPU. A block has as many lanes as stay in the registers of that CPU together with
/// their multipliers and addends.
macro_rules! kernels {
    ($scheme:ident, $number:ty, $permuted:path, $portable:literal, $avx2:literal, $avx512:literal) => {
        pub(super) mod $scheme {
            use super::*;

            /// The fastest kernel that this CPU runs.
            pub(in super::super) fn fastest() -> Kernel<$number> {
                #[cfg(target_arch = "x86_64")]
                {
                    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                        return x86::avx512;
                    }
                    if is_x86_feature_detected!("avx2") {
                        return x86::avx2;
                    }
                }
                portable
            }

            fn portable(hashes: &[$number], multipliers: &[$number], addends: &[$number], slots: &mut [$number]) {
                lower::<_, $portable>(hashes, multipliers, addends, slots, $permuted);
            }

            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            mod x86 {
                use super::*;

                pub(super) fn avx512(
                    hashes: &[$number],
                    multipliers: &[$number],
                    addends: &[$number],
                    slots: &mut [$number],
                ) {
                    // SAFETY: chosen only where the CPU has AVX-512F and AVX-512DQ.
                    unsafe { in_avx512(hashes, multipliers, addends, slots) }
                }

                pub(super) fn avx2(
                    hashes: &[$number],
                    multipliers: &[$number],
                    addends: &[$number],
                    slots: &mut [$number],
                ) {
                    // SAFETY: chosen only where the CPU has AVX2.
                    unsafe { in_avx2(hashes, multipliers, addends, slots) }
                }

                #[target_feature(enable = "avx512f,avx512dq")]
                fn in_avx512(hashes: &[$number], multipliers: &[$number], addends: &[$number], slots: &mut [$number]) {
                    lower::<_, $avx512>(hashes, multipliers, addends, slots, $permuted);
                }

                #[target_feature(enable = "avx2")]
                fn in_avx2(hashes: &[$number], multipliers: &[$number], addends: &[$number], slots: &mut [$number]) {
                    lower::<_, $avx2>(hashes, multipliers, addends, slots, $permuted);
                }
            }
        }
    };
}

kernels!(affine32_kernel, u32, affine32, 16, 32, 128);
kernels!(affine64_kernel, u64, affine64, 8, 16, 64);
kernels!(legacy_kernel, u64, legacy, 8, 16, 32);

/// For weighted MinHash: the level of each dimension, and the logarithm whose least is sampled, of the logarithms of weights
/// and what was drawn. All are equally long.
pub(super) fn weighted_levels(
    logs: &[f32],
    rs: &[f32],
    log_cs: &[f32],
    betas: &[f32],
    is_one_of_many: bool,
    levels: &mut [f32],
    log_as: &mut [f32],
) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        return weighted_x86::avx2(logs, rs, log_cs, betas, is_one_of_many, levels, log_as);
    }
    weighted_levels_anywhere(logs, rs, log_cs, betas, is_one_of_many, levels, log_as);
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod weighted_x86 {
    use super::weighted_levels_anywhere;

    pub(super) fn avx2(
        logs: &[f32],
        rs: &[f32],
        log_cs: &[f32],
        betas: &[f32],
        is_one_of_many: bool,
        levels: &mut [f32],
        log_as: &mut [f32],
    ) {
        // SAFETY: called only where the CPU has AVX2.
        unsafe { in_avx2(logs, rs, log_cs, betas, is_one_of_many, levels, log_as) }
    }

    #[target_feature(enable = "avx2")]
    fn in_avx2(
        logs: &[f32],
        rs: &[f32],
        log_cs: &[f32],
        betas: &[f32],
        is_one_of_many: bool,
        levels: &mut [f32],
        log_as: &mut [f32],
    ) {
        weighted_levels_anywhere(logs, rs, log_cs, betas, is_one_of_many, levels, log_as);
    }
}

#[inline(always)]
fn weighted_levels_anywhere(
    logs: &[f32],
    rs: &[f32],
    log_cs: &[f32],
    betas: &[f32],
    is_one_of_many: bool,
    levels: &mut [f32],
    log_as: &mut [f32],
) {
    let length = logs.len();
    let (rs, log_cs, betas) = (&rs[..length], &log_cs[..length], &betas[..length]);
    let (levels, log_as) = (&mut levels[..length], &mut log_as[..length]);
    for at in 0..length {
        levels[at] = (logs[at] / rs[at] + betas[at]).floor();
    }
    if is_one_of_many {
        for at in 0..length {
            log_as[at] = log_cs[at] - (levels[at] - betas[at] + 1.0) * rs[at];
        }
    } else {
        for at in 0..length {
            log_as[at] = log_cs[at] - (levels[at] - betas[at]) * rs[at] - rs[at];
        }
    }
}
