//! The records in a row group.

use std::path::Path;

use arrow_array::RecordBatch;
use lookalike::{KeepValue, RecordNumber};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::column::{self, Column};
use super::file::{ParquetFile, damaged, open, without_panic};
use super::values::{Cell, ColumnValues};
use crate::error::{Error, Place, Result};
use crate::options::{FieldPath, ReadOptions};
use crate::parsed::{Parsed, RawSpan};

/// Rows decoded at a time: few enough that their texts stay well below what an Arrow string array can hold.
const ROWS_PER_BATCH: usize = 512;

/// Columns that an error message names at most.
const COLUMNS_SHOWN: usize = 30;

/// The columns that make records. An id or a keep field that no row has is no error: such records have none.
struct Columns {
    text: Vec<Column>,
    id: Option<Column>,
    /// The keep field, if one was asked for; its column, if there is one.
    keep: Option<Option<Column>>,
    within: Option<Column>,
}

impl Columns {
    fn leaves(&self) -> impl Iterator<Item = usize> {
        let others = [&self.id, self.keep.as_ref().unwrap_or(&None), &self.within];
        self.text.iter().chain(others.into_iter().flatten()).flat_map(|column| column.leaves.clone())
    }
}

impl ParquetFile {
    /// Adds the records of one row group, counted from 0, to `parsed`; reads the columns they need and no others.
    ///
    /// A record's position is its row. Columns of strings make a text, columns of lists a set.
    ///
    /// # Errors
    /// If a text column does not exist or holds something else, if the file is damaged, or if a row has no text and
    /// bad records are to fail.
    pub fn parse_row_group(
        &self,
        row_group: usize,
        input: usize,
        options: &ReadOptions,
        parsed: &mut Parsed,
    ) -> Result<()> {
        without_panic(&self.path, || self.parse_rows(row_group, input, options, parsed))
    }

    fn parse_rows(&self, row_group: usize, input: usize, options: &ReadOptions, parsed: &mut Parsed) -> Result<()> {
        let unreadable = |error| {
            let what = format!("row group {} of this Parquet file cannot be read", row_group + 1);
            damaged(&self.path, &what, &error)
        };
        let columns = self.columns(options)?;
        let group = self.metadata.metadata().row_groups().get(row_group).ok_or_else(|| {
            Error::new(format!("there is no row group {}, the file has {}", row_group + 1, self.row_groups()))
                .at_file(&self.path)
        })?;
        let mask = ProjectionMask::leaves(self.metadata.parquet_schema(), columns.leaves());
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(open(&self.path)?, self.metadata.clone())
            .with_row_groups(vec![row_group])
            .with_projection(mask)
            .with_batch_size(ROWS_PER_BATCH)
            .build()
            .map_err(unreadable)?;
        let mut row = self.first_row(row_group);
        for batch in batches {
            let batch = batch.map_err(|error| unreadable(error.into()))?;
            let mut rows = RowReader::new(&batch, &columns).map_err(|what| {
                Error::new(what).at_file(&self.path).advise("name another column with --text, --id, --keep or --within")
            })?;
            for index in 0..batch.num_rows() {
                let number = record_number(input, row, &self.path)?;
                row += 1;
                if let Err(error) = rows.push(index, number, parsed) {
                    let error = error.at(Place { path: self.path.clone(), record: Some(row), byte: None });
                    parsed.refuse(RawSpan { position: row - 1, length: 1 }, error, options.on_error)?;
                }
            }
        }
        parsed.bytes += u64::try_from(group.compressed_size()).unwrap_or(0);
        Ok(())
    }

    fn columns(&self, options: &ReadOptions) -> Result<Columns> {
        let fields = self.metadata.schema().fields();
        let types = self.metadata.parquet_schema().root_schema().get_fields();
        let find = |path: &FieldPath| match column::find(fields, types, path) {
            Some(column) if column::has_namesake(fields, &column) => {
                Err(Error::new(format!("several columns are called {:?}", path.as_str()))
                    .at_file(&self.path)
                    .advise("which of them is meant cannot be told; rename the others"))
            }
            found => Ok(found),
        };
        let required = |path: &FieldPath, flag: &str| {
            find(path)?.ok_or_else(|| {
                let names = column::names(fields);
                let shown = names.iter().take(COLUMNS_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
                let more = if names.len() > COLUMNS_SHOWN { ", …" } else { "" };
                Error::new(format!("there is no column {:?}; the columns are {shown}{more}", path.as_str()))
                    .at_file(&self.path)
                    .advise(format!("name one of them with {flag}"))
            })
        };
        Ok(Columns {
            text: options.text.iter().map(|path| required(path, "--text")).collect::<Result<_>>()?,
            id: options.id.as_ref().map(find).transpose()?.flatten(),
            keep: options.keep.as_ref().map(find).transpose()?,
            within: options.within.as_ref().map(|path| required(path, "--within")).transpose()?,
        })
    }
}

fn record_number(input: usize, row: u64, path: &Path) -> Result<RecordNumber> {
    if row > RecordNumber::MAX_POSITION {
        return Err(Error::new("the file has too many rows").at_file(path).advise("split it into several files"));
    }
    Ok(RecordNumber::new(input as u64, row))
}

/// The wanted columns of a batch, read row by row.
struct RowReader<'a> {
    text: Vec<(&'a Column, ColumnValues<'a>)>,
    id: Option<(&'a Column, ColumnValues<'a>)>,
    keep: Option<Option<(&'a Column, ColumnValues<'a>)>>,
    within: Option<(&'a Column, ColumnValues<'a>)>,
    scratch: Scratch,
}

/// Buffers that live longer than a row.
#[derive(Default)]
struct Scratch {
    text: String,
    hashes: Vec<u64>,
}

impl<'a> RowReader<'a> {
    /// Finds the columns in the batch, or says which of them holds what cannot be used.
    fn new(batch: &'a RecordBatch, columns: &'a Columns) -> std::result::Result<Self, String> {
        let find = |column: &'a Column| Ok((column, ColumnValues::find(batch, &column.names)?));
        Ok(Self {
            text: columns.text.iter().map(find).collect::<std::result::Result<_, String>>()?,
            id: columns.id.as_ref().map(find).transpose()?,
            keep: columns.keep.as_ref().map(|column| column.as_ref().map(find).transpose()).transpose()?,
            within: columns.within.as_ref().map(find).transpose()?,
            scratch: Scratch::default(),
        })
    }

    /// Adds the record in a row, or says why it cannot and leaves the records as they were.
    fn push(&mut self, row: usize, number: RecordNumber, parsed: &mut Parsed) -> Result<()> {
        let is_set = matches!(self.text.first().and_then(|(_, values)| values.cell(row)), Some(Cell::List(..)));
        if is_set {
            self.push_set(row, number, parsed)?
        } else {
            self.push_text(row, number, parsed)?
        };
        if let Err(error) = self.push_fields(row, parsed) {
            parsed.batch.pop();
            return Err(error);
        }
        parsed.raw_lengths.push(1);
        Ok(())
    }

    /// Adds the record with its texts joined by newlines.
    fn push_text(&self, row: usize, number: RecordNumber, parsed: &mut Parsed) -> Result<()> {
        let pushed = parsed.batch.push_text_with(number, |out| {
            for (index, (column, values)) in self.text.iter().enumerate() {
                if index > 0 {
                    out.push('\n');
                }
                match values.cell(row) {
                    Some(Cell::Text(text)) => out.push_str(text),
                    cell => return Err(unfit(column, cell, "a text or a list", "--text")),
                }
            }
            Ok(())
        });
        if pushed.is_err() {
            parsed.batch.pop();
        }
        pushed
    }

    /// Adds the record with the items of all its lists.
    fn push_set(&mut self, row: usize, number: RecordNumber, parsed: &mut Parsed) -> Result<()> {
        let Scratch { text, hashes } = &mut self.scratch;
        hashes.clear();
        for (column, values) in &self.text {
            match values.cell(row) {
                Some(Cell::List(start, end)) => {
                    if !values.hash_items(start, end, hashes, text) {
                        let name = column.names.join(".");
                        return Err(Error::new(format!("the list in the column {name:?} holds lists or bytes"))
                            .advise(
                                "the items of a set are strings, numbers or booleans; name another column with --text",
                            ));
                    }
                }
                cell => return Err(unfit(column, cell, "a list as the other text columns are", "--text")),
            }
        }
        parsed.batch.push_set(number, hashes.iter().copied());
        Ok(())
    }

    /// Adds the record's keep field, `--within` value and id.
    fn push_fields(&mut self, row: usize, parsed: &mut Parsed) -> Result<()> {
        let text = &mut self.scratch.text;
        if let Some(keep) = &self.keep {
            let value = match keep.as_ref().and_then(|(column, values)| Some((column, values.cell(row)?))) {
                None => KeepValue::Missing,
                Some((column, cell)) => {
                    cell.keep_value().ok_or_else(|| unfit(column, Some(cell), "a number or a string", "--keep"))?
                }
            };
            parsed.batch.push_keep(value);
        }
        if let Some((column, values)) = &self.within {
            let cell = values.cell(row);
            text.clear();
            if !cell.is_some_and(|cell| cell.write(text)) {
                return Err(unfit(column, cell, "a string, number or boolean", "--within"));
            }
            parsed.batch.push_within(text.as_bytes());
        }
        let id = self.id.as_ref().and_then(|(column, values)| Some((column, values.cell(row)?)));
        text.clear();
        match id {
            None => parsed.ids.push(None),
            Some((column, cell)) => {
                if !cell.write(text) {
                    return Err(unfit(column, Some(cell), "a string or a number", "--id"));
                }
                parsed.ids.push(Some(text));
            }
        }
        Ok(())
    }
}

/// The error of a row that lacks what a column should hold.
fn unfit(column: &Column, cell: Option<Cell<'_>>, wanted: &str, flag: &str) -> Error {
    let name = column.names.join(".");
    let found = cell.map_or("null", Cell::name);
    Error::new(format!("the column {name:?} is {found}, not {wanted}")).advise(format!("name another with {flag}"))
}

#[cfg(test)]
mod tests {
    use lookalike::{Content, hash_item};
    use proptest::prelude::*;

    use super::super::fixture::{self, TestResult};
    use super::*;
    use crate::options::OnError;

    fn parse(path: &Path, options: &ReadOptions) -> Result<Parsed> {
        let file = ParquetFile::open(path)?;
        assert_eq!((file.row_groups(), file.rows()), (3, 10));
        let mut parsed = Parsed::default();
        for row_group in 0..file.row_groups() {
            file.parse_row_group(row_group, 7, options, &mut parsed)?;
        }
        Ok(parsed)
    }

    fn field(name: &str) -> FieldPath {
        name.parse().expect("a field")
    }

    fn text_options(names: &[&str]) -> ReadOptions {
        ReadOptions { text: names.iter().map(|name| field(name)).collect(), ..ReadOptions::default() }
    }

    fn with_fixture(check: impl FnOnce(&Path) -> TestResult) -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("f.parquet");
        fixture::write(&path)?;
        check(&path)
    }

    #[test]
    fn strings_of_every_kind_are_texts() -> TestResult {
        with_fixture(|path| {
            let cases = [
                ("body", "bödy 9"),
                ("view", "a view that is longer than twelve bytes 9"),
                ("bytes", "bytes 9"),
                ("meta.url", "dotted 9"),
            ];
            for (name, last) in cases {
                let parsed = parse(path, &text_options(&[name]))?;
                assert_eq!(parsed.batch.len(), 10, "{name}");
                assert_eq!(parsed.batch.content(9), Content::Text(last));
                assert_eq!(parsed.batch.numbers()[9], RecordNumber::new(7, 9));
                assert_eq!((parsed.ids.get(9), parsed.raw_lengths[9]), (Some("109"), 1));
            }
            let joined = parse(path, &text_options(&["body", "view"]))?;
            assert_eq!(joined.batch.content(0), Content::Text("bödy 0\na view that is longer than twelve bytes 0"));
            Ok(())
        })
    }

    #[test]
    fn a_column_that_is_there_twice_is_refused_where_it_is_wanted() -> TestResult {
        with_fixture(|path| {
            let body = || text_options(&["body"]);
            let cases = [
                text_options(&["twice"]),
                ReadOptions { id: Some(field("twice")), ..body() },
                ReadOptions { keep: Some(field("twice")), ..body() },
                ReadOptions { within: Some(field("twice")), ..body() },
            ];
            for options in cases {
                let error = parse(path, &options).expect_err("two columns");
                assert!(error.to_string().contains("several columns are called \"twice\""), "{error}");
            }
            assert!(parse(path, &body()).is_ok());
            Ok(())
        })
    }

    #[test]
    fn null_texts_are_bad_records() -> TestResult {
        with_fixture(|path| {
            let error = parse(path, &ReadOptions::default()).expect_err("row 4 has no text");
            assert!(error.to_string().contains("f.parquet, record 4: the column \"text\" is null"), "{error}");
            let skip = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
            let parsed = parse(path, &skip)?;
            assert_eq!((parsed.batch.len(), parsed.bad.len(), parsed.bad[0].index_in_chunk), (9, 1, 3));
            assert_eq!(parsed.batch.content(3), Content::Text("text 4"));
            assert_eq!((parsed.ids.len(), parsed.raw_lengths.len()), (9, 9));
            let inside = ReadOptions { on_error: OnError::Skip, ..text_options(&["meta.in.ner"]) };
            let parsed = parse(path, &inside)?;
            assert_eq!((parsed.batch.len(), parsed.bad[0].index_in_chunk), (9, 5));
            Ok(())
        })
    }

    #[test]
    fn lists_are_sets() -> TestResult {
        with_fixture(|path| {
            let skip = |names| ReadOptions { on_error: OnError::Skip, ..text_options(names) };
            let parsed = parse(path, &skip(&["tags"]))?;
            assert_eq!(parsed.batch.content(0), Content::Set(&[hash_item(b"0"), hash_item(b"both")]));
            assert_eq!((parsed.batch.len(), parsed.bad[0].index_in_chunk), (9, 4));
            let parsed = parse(path, &skip(&["items"]))?;
            assert_eq!(parsed.batch.content(2), Content::Set(&[hash_item(b"0"), hash_item(b"1")]));
            let parsed = parse(path, &skip(&["items", "tags"]))?;
            assert_eq!(parsed.batch.len(), 9);
            assert!(matches!(parsed.batch.content(1), Content::Set(items) if items.len() == 3));
            assert_eq!(parse(path, &skip(&["items", "text"]))?.batch.len(), 0);
            Ok(())
        })
    }

    #[test]
    fn keep_and_within_read_their_columns() -> TestResult {
        with_fixture(|path| {
            let keep = |name: &str| ReadOptions { keep: Some(field(name)), ..text_options(&["body"]) };
            let scores = parse(path, &keep("meta.score"))?;
            assert_eq!(scores.batch.keep()[2], KeepValue::Number(0.5));
            assert_eq!(scores.batch.keep()[3], KeepValue::Missing);
            for (name, value) in [("day", 9.0), ("when", 9.0), ("price", 0.09), ("flag", 0.0), ("id", 109.0)] {
                assert_eq!(parse(path, &keep(name))?.batch.keep()[9], KeepValue::Number(value), "{name}");
            }
            assert_eq!(parse(path, &keep("absent"))?.batch.keep(), vec![KeepValue::Missing; 10]);
            assert!(parse(path, &keep("tags")).is_err());
            let within = ReadOptions { within: Some(field("flag")), ..text_options(&["body"]) };
            let within = parse(path, &within)?;
            assert_eq!(within.batch.within()[0], within.batch.within()[2]);
            assert_ne!(within.batch.within()[0], within.batch.within()[1]);
            Ok(())
        })
    }

    #[test]
    fn ids_may_be_absent() -> TestResult {
        with_fixture(|path| {
            for id in [None, Some(field("absent")), Some(field("sparse"))] {
                let parsed = parse(path, &ReadOptions { id, ..text_options(&["body"]) })?;
                assert_eq!((parsed.ids.len(), parsed.ids.get(0)), (10, None));
            }
            let sparse = ReadOptions { id: Some(field("sparse")), ..text_options(&["body"]) };
            assert_eq!(parse(path, &sparse)?.ids.get(7), Some("7"));
            Ok(())
        })
    }

    #[test]
    fn columns_that_cannot_be_used_are_named() -> TestResult {
        with_fixture(|path| {
            let error = parse(path, &text_options(&["content"])).expect_err("no such column");
            let message = error.to_string();
            assert!(message.contains("no column \"content\"; the columns are id, meta.url, meta.score"), "{message}");
            assert!(message.contains("--text"), "{message}");
            let error = parse(path, &text_options(&["counts"])).expect_err("a map");
            assert!(error.message().contains("\"counts\" holds Map"), "{error}");
            let error = parse(path, &text_options(&["day"])).expect_err("a date");
            assert!(error.message().contains("\"day\" is a number, not a text"), "{error}");
            Ok(())
        })
    }

    #[test]
    fn damage_is_an_error() -> TestResult {
        with_fixture(|path| {
            let mut bytes = std::fs::read(path)?;
            for byte in &mut bytes[4..600] {
                *byte ^= 0x55;
            }
            std::fs::write(path, &bytes)?;
            let error = parse(path, &text_options(&["body", "view", "text"])).expect_err("damaged pages");
            assert!(error.message().contains("row group 1"), "{error}");
            std::fs::write(path, &bytes[..bytes.len() - 100])?;
            let error = parse(path, &ReadOptions::default()).expect_err("no footer");
            assert!(error.message().contains("cut short"), "{error}");
            Ok(())
        })
    }

    proptest! {
        #[test]
        fn any_damage_is_read_or_refused(
            flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            column in prop::sample::select(vec!["text", "body", "view", "tags", "items", "meta.in.ner"]),
        ) {
            let result = with_fixture(|path| {
                let mut bytes = std::fs::read(path)?;
                for (index, byte) in &flips {
                    let length = bytes.len();
                    bytes[index.index(length)] = *byte;
                }
                std::fs::write(path, &bytes)?;
                let Ok(file) = ParquetFile::open(path) else { return Ok(()) };
                let _ = super::super::rewrite(path, &(0..file.rows().min(10)).collect::<Vec<_>>(), &mut Vec::new(), None);
                let mut parsed = Parsed::default();
                for row_group in 0..file.row_groups() {
                    let _ = file.parse_row_group(row_group, 0, &text_options(&[column]), &mut parsed);
                }
                Ok(())
            });
            prop_assert!(result.is_ok());
        }
    }
}
