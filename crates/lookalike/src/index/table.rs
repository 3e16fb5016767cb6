//! Which items have a key: entries of 32 bits of the key and the item, sorted, and for the first bits of a key where to
//! look.
//!
//! 32 bits of a 64-bit key are enough. Among 100 million items a few others turn up under a key by chance, and what turns
//! up is checked anyway.

use std::ops::Range;

use super::stored::StoredColumns;
use crate::error::Result;

/// Entries that one place of the directory leads to, on average.
const ENTRIES_A_PLACE: usize = 8;

/// The entry of an item under a key.
pub(super) fn entry(key: u32, item: u32) -> u64 {
    u64::from(key) << 32 | u64::from(item)
}

/// The item of an entry.
pub(super) fn item_of(entry: u64) -> u32 {
    entry as u32
}

/// The key that stands for a 64-bit hash.
pub(super) fn key_of(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// Where the entries of each range of keys begin, gathered while entries go by in order.
pub(super) struct Starts {
    bits: u32,
    starts: Vec<u64>,
    entries: u64,
}

impl Starts {
    /// For about so many entries.
    pub(super) fn new(entries: usize) -> Self {
        let bits = (entries / ENTRIES_A_PLACE).max(1).ilog2().min(31);
        Self { bits, starts: Vec::with_capacity((1 << bits) + 1), entries: 0 }
    }

    pub(super) fn push(&mut self, entry: u64) {
        let place = (entry >> 32 >> (32 - self.bits)) as usize;
        while self.starts.len() <= place {
            self.starts.push(self.entries);
        }
        self.entries += 1;
    }

    pub(super) fn finish(mut self) -> Vec<u64> {
        self.starts.resize((1 << self.bits) + 1, self.entries);
        self.starts
    }
}

/// A table in a file: the columns that hold its entries and its starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub(super) entries: usize,
    pub(super) starts: usize,
}

impl Table {
    /// The entries under a key, their items ascending.
    pub(super) fn find(self, file: &StoredColumns, key: u32) -> Result<&[u64]> {
        Ok(among(self.near(file, self.bounds(file, key)?)?, key))
    }

    /// Where the entries under a key are, with a few others.
    pub(super) fn bounds(self, file: &StoredColumns, key: u32) -> Result<Range<usize>> {
        let places = file.len_of::<u64>(self.starts);
        if places < 2 {
            return Ok(0..0);
        }
        let bits = (places - 1).trailing_zeros();
        if bits > 32 || !(places - 1).is_power_of_two() {
            return Err(file.damaged());
        }
        let place = (u64::from(key) >> (32 - bits)) as usize;
        let bounds = file.slice::<u64>(self.starts, place..place + 2)?;
        Ok(bounds[0] as usize..bounds[1] as usize)
    }

    /// The entries that are there.
    pub(super) fn near(self, file: &StoredColumns, bounds: Range<usize>) -> Result<&[u64]> {
        file.slice(self.entries, bounds)
    }
}

/// The entries under a key, among those near it.
pub(super) fn among(near: &[u64], key: u32) -> &[u64] {
    let start = near.partition_point(|found| *found < entry(key, 0));
    let end = start + near[start..].partition_point(|found| *found <= entry(key, u32::MAX));
    &near[start..end]
}
