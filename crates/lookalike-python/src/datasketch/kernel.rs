//! The inner loops of datasketch's permutation schemes, bit for bit. Each is written once, in plain Rust, and compiled for
//! the vector units that x86 may have; which of them is taken is found out when it runs. On aarch64 the plain build is NEON.

/// Lowers each slot to the least value that its permutation gives any of the hashes:
/// `(hashes, multipliers, addends, slots)`, the last three equally long.
pub(super) type Kernel<T> = fn(&[u64], &[T], &[T], &mut [T]);

/// 2^61 - 1, the modulus of the scheme "legacy".
const MERSENNE_PRIME: u64 = (1 << 61) - 1;
/// The scheme "legacy" keeps so many bits of a value.
const LEGACY_MASK: u64 = (1 << 32) - 1;

/// A permutation scheme, in a form that vector units like.
trait Permute {
    type Number: Copy + Default;

    /// What is permuted in place of a hash.
    fn mixed(hash: u64) -> Self::Number;

    /// What stands for an addend in [`Permute::permuted`].
    fn prepared(addend: Self::Number) -> Self::Number;

    /// What stands for the value that a permutation gives a mixed hash.
    fn permuted(mixed: Self::Number, multiplier: Self::Number, prepared: Self::Number) -> Self::Number;

    /// What stands for a value, and back again.
    fn turned(value: Self::Number) -> Self::Number;

    /// What stands for the lesser of two values.
    fn lesser(left: Self::Number, right: Self::Number) -> Self::Number;
}

/// `a * h + b` in 32 bits.
struct Affine32;

impl Permute for Affine32 {
    type Number = u32;

    /// The finalizer of MurmurHash3 for 32 bits.
    #[inline(always)]
    fn mixed(hash: u64) -> u32 {
        let mut hash = hash as u32;
        hash ^= hash >> 16;
        hash = hash.wrapping_mul(0x85EB_CA6B);
        hash ^= hash >> 13;
        hash = hash.wrapping_mul(0xC2B2_AE35);
        hash ^ (hash >> 16)
    }

    #[inline(always)]
    fn prepared(addend: u32) -> u32 {
        addend
    }

    #[inline(always)]
    fn permuted(mixed: u32, multiplier: u32, prepared: u32) -> u32 {
        multiplier.wrapping_mul(mixed).wrapping_add(prepared)
    }

    #[inline(always)]
    fn turned(value: u32) -> u32 {
        value
    }

    #[inline(always)]
    fn lesser(left: u32, right: u32) -> u32 {
        left.min(right)
    }
}

/// AVX2 has no comparison of 64 bits without a sign. With the sign turned over, those with a sign give the same order.
#[inline(always)]
fn turn_sign(value: u64) -> u64 {
    value ^ (1 << 63)
}

#[inline(always)]
fn lesser_signed(left: u64, right: u64) -> u64 {
    if (right as i64) < (left as i64) { right } else { left }
}

/// `a * h + b` in 64 bits.
struct Affine64;

impl Permute for Affine64 {
    type Number = u64;

    /// The finalizer of MurmurHash3 for 64 bits.
    #[inline(always)]
    fn mixed(mut hash: u64) -> u64 {
        hash ^= hash >> 33;
        hash = hash.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        hash ^= hash >> 33;
        hash = hash.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        hash ^ (hash >> 33)
    }

    /// The sign of the sum is turned over with that of the addend.
    #[inline(always)]
    fn prepared(addend: u64) -> u64 {
        turn_sign(addend)
    }

    #[inline(always)]
    fn permuted(mixed: u64, multiplier: u64, prepared: u64) -> u64 {
        multiplier.wrapping_mul(mixed).wrapping_add(prepared)
    }

    #[inline(always)]
    fn turned(value: u64) -> u64 {
        turn_sign(value)
    }

    #[inline(always)]
    fn lesser(left: u64, right: u64) -> u64 {
        lesser_signed(left, right)
    }
}

/// What datasketch did before version 2.
struct Legacy;

impl Permute for Legacy {
    type Number = u64;

    #[inline(always)]
    fn mixed(hash: u64) -> u64 {
        hash
    }

    #[inline(always)]
    fn prepared(addend: u64) -> u64 {
        addend
    }

    /// The product wraps at 64 bits before the modulus is taken: that is what numpy computes, and so what sketches hold.
    #[inline(always)]
    fn permuted(mixed: u64, multiplier: u64, prepared: u64) -> u64 {
        let wrapped = multiplier.wrapping_mul(mixed).wrapping_add(prepared);
        let folded = (wrapped & MERSENNE_PRIME) + (wrapped >> 61);
        let reduced = if folded >= MERSENNE_PRIME { folded - MERSENNE_PRIME } else { folded };
        turn_sign(reduced & LEGACY_MASK)
    }

    #[inline(always)]
    fn turned(value: u64) -> u64 {
        turn_sign(value)
    }

    #[inline(always)]
    fn lesser(left: u64, right: u64) -> u64 {
        lesser_signed(left, right)
    }
}

/// What all kernels share. Hashes are mixed in here because the vector units are good at that, too.
#[inline(always)]
fn lower<S: Permute, const LANES: usize>(
    hashes: &[u64],
    multipliers: &[S::Number],
    addends: &[S::Number],
    slots: &mut [S::Number],
) {
    /// So many hashes are mixed at a time, on the stack.
    const AT_ONCE: usize = 256;
    if let [hash] = hashes {
        return lower_by_one::<S>(S::mixed(*hash), multipliers, addends, slots);
    }
    let mut block = [S::Number::default(); AT_ONCE];
    for hashes in hashes.chunks(AT_ONCE) {
        let block = &mut block[..hashes.len()];
        block.iter_mut().zip(hashes).for_each(|(place, hash)| *place = S::mixed(*hash));
        lower_by_mixed::<S, LANES>(block, multipliers, addends, slots);
    }
}

/// The innermost loop. A block of slots stays in registers while all hashes pass by.
#[inline(always)]
fn lower_by_mixed<S: Permute, const LANES: usize>(
    hashes: &[S::Number],
    multipliers: &[S::Number],
    addends: &[S::Number],
    slots: &mut [S::Number],
) {
    let (multipliers, addends) = (&multipliers[..slots.len()], &addends[..slots.len()]);
    let whole = slots.len() - slots.len() % LANES;
    for at in (0..whole).step_by(LANES) {
        let (multipliers, slots) = (&multipliers[at..at + LANES], &mut slots[at..at + LANES]);
        let (mut prepared, mut least) = ([S::Number::default(); LANES], [S::Number::default(); LANES]);
        for lane in 0..LANES {
            (prepared[lane], least[lane]) = (S::prepared(addends[at + lane]), S::turned(slots[lane]));
        }
        for hash in hashes {
            for lane in 0..LANES {
                least[lane] = S::lesser(least[lane], S::permuted(*hash, multipliers[lane], prepared[lane]));
            }
        }
        slots.iter_mut().zip(least).for_each(|(slot, least)| *slot = S::turned(least));
    }
    for hash in hashes {
        lower_by_one::<S>(*hash, &multipliers[whole..], &addends[whole..], &mut slots[whole..]);
    }
}

#[inline(always)]
fn lower_by_one<S: Permute>(
    hash: S::Number,
    multipliers: &[S::Number],
    addends: &[S::Number],
    slots: &mut [S::Number],
) {
    for ((slot, multiplier), addend) in slots.iter_mut().zip(multipliers).zip(addends) {
        let permuted = S::permuted(hash, *multiplier, S::prepared(*addend));
        *slot = S::turned(S::lesser(S::turned(*slot), permuted));
    }
}

/// One scheme's kernel for each kind of CPU. A block has as many lanes as stay in the registers of that CPU together with
/// their multipliers and addends.
macro_rules! kernels {
    ($module:ident, $scheme:ty, $number:ty, $portable:literal, $avx2:literal, $avx512:literal) => {
        pub(super) mod $module {
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

            fn portable(hashes: &[u64], multipliers: &[$number], addends: &[$number], slots: &mut [$number]) {
                lower::<$scheme, $portable>(hashes, multipliers, addends, slots);
            }

            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            mod x86 {
                use super::*;

                pub(super) fn avx512(
                    hashes: &[u64],
                    multipliers: &[$number],
                    addends: &[$number],
                    slots: &mut [$number],
                ) {
                    // SAFETY: chosen only where the CPU has AVX-512F and AVX-512DQ.
                    unsafe { in_avx512(hashes, multipliers, addends, slots) }
                }

                pub(super) fn avx2(
                    hashes: &[u64],
                    multipliers: &[$number],
                    addends: &[$number],
                    slots: &mut [$number],
                ) {
                    // SAFETY: chosen only where the CPU has AVX2.
                    unsafe { in_avx2(hashes, multipliers, addends, slots) }
                }

                #[target_feature(enable = "avx512f,avx512dq")]
                fn in_avx512(hashes: &[u64], multipliers: &[$number], addends: &[$number], slots: &mut [$number]) {
                    lower::<$scheme, $avx512>(hashes, multipliers, addends, slots);
                }

                #[target_feature(enable = "avx2")]
                fn in_avx2(hashes: &[u64], multipliers: &[$number], addends: &[$number], slots: &mut [$number]) {
                    lower::<$scheme, $avx2>(hashes, multipliers, addends, slots);
                }
            }
        }
    };
}

kernels!(affine32_kernel, Affine32, u32, 16, 32, 128);
kernels!(affine64_kernel, Affine64, u64, 8, 8, 64);
kernels!(legacy_kernel, Legacy, u64, 8, 8, 32);

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
