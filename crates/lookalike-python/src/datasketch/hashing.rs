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
            Self::Xxh3Narrow => xxh3::xxh3_64(bytes) & u64::from(u32::MAX),
            Self::Xxh3Wide => xxh3::xxh3_64(bytes),
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
