//! A small Parquet file with a column of every shape, for the tests.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{
    Int64Builder, LargeListBuilder, ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array,
    LargeStringArray, RecordBatch, StringArray, StringViewArray, StructArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

/// What the tests return.
pub(super) type TestResult = Result<(), Box<dyn std::error::Error>>;

/// Rows in the file, in groups of 4.
pub(super) const ROWS: i64 = 10;

/// Row `n` has the text `text n`; row 3 has none, and row 5 no `meta`.
pub(super) fn write(path: &Path) -> TestResult {
    let batch = batch()?;
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(4))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_column_compression("body".into(), Compression::SNAPPY)
        .set_column_dictionary_enabled("body".into(), false)
        .set_key_value_metadata(Some(vec![KeyValue::new("made-by".into(), "a test".to_string())]))
        .build();
    let mut writer = ArrowWriter::try_new(File::create(path)?, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

/// The rows of a file, each as a batch.
pub(super) fn rows(path: &Path) -> Result<Vec<RecordBatch>, Box<dyn std::error::Error>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.with_batch_size(1).build()?;
    Ok(reader.collect::<Result<_, _>>()?)
}

fn batch() -> Result<RecordBatch, Box<dyn std::error::Error>> {
    let numbers = || 0..ROWS;
    let words = |prefix: &'static str| numbers().map(move |row| format!("{prefix} {row}"));

    let mut text = StringDictionaryBuilder::<Int32Type>::new();
    let mut tags = ListBuilder::new(StringBuilder::new());
    let mut items = LargeListBuilder::new(Int64Builder::new());
    let mut counts = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for row in numbers() {
        text.append_option((row != 3).then(|| format!("text {row}")));
        tags.values().append_value(row.to_string());
        tags.values().append_null();
        tags.values().append_value("both");
        tags.append(row != 4);
        for item in 0..row {
            items.values().append_value(item);
        }
        items.append(true);
        counts.keys().append_value("key");
        counts.values().append_value(row);
        counts.append(row % 3 != 0)?;
    }
    let meta_fields = Fields::from(vec![
        Field::new("url", DataType::Utf8, false),
        Field::new("score", DataType::Float64, true),
        Field::new("in.ner", DataType::Utf8, false),
    ]);
    let meta_columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(words("url"))),
        Arc::new(Float64Array::from_iter(numbers().map(|row| (row % 2 == 0).then_some(row as f64 / 4.0)))),
        Arc::new(StringArray::from_iter_values(words("inner"))),
    ];
    let is_present = NullBuffer::from_iter(numbers().map(|row| row != 5));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(UInt64Array::from_iter_values(numbers().map(|row| row as u64 + 100)))),
        ("meta", Arc::new(StructArray::try_new(meta_fields, meta_columns, Some(is_present))?)),
        ("text", Arc::new(text.finish())),
        ("body", Arc::new(LargeStringArray::from_iter_values(words("bödy")))),
        ("view", Arc::new(StringViewArray::from_iter_values(words("a view that is longer than twelve bytes")))),
        ("bytes", Arc::new(BinaryArray::from_iter_values(words("bytes").map(String::into_bytes)))),
        ("meta.url", Arc::new(StringArray::from_iter_values(words("dotted")))),
        ("tags", Arc::new(tags.finish())),
        ("items", Arc::new(items.finish())),
        ("flag", Arc::new(BooleanArray::from_iter(numbers().map(|row| Some(row % 2 == 0))))),
        ("day", Arc::new(Date32Array::from_iter_values(0..ROWS as i32))),
        ("when", Arc::new(TimestampMicrosecondArray::from_iter_values(numbers()).with_timezone("UTC"))),
        (
            "price",
            Arc::new(Decimal128Array::from_iter_values(numbers().map(i128::from)).with_precision_and_scale(9, 2)?),
        ),
        ("sparse", Arc::new(Int32Array::from_iter(numbers().map(|row| (row == 7).then_some(7))))),
        ("counts", Arc::new(counts.finish())),
        ("twice", Arc::new(StringArray::from_iter_values(words("one")))),
        ("twice", Arc::new(StringArray::from_iter_values(words("two")))),
    ];
    let is_nullable = |array: &ArrayRef| array.null_count() > 0;
    Ok(RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| {
        let nullable = is_nullable(&array);
        (name, array, nullable)
    }))?)
}
