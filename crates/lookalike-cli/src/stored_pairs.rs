//! Pairs that `pairs` or `dedup --pairs` wrote, read again.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use lookalike::{Content, KeepValue, RecordNumber};
use lookalike_io::error::Shown;
use lookalike_io::{FieldPath, Format, Inputs, ReadOptions, Reader, read_all};

use crate::arguments::ResultFormat;
use crate::interrupt;

/// Pairs of records, which are called by numbers that ascend in input order as far as that can be told from the pairs.
pub(crate) struct StoredPairs {
    pub(crate) pairs: Vec<(u64, u64, f64)>,
    /// How many different records are in them.
    pub(crate) records: u64,
}

impl StoredPairs {
    /// Reads a file of pairs, in the form that its name tells.
    pub(crate) fn read(path: &Path, tmp: &Path) -> Result<Self> {
        let rows = match ResultFormat::by_name(path) {
            ResultFormat::Text => read_lines(path)?,
            ResultFormat::Jsonl => read_table(path, Format::Jsonl, tmp)?,
            ResultFormat::Csv => read_table(path, Format::Csv, tmp)?,
            ResultFormat::Parquet => read_table(path, Format::Parquet, tmp)?,
        };
        Ok(Self::of(&rows))
    }

    /// Pairs come by their left record in input order, so those that are ever on the left are known in that order. One that
    /// is only ever on the right comes after all that it is compared with, and no more needs to be known about it.
    fn of(rows: &[(String, String, f64)]) -> Self {
        let mut numbers: HashMap<&str, u64> = HashMap::new();
        for id in rows.iter().map(|row| &row.0).chain(rows.iter().map(|row| &row.1)) {
            let next = numbers.len() as u64;
            numbers.entry(id).or_insert(next);
        }
        let pairs = rows.iter().map(|(left, right, similarity)| (numbers[&**left], numbers[&**right], *similarity));
        Self { pairs: pairs.collect(), records: numbers.len() as u64 }
    }
}

/// Fields between tabs, as they are written.
fn read_lines(path: &Path) -> Result<Vec<(String, String, f64)>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", Shown(path)))?;
    let row = |(at, line): (usize, &str)| {
        let mut fields = line.split('\t');
        let mut pair = || {
            let (left, right, similarity) = (fields.next()?, fields.next()?, fields.next()?.parse().ok()?);
            let is_whole = fields.next().is_none() && (0.0..=1.0).contains(&similarity);
            is_whole.then(|| (left.to_owned(), right.to_owned(), similarity))
        };
        pair().ok_or_else(|| no_pair(path, "line", at))
    };
    text.lines().enumerate().map(row).collect()
}

/// A table with the columns left, right and similarity.
fn read_table(path: &Path, format: Format, tmp: &Path) -> Result<Vec<(String, String, f64)>> {
    let field = |name: &str| name.parse::<FieldPath>().map_err(anyhow::Error::msg);
    let options = ReadOptions {
        id: Some(field("left")?),
        text: vec![field("right")?],
        keep: Some(field("similarity")?),
        ..ReadOptions::default()
    };
    let inputs = Inputs::resolve(&[path.to_owned()], Some(format), tmp)?;
    let reader = Reader::open(inputs, options)?;
    let mut rows: Vec<(RecordNumber, (String, String, f64))> =
        read_all(&reader, 1, interrupt::flag(), Vec::new, |rows, _, parsed| {
            for (record, number) in parsed.batch.numbers().iter().enumerate() {
                let (id, right, keep) =
                    (parsed.ids.get(record), parsed.batch.content(record), parsed.batch.keep().get(record));
                if let (Some(left), Content::Text(right), Some(KeepValue::Number(similarity))) = (id, right, keep) {
                    rows.push((*number, (left.to_owned(), right.to_owned(), *similarity)));
                } else {
                    rows.push((*number, (String::new(), String::new(), f64::NAN)));
                }
            }
            Ok::<_, lookalike_io::Error>(())
        })?
        .concat();
    rows.sort_unstable_by_key(|(number, _)| *number);
    if let Some(at) = rows.iter().position(|(_, row)| row.2.is_nan()) {
        return Err(no_pair(path, "record", at));
    }
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

fn no_pair(path: &Path, kind: &str, at: usize) -> anyhow::Error {
    let (path, number) = (Shown(path), at + 1);
    anyhow!("{path}, {kind} {number}: this is no pair; give what lookalike pairs writes: left, right and similarity")
}
