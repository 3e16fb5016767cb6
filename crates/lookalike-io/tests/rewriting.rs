//! Laws of writing: what is kept leaves unchanged.

use std::io::{Read, Write};
use std::path::Path;

use lookalike_io::compression::{CompressedWriter, open_decompressed};
use lookalike_io::{
    Annotation, Chunk, Compression, Format, Input, OnError, Parsed, RawSpan, ReadOptions, Reader, Rewrite, annotate,
    rewrite,
};
use proptest::prelude::*;

fn write_file(path: &Path, content: &[u8], compression: Compression) {
    let mut writer = CompressedWriter::new(std::fs::File::create(path).unwrap(), compression);
    writer.write_all(content).unwrap();
    writer.finish().unwrap();
}

fn decompress(path: &Path) -> Vec<u8> {
    let start = std::fs::read(path).unwrap();
    let mut content = Vec::new();
    open_decompressed(path, Compression::detect(&start)).unwrap().read_to_end(&mut content).unwrap();
    content
}

fn look_at(path: &Path, format: Format) -> Input {
    Input::from_file(path, Path::new("file"), Some(format), path.parent().unwrap()).unwrap()
}

/// The spans and texts of the good records.
fn records(input: &Input, options: &ReadOptions) -> Vec<(RawSpan, String)> {
    let reader = Reader::open(vec![input.clone()], options.clone()).unwrap().with_chunk_bytes(40);
    let (mut chunk, mut parsed, mut records) = (Chunk::default(), Parsed::default(), Vec::new());
    while reader.next_chunk(&mut chunk).unwrap() {
        reader.parse(&chunk, &mut parsed).unwrap();
        for index in 0..parsed.batch.len() {
            let position = parsed.batch.numbers()[index].position();
            let span = RawSpan { position, length: parsed.raw_lengths[index].into() };
            records.push((span, format!("{:?}", parsed.batch.content(index))));
        }
    }
    records
}

/// The spans of all records, good and bad, in order.
fn spans(input: &Input, options: &ReadOptions) -> Vec<RawSpan> {
    let reader = Reader::open(vec![input.clone()], options.clone()).unwrap();
    let (mut chunk, mut parsed) = (Chunk::default(), Parsed::default());
    let mut spans: Vec<RawSpan> = records(input, options).into_iter().map(|(span, _)| span).collect();
    while reader.next_chunk(&mut chunk).unwrap() {
        reader.parse(&chunk, &mut parsed).unwrap();
        spans.extend(parsed.bad.iter().map(|bad| bad.span));
    }
    spans.sort_by_key(|span| span.position);
    spans
}

fn content(format: Format) -> BoxedStrategy<String> {
    let line = match format {
        Format::Jsonl => prop_oneof![
            3 => "[a-z]{0,9}".prop_map(|text| format!("{{\"text\":\"{text}\"}}")),
            1 => Just(" ".to_owned()),
            1 => Just("nonsense".to_owned())
        ]
        .boxed(),
        Format::Csv => {
            prop_oneof!["[a-z]{0,3},[a-z]{1,3}", "\"[a-z\n,]{0,3}\",x", Just("ragged".to_owned()), Just(String::new())]
                .boxed()
        }
        _ => "[a-z ]{0,9}".boxed(),
    };
    let head = if format == Format::Csv { "id,text\n" } else { "" };
    (any::<bool>(), prop::collection::vec((line, prop::sample::select(vec!["\n", "\r\n"])), 0..12), any::<bool>())
        .prop_map(move |(mark, lines, open_end)| {
            let mut content = format!("{}{head}", if mark { "\u{feff}" } else { "" });
            for (line, end) in &lines {
                content.push_str(line);
                content.push_str(end);
            }
            if open_end {
                content.truncate(content.trim_end_matches(['\r', '\n']).len());
            }
            content
        })
        .boxed()
}

fn format_and_content() -> impl Strategy<Value = (Format, String)> {
    prop::sample::select(vec![Format::Jsonl, Format::Csv, Format::Lines, Format::Sets])
        .prop_flat_map(|format| content(format).prop_map(move |content| (format, content)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_kept_leaves_unchanged((format, content) in format_and_content(), keep: u64) {
        let folder = tempfile::tempdir().unwrap();
        let (path, out_path) = (folder.path().join("in"), folder.path().join("out"));
        let options = ReadOptions { on_error: OnError::Skip, ..Default::default() };
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            write_file(&path, content.as_bytes(), compression);
            let input = look_at(&path, format);
            let all = records(&input, &options);
            let all_spans = spans(&input, &options);
            let bad = content.contains("nonsense") || content.contains("ragged");
            for keep in [u64::MAX, keep, 0] {
                let kept: Vec<_> = all.iter().enumerate().filter(|(index, _)| keep >> index & 1 == 1).map(|(_, record)| record.clone()).collect();
                let mut out = Vec::new();
                let left_out = all_spans.iter().copied().filter(|span| !kept.iter().any(|(kept, _)| kept == span));
                rewrite(&input, left_out, Rewrite { compression, ..Default::default() }, &mut out).unwrap();
                std::fs::write(&out_path, &out).unwrap();
                let written = decompress(&out_path);
                if keep == u64::MAX && !bad {
                    prop_assert_eq!(&written, content.as_bytes());
                }
                prop_assert_eq!(Compression::detect(&out), compression);
                let again = records(&look_at(&out_path, format), &options);
                prop_assert_eq!(
                    again.into_iter().map(|(_, text)| text).collect::<Vec<_>>(),
                    kept.into_iter().map(|(_, text)| text).collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn annotated_records_are_the_same_records((format, content) in format_and_content()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in");
        std::fs::write(&path, &content).unwrap();
        let input = look_at(&path, format);
        let options = ReadOptions { on_error: OnError::Skip, ..Default::default() };
        let all = records(&input, &options);
        let note = Annotation { group: "g,\n".into(), role: "keeper", size: 2, similarity: None };
        let mut out = Vec::new();
        let done = annotate(&input, spans(&input, &options).first().map_or(u64::MAX, |span| span.position), all.iter().map(|(span, _)| (*span, note.clone())), Rewrite::default(), &mut out);
        if matches!(format, Format::Lines | Format::Sets) {
            prop_assert!(done.unwrap_err().to_string().contains("can be annotated"));
            return Ok(());
        }
        done.unwrap();
        std::fs::write(&path, &out).unwrap();
        let options = ReadOptions { on_error: OnError::Fail, ..options };
        let again = records(&look_at(&path, format), &options);
        prop_assert_eq!(again.iter().map(|(_, text)| text).collect::<Vec<_>>(), all.iter().map(|(_, text)| text).collect::<Vec<_>>());
        let group = "lookalike_group".parse().unwrap();
        let options = ReadOptions { text: vec![if format == Format::Jsonl { "lookalike.group".parse().unwrap() } else { group }], ..options };
        for (_, text) in records(&look_at(&path, format), &options) {
            prop_assert_eq!(text, "Text(\"g,\\n\")");
        }
    }
}

#[test]
fn an_input_that_changed_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in");
    std::fs::write(&path, "{\"text\":\"a\"}\n").unwrap();
    let input = look_at(&path, Format::Jsonl);
    std::fs::write(&path, "{\"text\":\"a\"}\n{\"text\":\"b\"}\n").unwrap();
    let error = rewrite(&input, [], Rewrite::default(), &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
}

#[test]
fn files_leave_whole_and_lines_can_be_joined() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in");
    std::fs::write(&path, "\u{feff}a\nb").unwrap();
    let write = |format, how| {
        let input = look_at(&path, format);
        let mut out = Vec::new();
        rewrite(&input, [], how, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(write(Format::Text, Rewrite::default()), "\u{feff}a\nb");
    assert_eq!(write(Format::Lines, Rewrite::default()), "\u{feff}a\nb");
    assert_eq!(write(Format::Lines, Rewrite { from: 3, close_last_line: true, ..Default::default() }), "a\nb\n");
}
