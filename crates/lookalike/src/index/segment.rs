//! A segment: items in columns, sorted by sequence, with the tables that they are found by. Written once, then only read.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::analyzer::Analyzed;
use super::stored::StoredColumns;
use super::table::{Near, Starts, Table, entry, item_of, key_of};
use crate::columns::{ColumnWriter, Magic};
use crate::error::Result;
use crate::hash::hash_bytes;

/// What a segment begins with; the last byte is the version of the format.
pub(super) const MAGIC: Magic = *b"LKASEGM\x01";

/// The columns of a segment, in order. First the contents, then who they belong to.
mod column {
    pub(super) const SETS: usize = 0;
    pub(super) const SET_ENDS: usize = 1;
    pub(super) const SLOTS: usize = 2;
    pub(super) const KEY_ENTRIES: usize = 3;
    pub(super) const KEY_STARTS: usize = 4;
    pub(super) const TEXTS: usize = 5;
    pub(super) const TEXT_ENDS: usize = 6;
    pub(super) const IDS: usize = 7;
    pub(super) const ID_ENDS: usize = 8;
    pub(super) const ID_ENTRIES: usize = 9;
    pub(super) const ID_STARTS: usize = 10;
    pub(super) const SEQUENCES: usize = 11;
    pub(super) const TIMES: usize = 12;
}

const KEYS: Table = Table { entries: column::KEY_ENTRIES, starts: column::KEY_STARTS };
const IDS: Table = Table { entries: column::ID_ENTRIES, starts: column::ID_STARTS };

/// The contents of items on their way into a segment.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Elements that have not been written yet.
    sets: Vec<u64>,
    /// How many elements have.
    written: u64,
    set_ends: Vec<u64>,
    slots: Vec<u16>,
    entries: Vec<u64>,
    texts: Vec<u8>,
    text_ends: Vec<u64>,
}

impl Contents {
    pub(super) fn len(&self) -> usize {
        self.set_ends.len()
    }

    /// Bytes that they take in memory.
    pub(super) fn bytes(&self) -> usize {
        8 * (self.sets.len() + self.set_ends.len() + self.entries.len() + self.text_ends.len())
            + 2 * self.slots.len()
            + self.texts.len()
    }

    /// Bytes of the elements that are in memory.
    pub(super) fn set_bytes(&self) -> usize {
        8 * self.sets.len()
    }

    /// Adds an item; its text if it is to be stored.
    pub(super) fn push(&mut self, content: &Analyzed, text: Option<&str>) {
        let item = self.len() as u32;
        self.sets.extend_from_slice(&content.set);
        self.set_ends.push(self.written + self.sets.len() as u64);
        self.slots.extend_from_slice(&content.slots);
        self.entries.extend(content.keys.iter().map(|key| entry(*key, item)));
        if let Some(text) = text {
            self.texts.extend_from_slice(text.as_bytes());
            self.text_ends.push(self.texts.len() as u64);
        }
    }

    /// Writes the elements that are here: most of what there is, so it need not stay in memory.
    pub(super) fn write_sets<W: Write>(&mut self, writer: &mut ColumnWriter<W>) -> io::Result<()> {
        if self.written == 0 {
            writer.begin_column();
        }
        writer.append(&self.sets)?;
        self.written += self.sets.len() as u64;
        self.sets.clear();
        Ok(())
    }

    pub(super) fn write<W: Write>(mut self, writer: &mut ColumnWriter<W>) -> io::Result<()> {
        self.write_sets(writer)?;
        writer.end_column()?;
        writer.column(&self.set_ends)?;
        writer.column(&self.slots)?;
        write_table(writer, &mut self.entries)?;
        writer.column(&self.texts)?;
        writer.column(&self.text_ends)
    }
}

/// Whose the contents of a segment are, in the same order. Sequences ascend.
#[derive(Debug, Default)]
pub(super) struct Owners {
    ids: Vec<u8>,
    id_ends: Vec<u64>,
    entries: Vec<u64>,
    sequences: Vec<u64>,
    times: Vec<u64>,
}

impl Owners {
    pub(super) fn push(&mut self, id: &str, sequence: u64, time: u64) {
        self.entries.push(entry(id_key(id), self.sequences.len() as u32));
        self.ids.extend_from_slice(id.as_bytes());
        self.id_ends.push(self.ids.len() as u64);
        self.sequences.push(sequence);
        self.times.push(time);
    }

    pub(super) fn write<W: Write>(mut self, writer: &mut ColumnWriter<W>) -> io::Result<()> {
        writer.column(&self.ids)?;
        writer.column(&self.id_ends)?;
        write_table(writer, &mut self.entries)?;
        writer.column(&self.sequences)?;
        writer.column(&self.times)
    }
}

fn write_table<W: Write>(writer: &mut ColumnWriter<W>, entries: &mut [u64]) -> io::Result<()> {
    entries.sort_unstable();
    let mut starts = Starts::new(entries.len());
    entries.iter().for_each(|entry| starts.push(*entry));
    writer.column(entries)?;
    writer.column(&starts.finish())
}

/// The key that an id is found under.
pub(super) fn id_key(id: &str) -> u32 {
    key_of(hash_bytes(id.as_bytes()))
}

/// A segment that is whole.
#[derive(Debug)]
pub(super) struct Segment {
    file: StoredColumns,
    /// Its name in the folder; none while it is in memory only.
    name: Option<String>,
    items: usize,
    slots: usize,
    sequences: (u64, u64),
}

impl Segment {
    /// Maps a segment of the folder.
    pub(super) fn open(folder: &Path, name: &str, stamp: u128, slots: usize) -> Result<Self> {
        let file = StoredColumns::map(&folder.join(name), MAGIC, stamp)?;
        Self::new(file, Some(name.into()), slots)
    }

    /// A segment that is in memory, and perhaps in a log.
    pub(super) fn of_bytes(path: &Path, bytes: &[u8], stamp: u128, slots: usize) -> Result<Self> {
        Self::new(StoredColumns::of_bytes(path, bytes, MAGIC, stamp)?, None, slots)
    }

    fn new(file: StoredColumns, name: Option<String>, slots: usize) -> Result<Self> {
        let items = file.len_of::<u64>(column::SEQUENCES);
        let lengths = [
            file.len_of::<u64>(column::SET_ENDS),
            file.len_of::<u64>(column::ID_ENDS),
            file.len_of::<u64>(column::TIMES),
        ];
        let texts = file.len_of::<u64>(column::TEXT_ENDS);
        let fits = lengths.iter().all(|length| *length == items)
            && file.len_of::<u16>(column::SLOTS) == items * slots
            && (texts == 0 || texts == items)
            && (1..=u32::MAX as usize).contains(&items);
        if !fits {
            return Err(file.damaged());
        }
        let sequences = (file.at(column::SEQUENCES, 0)?, file.at(column::SEQUENCES, items - 1)?);
        Ok(Self { file, name, items, slots, sequences })
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) fn path(&self) -> PathBuf {
        self.file.path().into()
    }

    pub(super) fn len(&self) -> usize {
        self.items
    }

    /// Bytes of its file.
    pub(super) fn size(&self) -> u64 {
        self.file.size()
    }

    /// The elements of an item.
    pub(super) fn set(&self, item: u32) -> Result<&[u64]> {
        self.file.slice(column::SETS, self.file.bounds(column::SET_ENDS, item as usize)?)
    }

    /// How many elements an item has.
    pub(super) fn set_size(&self, item: u32) -> Result<usize> {
        Ok(self.file.bounds(column::SET_ENDS, item as usize)?.len())
    }

    pub(super) fn slots(&self, item: u32) -> Result<&[u16]> {
        let start = item as usize * self.slots;
        self.file.slice(column::SLOTS, start..start + self.slots)
    }

    /// Whether texts are stored.
    pub(super) fn has_texts(&self) -> bool {
        self.file.len_of::<u64>(column::TEXT_ENDS) > 0
    }

    /// The text of an item; none for a set.
    pub(super) fn text(&self, item: u32) -> Result<Option<&str>> {
        if !self.has_texts() {
            return Ok(None);
        }
        let bytes = self.file.slice(column::TEXTS, self.file.bounds(column::TEXT_ENDS, item as usize)?)?;
        let is_set = bytes.is_empty() && self.set_size(item)? > 0;
        let text = std::str::from_utf8(bytes).map_err(|_| self.file.damaged())?;
        Ok((!is_set).then_some(text))
    }

    pub(super) fn id(&self, item: u32) -> Result<&str> {
        let bytes = self.file.slice(column::IDS, self.file.bounds(column::ID_ENDS, item as usize)?)?;
        std::str::from_utf8(bytes).map_err(|_| self.file.damaged())
    }

    pub(super) fn sequence(&self, item: u32) -> Result<u64> {
        self.file.at(column::SEQUENCES, item as usize)
    }

    pub(super) fn time(&self, item: u32) -> Result<u64> {
        self.file.at(column::TIMES, item as usize)
    }

    pub(super) fn times(&self) -> Result<&[u64]> {
        self.file.column(column::TIMES)
    }

    pub(super) fn sequences(&self) -> Result<&[u64]> {
        self.file.column(column::SEQUENCES)
    }

    /// The first and the last sequence.
    pub(super) fn sequence_bounds(&self) -> (u64, u64) {
        self.sequences
    }

    /// The entries of the items that have a key.
    pub(super) fn with_key(&self, key: u32) -> Result<&[u64]> {
        KEYS.find(&self.file, key)
    }

    /// Has fetched what [`Segment::near_key`] will look at.
    pub(super) fn prefetch_key(&self, key: u32) {
        KEYS.prefetch(&self.file, key);
    }

    /// The entries of the items that have a key, with a few others.
    pub(super) fn near_key(&self, key: u32) -> Result<Near<'_>> {
        KEYS.near(&self.file, key)
    }

    /// All entries, sorted by key, then by item.
    pub(super) fn key_entries(&self) -> Result<&[u64]> {
        self.file.column(column::KEY_ENTRIES)
    }

    pub(super) fn id_entries(&self) -> Result<&[u64]> {
        self.file.column(column::ID_ENTRIES)
    }

    /// The items with this id: several only if all but one are deleted.
    pub(super) fn with_id(&self, id: &str) -> Result<Vec<u32>> {
        let mut items = Vec::new();
        for entry in IDS.find(&self.file, id_key(id))? {
            if self.id(item_of(*entry))? == id {
                items.push(item_of(*entry));
            }
        }
        Ok(items)
    }

    /// Whether the item of a sequence may be here.
    pub(super) fn may_have(&self, sequence: u64) -> bool {
        (self.sequences.0..=self.sequences.1).contains(&sequence)
    }

    /// Looks at every byte and at what must hold between them.
    pub(super) fn check(&self) -> Result<()> {
        self.file.check()?;
        let ascends = |values: &[u64]| values.is_sorted_by(|left, right| left < right);
        let mut is_good = ascends(self.sequences()?) && ascends(self.key_entries()?) && ascends(self.id_entries()?);
        is_good &= self.id_entries()?.len() == self.items;
        let within = |entry: &u64| (item_of(*entry) as usize) < self.items;
        is_good &= self.key_entries()?.iter().all(within) && self.id_entries()?.iter().all(within);
        for item in 0..self.items as u32 {
            is_good &= ascends(self.set(item)?);
            let id = self.id(item)?;
            is_good &= self.with_id(id)?.contains(&item);
            self.text(item)?;
        }
        if is_good { Ok(()) } else { Err(self.file.damaged()) }
    }
}
