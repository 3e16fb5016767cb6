//! A Parquet file again, with some of its rows: the same schema, metadata and values.
//!
//! Columns are copied below the level of any type system, as values with their definition and repetition levels, so
//! that nothing is converted: what cannot be expressed elsewhere (96-bit timestamps, maps, decimals) survives. One
//! column at a time is held in memory, a few pages of it.
//!
//! Codecs stay the source's, column by column, and so does the choice for or against dictionaries. What describes the
//! layout of the source and not its content is written anew: row groups, pages, statistics. Bloom filters and the
//! claim that rows are sorted are left out.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, Schema};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::file::{ParquetFile, damaged, open, without_panic, write_failure};
use crate::annotation::Annotation;
use crate::error::{Error, Result};

/// Rows in every row group that is written, but the last: a fixed number, so that the bytes depend on the rows alone.
pub const ROWS_PER_GROUP: usize = 65_536;

/// Rows handed from reader to writer at a time.
const ROWS_PER_COPY: usize = 1024;

/// The columns that annotations become.
const ANNOTATION_COLUMNS: [&str; 4] = ["lookalike_group", "lookalike_role", "lookalike_size", "lookalike_similarity"];

/// Writes the file at `path` to `out` with only the rows `kept_rows`, which are in ascending order and counted from 0.
///
/// With annotations, one for each kept row, the columns `lookalike_group`, `lookalike_role`, `lookalike_size` and
/// `lookalike_similarity` are appended.
///
/// # Errors
/// If the file cannot be read or the output not written, if a kept row does not exist, or if the file has columns of
/// the annotations' names already.
pub fn rewrite(
    path: &Path,
    kept_rows: &[u64],
    out: &mut (dyn Write + Send),
    annotations: Option<&mut dyn Iterator<Item = Annotation>>,
) -> Result<()> {
    let file = ParquetFile::open(path)?;
    check_rows(&file, kept_rows)?;
    without_panic(path, || copy_file(&file, kept_rows, out, annotations))
}

fn copy_file(
    file: &ParquetFile,
    kept_rows: &[u64],
    out: &mut (dyn Write + Send),
    mut annotations: Option<&mut dyn Iterator<Item = Annotation>>,
) -> Result<()> {
    let path = file.path.as_path();
    let failed = |error: ParquetError| match write_failure(&error) {
        Some(failure) => Error::sink(failure),
        None => damaged(path, "this Parquet file cannot be copied", &error),
    };
    let reader = SerializedFileReader::new(open(path)?).map_err(failed)?;
    let descriptor = file.metadata.parquet_schema();
    let mut schema = descriptor.root_schema_ptr();
    if annotations.is_some() {
        schema = with_annotation_columns(&schema, path)?;
    }
    let properties = properties(file, annotations.is_some());
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(failed)?;
    let mut cursors: Vec<_> = (0..descriptor.num_columns()).map(ColumnCursor::new).collect();
    for rows in kept_rows.chunks(ROWS_PER_GROUP) {
        let mut group = writer.next_row_group().map_err(failed)?;
        for cursor in &mut cursors {
            let mut column = next_column(&mut group).map_err(failed)?;
            cursor.copy(&reader, &file.row_ends, rows, &mut column).map_err(failed)?;
            column.close().map_err(failed)?;
        }
        if let Some(annotations) = &mut annotations {
            let annotations: Vec<_> = annotations.take(rows.len()).collect();
            if annotations.len() < rows.len() {
                return Err(Error::new("there are fewer annotations than rows").at_file(path));
            }
            write_annotations(&mut group, &annotations).map_err(failed)?;
        }
        group.close().map_err(failed)?;
    }
    writer.close().map_err(failed)?;
    Ok(())
}

fn check_rows(file: &ParquetFile, kept_rows: &[u64]) -> Result<()> {
    let are_ascending = kept_rows.is_sorted_by(|left, right| left < right);
    match kept_rows.last() {
        Some(last) if !are_ascending || *last >= file.rows() => {
            Err(Error::new(format!("the rows to keep are not rows of this file, which has {}", file.rows()))
                .at_file(&file.path)
                .advise("run again: the file has changed since it was read"))
        }
        _ => Ok(()),
    }
}

/// How the file was written, as far as it can be told from its first row group.
fn properties(file: &ParquetFile, is_annotated: bool) -> WriterProperties {
    let metadata = file.metadata.metadata();
    let mut entries = metadata.file_metadata().key_value_metadata().cloned().unwrap_or_default();
    if is_annotated {
        for entry in entries.iter_mut().filter(|entry| entry.key == ARROW_SCHEMA_META_KEY) {
            *entry = KeyValue::new(entry.key.clone(), encode_arrow_schema(&annotated_arrow_schema(file)));
        }
    }
    let mut builder = WriterProperties::builder().set_key_value_metadata((!entries.is_empty()).then_some(entries));
    for (index, column) in metadata.row_groups().iter().take(1).flat_map(|group| group.columns()).enumerate() {
        if index == 0 {
            builder = builder.set_compression(column.compression());
        }
        builder = builder
            .set_column_compression(column.column_path().clone(), column.compression())
            .set_column_dictionary_enabled(column.column_path().clone(), column.dictionary_page_offset().is_some());
    }
    builder.build()
}

/// The Arrow schema that some writers put beside Parquet's own; readers refuse a file where the two differ.
fn annotated_arrow_schema(file: &ParquetFile) -> Schema {
    let types = [ArrowType::Utf8, ArrowType::Utf8, ArrowType::Int64, ArrowType::Float64];
    let added = ANNOTATION_COLUMNS.into_iter().zip(types).map(|(name, data_type)| {
        let is_nullable = data_type == ArrowType::Float64;
        Arc::new(Field::new(name, data_type, is_nullable))
    });
    Schema::new(file.metadata.schema().fields().iter().cloned().chain(added).collect::<Vec<_>>())
}

fn with_annotation_columns(root: &Type, path: &Path) -> Result<TypePtr> {
    if let Some(taken) = root.get_fields().iter().find(|field| ANNOTATION_COLUMNS.contains(&field.name())) {
        return Err(Error::new(format!("there is a column {:?} already", taken.name()))
            .at_file(path)
            .advise("annotate the file that had no annotations, or remove the column"));
    }
    let [group, role, size, similarity] = ANNOTATION_COLUMNS;
    let text = |name| {
        Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::String))
    };
    let number = |name, kind, repetition| Type::primitive_type_builder(name, kind).with_repetition(repetition);
    let added = [
        text(group),
        text(role),
        number(size, PhysicalType::INT64, Repetition::REQUIRED),
        number(similarity, PhysicalType::DOUBLE, Repetition::OPTIONAL),
    ];
    let build = || {
        let mut fields = root.get_fields().to_vec();
        for column in added {
            fields.push(Arc::new(column.build()?));
        }
        Type::group_type_builder(root.name()).with_fields(fields).build().map(Arc::new)
    };
    build().map_err(|error| damaged(path, "the annotations' columns cannot be added", &error))
}

fn write_annotations<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    annotations: &[Annotation],
) -> ParquetResult<()> {
    let groups = annotations.iter().map(|annotation| ByteArray::from(annotation.group.as_str()));
    write_column::<ByteArrayType, _>(group, &groups.collect::<Vec<_>>(), None)?;
    let roles = annotations.iter().map(|annotation| ByteArray::from(annotation.role));
    write_column::<ByteArrayType, _>(group, &roles.collect::<Vec<_>>(), None)?;
    let sizes = annotations.iter().map(|annotation| i64::try_from(annotation.size).unwrap_or(i64::MAX));
    write_column::<Int64Type, _>(group, &sizes.collect::<Vec<_>>(), None)?;
    let similarities = annotations.iter().filter_map(|annotation| annotation.similarity);
    let are_present = annotations.iter().map(|annotation| i16::from(annotation.similarity.is_some()));
    write_column::<DoubleType, _>(group, &similarities.collect::<Vec<_>>(), Some(&are_present.collect::<Vec<_>>()))
}

fn write_column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    definition_levels: Option<&[i16]>,
) -> ParquetResult<()> {
    let mut column = next_column(group)?;
    column.typed::<T>().write_batch(values, definition_levels, None)?;
    column.close()
}

fn next_column<'a, W: Write + Send>(
    group: &'a mut SerializedRowGroupWriter<'_, W>,
) -> ParquetResult<SerializedColumnWriter<'a>> {
    group.next_column()?.ok_or_else(|| ParquetError::General("the schema has fewer columns than the file".into()))
}

/// A column of the source, read once from its first row to its last.
struct ColumnCursor {
    column: usize,
    row_group: usize,
    /// The next row in the file.
    row: u64,
    /// The reader of the row group, once something was wanted from it.
    reader: Option<ColumnReader>,
}

impl ColumnCursor {
    fn new(column: usize) -> Self {
        Self { column, row_group: 0, row: 0, reader: None }
    }

    /// Copies the rows, which stand behind all that were copied before.
    fn copy(
        &mut self,
        source: &SerializedFileReader<File>,
        row_ends: &[u64],
        mut rows: &[u64],
        sink: &mut SerializedColumnWriter<'_>,
    ) -> ParquetResult<()> {
        while let Some(first) = rows.first() {
            while row_ends[self.row_group] <= *first {
                self.row = row_ends[self.row_group];
                self.row_group += 1;
                self.reader = None;
            }
            let end = row_ends[self.row_group];
            let (here, later) = rows.split_at(rows.partition_point(|row| *row < end));
            let reader = match &mut self.reader {
                Some(reader) => reader,
                none => none.insert(source.get_row_group(self.row_group)?.get_column_reader(self.column)?),
            };
            copy_rows(reader, &mut self.row, here, sink.untyped())?;
            rows = later;
        }
        Ok(())
    }
}

/// Copies rows of one row group, whatever the column's type.
fn copy_rows(source: &mut ColumnReader, row: &mut u64, rows: &[u64], sink: &mut ColumnWriter<'_>) -> ParquetResult<()> {
    macro_rules! copy_between {
        ($($source:ident => $sink:ident),* $(,)?) => {
            match (source, sink) {
                $((ColumnReader::$source(source), ColumnWriter::$sink(sink)) => copy_typed(source, row, rows, sink),)*
                _ => Err(ParquetError::General("a column changed its type".into())),
            }
        };
    }
    copy_between! {
        BoolColumnReader => BoolColumnWriter,
        Int32ColumnReader => Int32ColumnWriter,
        Int64ColumnReader => Int64ColumnWriter,
        Int96ColumnReader => Int96ColumnWriter,
        FloatColumnReader => FloatColumnWriter,
        DoubleColumnReader => DoubleColumnWriter,
        ByteArrayColumnReader => ByteArrayColumnWriter,
        FixedLenByteArrayColumnReader => FixedLenByteArrayColumnWriter,
    }
}

fn copy_typed<T: DataType>(
    source: &mut ColumnReaderImpl<T>,
    row: &mut u64,
    rows: &[u64],
    sink: &mut ColumnWriterImpl<'_, T>,
) -> ParquetResult<()> {
    let has_definition_levels = sink.get_descriptor().max_def_level() > 0;
    let has_repetition_levels = sink.get_descriptor().max_rep_level() > 0;
    let (mut values, mut definition_levels, mut repetition_levels) = (Vec::new(), Vec::new(), Vec::new());
    for batch in rows.chunks(ROWS_PER_COPY) {
        for run in batch.chunk_by(|left, right| left + 1 == *right) {
            expect_rows(run[0] - *row, |count| source.skip_records(count))?;
            expect_rows(run.len() as u64, |count| {
                let definition_levels = has_definition_levels.then_some(&mut definition_levels);
                let repetition_levels = has_repetition_levels.then_some(&mut repetition_levels);
                Ok(source.read_records(count, definition_levels, repetition_levels, &mut values)?.0)
            })?;
            *row = run[0] + run.len() as u64;
        }
        sink.write_batch(
            &values,
            has_definition_levels.then_some(&definition_levels[..]),
            has_repetition_levels.then_some(&repetition_levels[..]),
        )?;
        values.clear();
        definition_levels.clear();
        repetition_levels.clear();
    }
    Ok(())
}

/// Calls `step` until it has gone over `count` rows.
fn expect_rows(count: u64, mut step: impl FnMut(usize) -> ParquetResult<usize>) -> ParquetResult<()> {
    let mut left = usize::try_from(count)?;
    while left > 0 {
        match step(left)? {
            0 => return Err(ParquetError::EOF("a column has fewer rows than its row group".into())),
            done => left = left.saturating_sub(done),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type as ArrowInt64;
    use parquet::basic::Compression;
    use parquet::data_type::{Int96, Int96Type};
    use parquet::schema::parser::parse_message_type;
    use proptest::prelude::*;

    use super::super::fixture::{self, TestResult};
    use super::*;

    fn rewrite_to(
        from: &Path,
        kept_rows: &[u64],
        to: &Path,
        annotations: Option<Vec<Annotation>>,
    ) -> std::result::Result<(), Box<dyn std::error::Error>> {
        let mut out = File::create(to)?;
        match annotations {
            None => rewrite(from, kept_rows, &mut out, None)?,
            Some(annotations) => rewrite(from, kept_rows, &mut out, Some(&mut annotations.into_iter()))?,
        }
        Ok(())
    }

    fn annotation(row: u64) -> Annotation {
        let similarity = (row % 2 == 1).then_some(row as f64 / 10.0);
        Annotation { group: format!("group {row}"), role: "keeper", size: row + 1, similarity }
    }

    #[test]
    fn schema_metadata_codecs_and_values_stay() -> TestResult {
        let folder = tempfile::tempdir()?;
        let (from, to) = (folder.path().join("from.parquet"), folder.path().join("to.parquet"));
        fixture::write(&from)?;
        let rows = fixture::rows(&from)?;
        for kept in [vec![], vec![0], vec![3, 4, 5, 9], (0..fixture::ROWS as u64).collect()] {
            rewrite_to(&from, &kept, &to, None)?;
            let expected: Vec<_> = kept.iter().map(|row| rows[*row as usize].clone()).collect();
            assert_eq!(fixture::rows(&to)?, expected);
            let (before, after) = (ParquetFile::open(&from)?, ParquetFile::open(&to)?);
            assert_eq!(after.metadata.schema(), before.metadata.schema());
            let about = |file: &ParquetFile| file.metadata.metadata().file_metadata().clone();
            assert_eq!(about(&after).schema_descr(), about(&before).schema_descr());
            assert_eq!(about(&after).key_value_metadata(), about(&before).key_value_metadata());
            assert_eq!(after.rows(), kept.len() as u64);
            for group in after.metadata.metadata().row_groups() {
                for column in group.columns() {
                    let is_body = column.column_path().string() == "body";
                    assert_eq!(column.compression() == Compression::SNAPPY, is_body);
                    assert_eq!(matches!(column.compression(), Compression::ZSTD(_)), !is_body);
                    assert!(!is_body || column.dictionary_page_offset().is_none());
                }
            }
        }
        Ok(())
    }

    #[test]
    fn annotations_become_columns() -> TestResult {
        let folder = tempfile::tempdir()?;
        let (from, to) = (folder.path().join("from.parquet"), folder.path().join("to.parquet"));
        fixture::write(&from)?;
        let kept = [1, 2, 8];
        rewrite_to(&from, &kept, &to, Some(kept.map(annotation).to_vec()))?;
        let before = fixture::rows(&from)?;
        for (row, batch) in kept.into_iter().zip(fixture::rows(&to)?) {
            let columns = batch.num_columns() - 4;
            assert_eq!(batch.project(&(0..columns).collect::<Vec<_>>())?.columns(), before[row as usize].columns());
            let expected = annotation(row);
            assert_eq!(batch["lookalike_group"].as_string::<i32>().value(0), expected.group);
            assert_eq!(batch["lookalike_role"].as_string::<i32>().value(0), expected.role);
            assert_eq!(batch["lookalike_size"].as_primitive::<ArrowInt64>().value(0) as u64, expected.size);
            let similarity = batch["lookalike_similarity"].as_primitive::<arrow_array::types::Float64Type>();
            assert_eq!(similarity.iter().next().flatten(), expected.similarity);
        }
        let again = rewrite_to(&to, &[0], &from, Some(vec![annotation(0)])).expect_err("annotated already");
        assert!(again.to_string().contains("\"lookalike_group\" already"), "{again}");
        Ok(())
    }

    #[test]
    fn row_groups_end_at_a_fixed_count_and_old_types_survive() -> TestResult {
        let folder = tempfile::tempdir()?;
        let (from, to) = (folder.path().join("from.parquet"), folder.path().join("to.parquet"));
        let schema = parse_message_type("message old { required int96 time; optional int64 number; }")?;
        let mut writer = SerializedFileWriter::new(File::create(&from)?, Arc::new(schema), Arc::default())?;
        let time = |row: u32| Int96::from(vec![row, row + 1, row + 2]);
        for start in (0..140_000_u32).step_by(50_000) {
            let rows = start..140_000.min(start + 50_000);
            let mut group = writer.next_row_group()?;
            write_column::<Int96Type, _>(&mut group, &rows.clone().map(time).collect::<Vec<_>>(), None)?;
            let levels: Vec<_> = rows.clone().map(|row| i16::from(row % 3 == 0)).collect();
            let numbers: Vec<_> = rows.filter(|row| row % 3 == 0).map(i64::from).collect();
            write_column::<Int64Type, _>(&mut group, &numbers, Some(&levels))?;
            group.close()?;
        }
        writer.close()?;
        let kept: Vec<u64> = (0..140_000).filter(|row| row % 7 != 0).collect();
        rewrite_to(&from, &kept, &to, None)?;
        let reader = SerializedFileReader::new(File::open(&to)?)?;
        let (mut times, mut numbers) = (Vec::new(), Vec::new());
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group)?;
            let mut levels = Vec::new();
            match (group.get_column_reader(0)?, group.get_column_reader(1)?) {
                (ColumnReader::Int96ColumnReader(mut first), ColumnReader::Int64ColumnReader(mut second)) => {
                    first.read_records(usize::MAX, None, None, &mut times)?;
                    second.read_records(usize::MAX, Some(&mut levels), None, &mut numbers)?;
                }
                _ => panic!("the types changed"),
            }
        }
        let group_rows: Vec<_> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
        assert_eq!(group_rows, [65_536, 120_000 - 65_536]);
        assert!(times == kept.iter().map(|row| time(*row as u32)).collect::<Vec<_>>());
        let expected = kept.iter().filter(|row| *row % 3 == 0).map(|row| *row as i64);
        assert!(numbers == expected.collect::<Vec<_>>());
        Ok(())
    }

    #[test]
    fn rows_that_do_not_exist_are_refused() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("from.parquet");
        fixture::write(&path)?;
        for kept in [&[0, 10][..], &[2, 1], &[1, 1]] {
            let error = rewrite(&path, kept, &mut Vec::new(), None).expect_err("no such rows");
            assert!(error.message().contains("which has 10"), "{error}");
        }
        let error = rewrite(&path, &[0, 1], &mut Vec::new(), Some(&mut std::iter::once(annotation(0))));
        assert!(error.is_err_and(|error| error.message().contains("fewer annotations")));
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_rows_can_be_kept(bits in 0_u64..1 << fixture::ROWS) {
            let folder = tempfile::tempdir()?;
            let (from, to) = (folder.path().join("from.parquet"), folder.path().join("to.parquet"));
            let kept: Vec<u64> = (0..fixture::ROWS as u64).filter(|row| bits >> row & 1 == 1).collect();
            let result = fixture::write(&from)
                .and_then(|()| rewrite_to(&from, &kept, &to, None))
                .and_then(|()| Ok((fixture::rows(&from)?, fixture::rows(&to)?)));
            let (before, after) = result.map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert!(after.iter().eq(kept.iter().map(|row| &before[*row as usize])));
        }
    }
}
