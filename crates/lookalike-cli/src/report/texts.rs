//! The texts of the few records that the report shows: read once more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use lookalike::Content;
use lookalike_io::{Run, Wanted, read_again};

use crate::command::Found;
use crate::interrupt;

/// Characters of a text that are compared and shown at most.
const MOST_CHARACTERS: usize = 20_000;

/// Texts by record.
pub(super) struct Texts(BTreeMap<usize, String>);

impl Texts {
    /// Reads these records. Items of an index have no file to be read from, and sets have no text; both are left out.
    pub(super) fn read(found: &Found, records: &BTreeSet<usize>) -> Result<Self> {
        let first = if found.is_against_index { found.outcome.old() } else { 0 };
        let records: Vec<usize> = records.range(first..).copied().collect();
        let wanted: Vec<Wanted> = records
            .iter()
            .map(|record| Wanted {
                number: found.outcome.numbers()[*record],
                length: found.records.raw_length(*record),
            })
            .collect();
        let texts = Mutex::new(BTreeMap::new());
        let take = |_: &mut (), run: Run<'_>| {
            let mut texts = texts.lock().unwrap_or_else(PoisonError::into_inner);
            for (record, index) in records[run.first..].iter().zip(run.indices) {
                if let Content::Text(text) = run.batch.content(*index as usize) {
                    texts.insert(*record, text.chars().take(MOST_CHARACTERS).collect());
                }
            }
            Ok::<(), lookalike_io::Error>(())
        };
        read_again(&found.reader, &wanted, 1, interrupt::flag(), || (), take)?;
        Ok(Self(texts.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    pub(super) fn of(&self, record: usize) -> Option<&str> {
        self.0.get(&record).map(String::as_str)
    }

    /// The beginning of a text, on one line.
    pub(super) fn beginning(&self, record: usize) -> Option<String> {
        const LENGTH: usize = 160;
        let text = self.of(record)?;
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut: String = words.chars().take(LENGTH).collect();
        Some(if cut.len() < words.len() { cut + " …" } else { cut })
    }
}
