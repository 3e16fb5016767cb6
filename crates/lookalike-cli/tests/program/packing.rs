//! Inputs in wrappings: compressed, as columns, as archived pages.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use lookalike_io::parquet::{ColumnKind, ResultTable, Value};

/// One gzip member.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What all members of a gzip file hold.
pub(crate) fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    MultiGzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
    plain
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(bytes, 0).unwrap()
}

pub(crate) fn unzstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::decode_all(bytes).unwrap()
}

/// A Parquet file with the columns `id` and `text`.
pub(crate) fn write_parquet(path: &Path, records: &[(&str, &str)]) {
    let columns = [("id", ColumnKind::Text), ("text", ColumnKind::Text)];
    let mut table = ResultTable::new(File::create(path).unwrap(), &columns).unwrap();
    for (id, text) in records {
        table.push(&[Value::Text(id), Value::Text(text)]).unwrap();
    }
    table.finish().unwrap();
}

/// A WARC record with a page of plain text.
pub(crate) fn warc_record(id: &str, text: &str) -> String {
    format!(
        "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: <urn:{id}>\r\nContent-Type: text/plain\r\n\
         Content-Length: {}\r\n\r\n{text}\r\n\r\n",
        text.len()
    )
}
