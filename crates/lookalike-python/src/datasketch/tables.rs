//! One hash table for each band: which items have the same values there? Bands are compared in full, so that the answer is
//! exact; only the first item of a bucket is in its table, the others hang on it in a list.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

/// No item.
const NONE: u32 = u32::MAX;

/// The neighbours of an item in its bucket.
#[derive(Clone, Copy, Debug)]
struct Link {
    next: u32,
    previous: u32,
}

/// A bucket: 32 bits of the hash of its values, and its first item.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    hash: u32,
    first: u32,
}

/// The tables of all bands. Items are numbers below 2^32 - 1; their values are bytes, as many for each item and band.
#[derive(Debug)]
pub(super) struct Tables {
    tables: Vec<HashTable<Bucket>>,
    /// Bytes of one band.
    band: usize,
    /// The values of all items, one after the other.
    values: Vec<u8>,
    /// The links of all items, one for each band.
    links: Vec<Link>,
    /// Items that were removed; their places are taken first.
    free: Vec<u32>,
}

impl Tables {
    pub(super) fn new(bands: usize, band_bytes: usize) -> Self {
        Self {
            tables: vec![HashTable::new(); bands],
            band: band_bytes,
            values: Vec::new(),
            links: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Bytes that make up the bands of one item.
    pub(super) fn item_bytes(&self) -> usize {
        self.tables.len() * self.band
    }

    /// One more than the greatest item.
    pub(super) fn end(&self) -> usize {
        self.links.len() / self.tables.len()
    }

    /// The values of an item.
    pub(super) fn values(&self, item: u32) -> &[u8] {
        let bytes = self.item_bytes();
        &self.values[item as usize * bytes..][..bytes]
    }

    /// The values of an item in a band.
    pub(super) fn band_of(&self, item: u32, band: usize) -> &[u8] {
        &self.values(item)[band * self.band..][..self.band]
    }

    /// The bytes of a band in the values of an item.
    pub(super) fn cut<'a>(&self, values: &'a [u8], band: usize) -> &'a [u8] {
        &values[band * self.band..][..self.band]
    }

    /// Adds an item with these values; nothing if there is no number left for it.
    pub(super) fn insert(&mut self, values: &[u8]) -> Option<u32> {
        let bands = self.tables.len();
        let values = &values[..self.item_bytes()];
        let item = match self.free.pop() {
            Some(item) => {
                let at = item as usize * values.len();
                self.values[at..at + values.len()].copy_from_slice(values);
                item
            }
            None => {
                let item = u32::try_from(self.end()).ok().filter(|item| *item != NONE)?;
                self.values.extend_from_slice(values);
                self.links.resize(self.links.len() + bands, Link { next: NONE, previous: NONE });
                item
            }
        };
        for band in 0..bands {
            self.link(item, band);
        }
        Some(item)
    }

    /// Puts an item first in its bucket of a band.
    fn link(&mut self, item: u32, band: usize) {
        let bands = self.tables.len();
        let hash = hash_of(self.band_of(item, band));
        let (values, item_bytes, band_bytes) = (&self.values, self.item_bytes(), self.band);
        let values_at = |item: u32| &values[item as usize * item_bytes + band * band_bytes..][..band_bytes];
        let own = values_at(item);
        let is_same = |bucket: &Bucket| bucket.hash == hash && values_at(bucket.first) == own;
        let mut link = Link { next: NONE, previous: NONE };
        match self.tables[band].entry(spread(hash), is_same, |bucket| spread(bucket.hash)) {
            hashbrown::hash_table::Entry::Occupied(mut bucket) => {
                link.next = std::mem::replace(&mut bucket.get_mut().first, item);
                self.links[link.next as usize * bands + band].previous = item;
            }
            hashbrown::hash_table::Entry::Vacant(place) => {
                place.insert(Bucket { hash, first: item });
            }
        }
        self.links[item as usize * bands + band] = link;
    }

    /// Takes an item out.
    pub(super) fn remove(&mut self, item: u32) {
        let bands = self.tables.len();
        for band in 0..bands {
            let Link { next, previous } = self.links[item as usize * bands + band];
            if next != NONE {
                self.links[next as usize * bands + band].previous = previous;
            }
            if previous != NONE {
                self.links[previous as usize * bands + band].next = next;
                continue;
            }
            let hash = hash_of(self.band_of(item, band));
            if let Ok(mut bucket) = self.tables[band].find_entry(spread(hash), |bucket| bucket.first == item) {
                if next == NONE {
                    bucket.remove();
                } else {
                    bucket.get_mut().first = next;
                }
            }
        }
        self.free.push(item);
    }

    /// The items whose values in a band are these.
    pub(super) fn bucket<'a>(&'a self, band: usize, values: &[u8]) -> impl Iterator<Item = u32> + use<'a> {
        let hash = hash_of(values);
        let is_same = |bucket: &Bucket| bucket.hash == hash && self.band_of(bucket.first, band) == values;
        let first = self.tables[band].find(spread(hash), is_same).map_or(NONE, |bucket| bucket.first);
        self.items_from(band, first)
    }

    /// The first items of all buckets of a band.
    pub(super) fn buckets(&self, band: usize) -> impl Iterator<Item = u32> {
        self.tables[band].iter().map(|bucket| bucket.first)
    }

    /// How many buckets a band has.
    pub(super) fn bucket_count(&self, band: usize) -> usize {
        self.tables[band].len()
    }

    /// An item and those that come after it in its bucket of a band.
    pub(super) fn items_from(&self, band: usize, first: u32) -> impl Iterator<Item = u32> + use<'_> {
        let mut item = first;
        std::iter::from_fn(move || {
            let found = (item != NONE).then_some(item)?;
            item = self.links[found as usize * self.tables.len() + band].next;
            Some(found)
        })
    }
}

fn hash_of(values: &[u8]) -> u32 {
    (xxh3_64(values) >> 32) as u32
}

/// 32 bits made 64: the table looks at the lowest and the highest.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
