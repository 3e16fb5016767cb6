//! gzip and zstd: told by their magic bytes, read whatever number of members or frames they have, and written in members
//! and frames that end at fixed counts, so that the bytes do not depend on who wrote them how.
//!
//! | file | its question |
//! |---|---|
//! | `read` | what are the decompressed bytes of a file, and what does it mean if they cannot be read? |
//! | `write` | where does a member or frame end? |
//! | `parcel` | which bytes are compressed together, and how? |
//! | `convoy` | how are parcels compressed on all cores, and still leave in order and in bounded memory? |

use std::path::Path;

mod convoy;
mod parcel;
mod read;
mod write;

pub use read::open_decompressed;
pub(crate) use read::{open_counted, read_error};
pub use write::CompressedWriter;

/// How an input is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// gzip, of one member or several.
    Gzip,
    /// Zstandard, of one frame or several.
    Zstd,
}

impl Compression {
    /// The compression that `start`, the first bytes of a file, tell.
    pub fn detect(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// The compression that a file's name tells, if it tells one.
    pub fn by_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "gz" => Some(Self::Gzip),
            "zst" | "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Who compressed a file that is not read here, as `start`, its first bytes, tell.
    pub(crate) fn unknown(start: &[u8]) -> Option<&'static str> {
        match start {
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..] => Some("bzip2"),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some("lz4"),
            [b'P', b'K', 3, 4, ..] => Some("zip"),
            _ => None,
        }
    }

    /// Who would have compressed a file of this name that is not written here.
    pub fn unknown_by_name(path: &Path) -> Option<&'static str> {
        match path.extension()?.to_str()? {
            "bz2" => Some("bzip2"),
            "xz" => Some("xz"),
            "lz4" => Some("lz4"),
            "zip" => Some("zip"),
            _ => None,
        }
    }

    /// What the compression is called in a message.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "uncompressed",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}
