//! Results as a Parquet file.

use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::file::write_failure;
use crate::error::{Error, Result};

/// Rows gathered before they are encoded.
const ROWS_PER_BATCH: usize = 8192;

/// Rows in every row group but the last: a fixed number, so that the bytes depend on the rows alone.
const ROWS_PER_GROUP: usize = 32 * ROWS_PER_BATCH;

/// What a column of results holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Strings.
    Text,
    /// 64-bit floating-point numbers.
    Number,
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// For a column of [`ColumnKind::Text`].
    Text(&'a str),
    /// For a column of [`ColumnKind::Number`].
    Number(f64),
}

/// A table of results, written row by row; compressed with zstd.
pub struct ResultTable<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    columns: Vec<ColumnBuilder>,
    rows: usize,
}

enum ColumnBuilder {
    Text(StringBuilder),
    Number(Float64Builder),
}

impl<W: Write + Send> ResultTable<W> {
    /// Starts a table with these columns.
    ///
    /// # Errors
    /// If nothing can be written.
    pub fn new(out: W, columns: &[(&str, ColumnKind)]) -> Result<Self> {
        let fields = columns.iter().map(|(name, kind)| {
            let data_type = match kind {
                ColumnKind::Text => DataType::Utf8,
                ColumnKind::Number => DataType::Float64,
            };
            Field::new(*name, data_type, false)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROWS_PER_GROUP))
            .build();
        let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties)).map_err(unwritten)?;
        let columns = columns.iter().map(|(_, kind)| match kind {
            ColumnKind::Text => ColumnBuilder::Text(StringBuilder::new()),
            ColumnKind::Number => ColumnBuilder::Number(Float64Builder::new()),
        });
        Ok(Self { writer, schema, columns: columns.collect(), rows: 0 })
    }

    /// Adds a row: one value for each column, of its kind.
    ///
    /// # Errors
    /// If the values do not fit the columns, or nothing can be written.
    pub fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        let fits = |(column, value): (&ColumnBuilder, &Value<'_>)| {
            matches!(
                (column, value),
                (ColumnBuilder::Text(_), Value::Text(_)) | (ColumnBuilder::Number(_), Value::Number(_))
            )
        };
        if row.len() != self.columns.len() || !self.columns.iter().zip(row).all(fits) {
            return Err(Error::new("a row of results does not fit the columns of its table"));
        }
        for (column, value) in self.columns.iter_mut().zip(row) {
            match (column, value) {
                (ColumnBuilder::Text(texts), Value::Text(text)) => texts.append_value(text),
                (ColumnBuilder::Number(numbers), Value::Number(number)) => numbers.append_value(*number),
                _ => {}
            }
        }
        self.rows += 1;
        if self.rows == ROWS_PER_BATCH { self.write_rows() } else { Ok(()) }
    }

    /// Writes what is left and the footer, and gives the output back.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<W> {
        self.write_rows()?;
        self.writer.into_inner().map_err(unwritten)
    }

    fn write_rows(&mut self) -> Result<()> {
        let arrays = self.columns.iter_mut().map(|column| -> ArrayRef {
            match column {
                ColumnBuilder::Text(texts) => Arc::new(texts.finish()),
                ColumnBuilder::Number(numbers) => Arc::new(numbers.finish()),
            }
        });
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect())
            .map_err(|error| unwritten(error.into()))?;
        self.rows = 0;
        self.writer.write(&batch).map_err(unwritten)
    }
}

fn unwritten(error: parquet::errors::ParquetError) -> Error {
    match write_failure(&error) {
        Some(failure) => Error::sink(failure),
        None => Error::new(format!("the Parquet table cannot be written ({error})"))
            .advise("check the space that is left where it goes"),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Float64Type;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;

    #[test]
    fn what_is_pushed_can_be_read() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let mut table = ResultTable::new(
            tempfile::tempfile()?,
            &[("left", ColumnKind::Text), ("right", ColumnKind::Text), ("similarity", ColumnKind::Number)],
        )?;
        for row in 0..20_000 {
            table.push(&[Value::Text(&row.to_string()), Value::Text("é"), Value::Number(f64::from(row))])?;
        }
        assert!(table.push(&[Value::Text("too few")]).is_err());
        assert!(table.push(&[Value::Number(1.0), Value::Text("wrong"), Value::Number(1.0)]).is_err());
        let file = table.finish()?;
        let mut row = 0_u32;
        for batch in ParquetRecordBatchReaderBuilder::try_new(file)?.build()? {
            let batch = batch?;
            for index in 0..batch.num_rows() {
                assert_eq!(batch.column(0).as_string::<i32>().value(index), row.to_string());
                assert_eq!(batch.column(2).as_primitive::<Float64Type>().value(index), f64::from(row));
                row += 1;
            }
        }
        assert_eq!(row, 20_000);
        Ok(())
    }
}
