//! Hash functions that need no call back to Python: SHA-1 as datasketch cuts it, and xxHash.

use sha1::block_api::compress;
use xxhash_rust::{xxh3, xxh32, xxh64};

/// A hash function that is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The first 32 bits of SHA-1, the least byte first.
    Sha1Narrow,
    /// The first 64 bits of SHA-1, the least byte first.
    Sha1Wide,
    /// 32 bits of xxHash.
    Xxh32,
    /// 64 bits of xxHash.
    Xxh64,
    /// The lower 32 bits of XXH3.
    Xxh3Narrow,
    /// 64 bits of XXH3.
    Xxh3Wide,
}

impl Known {
    /// The function that the Python package knows by this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "sha1_hash32" => Self::Sha1Narrow,
            "sha1_hash64" => Self::Sha1Wide,
            "xxh32_intdigest" => Self::Xxh32,
            "xxh64_intdigest" => Self::Xxh64,
            "xxh3_hash32" => Self::Xxh3Narrow,
            "xxh3_hash64" | "xxh3_64_intdigest" => Self::Xxh3Wide,
            _ => return None,
        })
    }

    /// Whether it takes no longer than to come to an element.
    pub(super) fn is_quick(self) -> bool {
        !matches!(self, Self::Sha1Narrow | Self::Sha1Wide)
    }

    /// The hash of some bytes.
    #[inline]
    pub(super) fn hash(self, bytes: &[u8]) -> u64 {
        match self {
            Self::Sha1Narrow => u64::from(sha1(bytes)[0].swap_bytes()),
            Self::Sha1Wide => {
                let words = sha1(bytes);
                u64::from(words[0].swap_bytes()) | u64::from(words[1].swap_bytes()) << 32
            }
            Self::Xxh32 => u64::from(xxh32::xxh32(bytes, 0)),
            Self::Xxh64 => xxh64::xxh64(bytes, 0),
            Self::Xxh3Narrow => xxh3_64(bytes) & u64::from(u32::MAX),
            Self::Xxh3Wide => xxh3_64(bytes),
        }
    }
}

/// The five words of SHA-1. Elements of sets are mostly shorter than a block, so that padding them in place is worth it.
#[inline]
fn sha1(bytes: &[u8]) -> [u32; 5] {
    const BLOCK: usize = 64;
    /// Where the length of the message begins in the last block.
    const LENGTH: usize = BLOCK - 8;
    let mut state = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0];
    let (whole, rest) = bytes.as_chunks::<BLOCK>();
    if !whole.is_empty() {
        compress(&mut state, whole);
    }
    let mut block = [0; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block[rest.len()] = 0x80;
    if rest.len() >= LENGTH {
        compress(&mut state, &[block]);
        block = [0; BLOCK];
    }
    block[LENGTH..].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    compress(&mut state, &[block]);
    state
}

/// XXH3. Shingles of words mostly have 17 to 64 bytes, some up to 32 and some more; which cannot be predicted, so nothing is
/// branched on between these.
#[inline]
fn xxh3_64(bytes: &[u8]) -> u64 {
    const PART: usize = 16;
    const PRIME_64_1: u64 = 0x9E37_79B1_85EB_CA87;
    const PRIME_MX1: u64 = 0x1656_6791_9E37_79F9;
    /// The beginning of XXH3's default secret.
    const SECRET: [u64; 8] = [
        0xBE4B_A423_396C_FEB8,
        0x1CAD_21F7_2C81_017C,
        0xDB97_9083_E96D_D4DE,
        0x1F67_B3B7_A4A4_4072,
        0x78E5_C0CC_4EE6_79CB,
        0x2172_FFCC_7DD0_5A82,
        0x8E24_43F7_7446_08B8,
        0x4C26_3A81_E690_35E0,
    ];
    let length = bytes.len();
    if !(PART + 1..=4 * PART).contains(&length) {
        return xxh3::xxh3_64(bytes);
    }
    let mixed = |part: &[u8], secret: usize| {
        let (left, right) = part.split_at(PART / 2);
        let word =
            |half: &[u8], secret: usize| u64::from_le_bytes(half.try_into().unwrap_or_default()) ^ SECRET[secret];
        let product = u128::from(word(left, secret)) * u128::from(word(right, secret + 1));
        product as u64 ^ (product >> 64) as u64
    };
    let outer = mixed(&bytes[..PART], 0).wrapping_add(mixed(&bytes[length - PART..], 2));
    let (second, last_but_one) = (PART.min(length - PART), length.saturating_sub(2 * PART));
    let inner =
        mixed(&bytes[second..second + PART], 4).wrapping_add(mixed(&bytes[last_but_one..last_but_one + PART], 6));
    let is_long = u64::from(length > 2 * PART).wrapping_neg();
    let sum = (length as u64).wrapping_mul(PRIME_64_1).wrapping_add(outer).wrapping_add(inner & is_long);
    let sum = (sum ^ (sum >> 37)).wrapping_mul(PRIME_MX1);
    sum ^ (sum >> 32)
}
