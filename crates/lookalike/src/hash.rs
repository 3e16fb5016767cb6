//! The hashes that everything else is built from. They are part of the file formats: docs/sketch.md specifies them, and
//! golden vectors pin them.

use xxhash_rust::xxh3::xxh3_64;

/// The hash of a byte string: XXH3, 64 bits, seed 0.
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}
