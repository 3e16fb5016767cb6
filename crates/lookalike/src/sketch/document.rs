//! The sketch of one document: a value that can be stored, sent, merged and compared, and refuses what it cannot be
//! compared with. docs/sketch.md specifies its bytes.

use crate::band::BandKeys;
use crate::error::{Error, Result};
use crate::hash::hash_bytes;
use crate::plan::{Method, Plan, SKETCH_VERSION, Scheme};
use crate::shingle::Shingler;
use crate::sketch::{EMPTY_SLOT, MinHash, agreement, merge};

const MAGIC: [u8; 8] = *b"LOOKSKCH";
/// Magic, version, number of slots, fingerprint.
const HEADER: usize = 24;
const CHECKSUM: usize = 8;

/// The MinHash values of one document, with the fingerprint of the plan that made them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sketch {
    fingerprint: u64,
    slots: Vec<u32>,
}

/// Why two sketches cannot be compared or merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// They have different numbers of MinHash values.
    #[error("one sketch has {left} MinHash values and the other {right}; make both with the same plan")]
    Slots {
        /// Values of the one.
        left: usize,
        /// Values of the other.
        right: usize,
    },
    /// Their numbers of values are the same, but not what the values mean.
    #[error(
        "the sketches were made with different seeds, shingles, normalisation or bags \
         (fingerprints {left:016x} and {right:016x}); make both with the same plan"
    )]
    Settings {
        /// Fingerprint of the one.
        left: u64,
        /// Fingerprint of the other.
        right: u64,
    },
}

/// Why bytes are no sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// They do not begin as a sketch does.
    #[error("these bytes are not a sketch; they do not begin with LOOKSKCH")]
    Magic,
    /// They were written by another version.
    #[error("the sketch is of version {0}, and this program reads version {SKETCH_VERSION}; sketch the document again")]
    Version(u32),
    /// There are fewer or more of them than a sketch of this size has.
    #[error("the sketch has {found} bytes instead of {expected}; it was cut or something was added")]
    Length {
        /// Bytes that there should be.
        expected: usize,
        /// Bytes that there are.
        found: usize,
    },
    /// They are not what was written.
    #[error("the sketch does not match its checksum; it was changed after it was written")]
    Checksum,
}

impl Plan {
    /// The sketch of one text. Refused by plans that use no sketches.
    pub fn sketch_text(&self, text: &str) -> Result<Sketch> {
        let settings = self.settings();
        let mut shingles = Vec::new();
        Shingler::new(settings.shingles, self.normalize(), settings.bag).append_text(text, &mut shingles);
        self.sketch_elements(&shingles)
    }

    /// The sketch of one set of items, given by their hashes ([`crate::hash_item`]). Refused by plans that use no
    /// sketches.
    pub fn sketch_set(&self, items: &[u64]) -> Result<Sketch> {
        self.sketch_elements(items)
    }

    /// The keys under which a sketch of this plan is put into buckets.
    ///
    /// # Errors
    /// Where the sketch was made by another plan, or this plan uses no sketches.
    pub fn band_keys(&self, sketch: &Sketch) -> Result<Vec<u64>> {
        let scheme = self.scheme()?;
        if sketch.fingerprint != self.fingerprint() {
            return Err(Error::setting("the sketch was made by another plan").advise("sketch the document again"));
        }
        let mut keys = Vec::new();
        BandKeys::new(&scheme, self.settings().seed).append(&sketch.slots, 0, &mut keys);
        Ok(keys)
    }

    fn sketch_elements(&self, elements: &[u64]) -> Result<Sketch> {
        let minhash = MinHash::new(self.scheme()?.slots as usize, self.settings().seed);
        Ok(Sketch { fingerprint: self.fingerprint(), slots: minhash.sketch(elements) })
    }

    fn scheme(&self) -> Result<Scheme> {
        match self.method() {
            Method::Sketches(scheme) => Ok(scheme),
            Method::InvertedLists | Method::Fingerprints(_) => {
                Err(Error::setting("this plan uses no sketches").advise("plan without --exact and for Jaccard"))
            }
        }
    }
}

impl Sketch {
    /// The fingerprint of the plan that made the sketch.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The MinHash values.
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// Whether it is the sketch of nothing.
    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| *slot == EMPTY_SLOT)
    }

    /// The estimated Jaccard similarity; what is empty is alike to nothing.
    pub fn similarity(&self, other: &Self) -> std::result::Result<f64, Mismatch> {
        self.check_comparable(other)?;
        if self.is_empty() || other.is_empty() {
            return Ok(0.0);
        }
        Ok(f64::from(agreement(&self.slots, &other.slots)) / self.slots.len() as f64)
    }

    /// Makes this the sketch of all that is in either document.
    pub fn merge(&mut self, other: &Self) -> std::result::Result<(), Mismatch> {
        self.check_comparable(other)?;
        merge(&mut self.slots, &other.slots);
        Ok(())
    }

    /// The sketch as bytes that [`Sketch::from_bytes`] reads on any machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + 4 * self.slots.len() + CHECKSUM);
        bytes.extend(MAGIC);
        bytes.extend(SKETCH_VERSION.to_le_bytes());
        bytes.extend((self.slots.len() as u32).to_le_bytes());
        bytes.extend(self.fingerprint.to_le_bytes());
        bytes.extend(self.slots.iter().flat_map(|slot| slot.to_le_bytes()));
        bytes.extend(hash_bytes(&bytes).to_le_bytes());
        bytes
    }

    /// Reads what [`Sketch::to_bytes`] wrote, and nothing else.
    pub fn from_bytes(bytes: &[u8]) -> std::result::Result<Self, Damage> {
        let length = |expected| Damage::Length { expected, found: bytes.len() };
        if !bytes.starts_with(&MAGIC[..bytes.len().min(MAGIC.len())]) {
            return Err(Damage::Magic);
        }
        let (header, rest) = bytes.split_first_chunk::<HEADER>().ok_or(length(HEADER + CHECKSUM))?;
        let (_, numbers) = header.split_at(MAGIC.len());
        let [version, count, low, high] = std::array::from_fn(|at| read_u32(&numbers[4 * at..]));
        if version != SKETCH_VERSION {
            return Err(Damage::Version(version));
        }
        // The count may be any number: bytes lie until their checksum has been seen.
        let expected = (count as usize).saturating_mul(4).saturating_add(HEADER + CHECKSUM);
        if bytes.len() != expected {
            return Err(length(expected));
        }
        let (content, checksum) = bytes.split_at(expected - CHECKSUM);
        if hash_bytes(content).to_le_bytes() != checksum {
            return Err(Damage::Checksum);
        }
        let slots = rest[..rest.len() - CHECKSUM].chunks_exact(4).map(read_u32).collect();
        Ok(Self { fingerprint: u64::from(low) | u64::from(high) << 32, slots })
    }

    fn check_comparable(&self, other: &Self) -> std::result::Result<(), Mismatch> {
        let (left, right) = (self.slots.len(), other.slots.len());
        if left != right {
            return Err(Mismatch::Slots { left, right });
        }
        let (left, right) = (self.fingerprint, other.fingerprint);
        if left == right { Ok(()) } else { Err(Mismatch::Settings { left, right }) }
    }
}

/// The number in the first four bytes.
fn read_u32(bytes: &[u8]) -> u32 {
    bytes[..4].iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}
