//! Any bytes as any format: records or an error, never a panic; and what is read is written again unchanged.
#![no_main]

use std::io::Write;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use lookalike_io::{Chunk, Format, Input, OnError, Parsed, ReadOptions, Reader, Rewrite, rewrite};

fuzz_target!(|data: &[u8]| {
    let Some((choice, content)) = data.split_first() else { return };
    let (_, format) = Format::NAMES[*choice as usize % Format::NAMES.len()];
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(content).expect("room for it");
    let folder = file.path().parent().unwrap_or(Path::new("."));
    let Ok(input) = Input::from_file(file.path(), Path::new("input"), Some(format), folder) else { return };
    let options = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
    let Ok(reader) = Reader::open(vec![input.clone()], options) else { return };
    let (mut chunk, mut parsed) = (Chunk::default(), Parsed::default());
    let mut bad = 0;
    loop {
        match reader.next_chunk(&mut chunk) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) => return,
        }
        if reader.parse(&chunk, &mut parsed).is_err() {
            return;
        }
        bad += parsed.bad.len();
    }
    let mut out = Vec::new();
    let is_plain = input.compression == lookalike_io::Compression::None;
    if is_plain && !matches!(format, Format::Parquet) && rewrite(&input, [], Rewrite::default(), &mut out).is_ok() {
        assert_eq!(out, content, "{bad} bad records");
    }
});
