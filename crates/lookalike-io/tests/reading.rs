//! Laws of reading: how the bytes are cut, compressed and shared among threads never changes the records.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use lookalike::Content;
use lookalike_io::compression::CompressedWriter;
use lookalike_io::{Chunk, Compression, Error, Format, Inputs, OnError, Parsed, ReadOptions, Reader, read_all};
use proptest::prelude::*;

/// What is told about a record: input, position, content, id, raw length, length.
type Told = (usize, u64, String, Option<String>, u32);

fn tell(parsed: &Parsed, told: &mut Vec<Told>) {
    for index in 0..parsed.batch.len() {
        let number = parsed.batch.numbers()[index];
        let content = match parsed.batch.content(index) {
            Content::Text(text) => format!("text {text}"),
            Content::Set(items) => format!("set {items:?}"),
        };
        let id = parsed.ids.get(index).map(str::to_owned);
        told.push((number.input(), number.position(), content, id, parsed.raw_lengths[index]));
    }
}

fn write_file(path: &Path, content: &[u8], compression: Compression) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = CompressedWriter::new(file, compression);
    let middle = content.len() / 2;
    writer.write_all(&content[..middle]).unwrap();
    if compression != Compression::None {
        writer.end_block().unwrap();
    }
    writer.write_all(&content[middle..]).unwrap();
    writer.finish().unwrap();
}

fn open(paths: &[PathBuf], options: &ReadOptions, chunk_bytes: usize) -> Reader {
    let inputs = Inputs::resolve(paths, options.format, &std::env::temp_dir()).unwrap();
    Reader::open(inputs, options.clone()).unwrap().with_chunk_bytes(chunk_bytes)
}

fn read(paths: &[PathBuf], options: &ReadOptions, chunk_bytes: usize) -> Result<(Vec<Told>, Vec<u64>), String> {
    let reader = open(paths, options, chunk_bytes);
    let (mut chunk, mut parsed) = (Chunk::default(), Parsed::default());
    let (mut told, mut bad, mut order, mut file_bytes) = (Vec::new(), Vec::new(), None, 0);
    while reader.next_chunk(&mut chunk).map_err(|error| error.to_string())? {
        assert!(order < Some(chunk.order), "one thread reads in order");
        order = Some(chunk.order);
        file_bytes += chunk.file_bytes;
        reader.parse(&chunk, &mut parsed).map_err(|error| error.to_string())?;
        tell(&parsed, &mut told);
        bad.extend(parsed.bad.iter().map(|bad| bad.error.place().unwrap().byte.unwrap()));
    }
    assert!(file_bytes <= reader.inputs().iter().map(|input| input.size).sum::<u64>());
    Ok((told, bad))
}

/// Lines that are records, blank, broken, long, with and without CR.
fn content() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[a-z \"\\\\é\n]{0,20}".prop_map(|text| serde_json::json!({"id": 1, "text": text}).to_string()),
        1 => "[ \t\r]{0,3}",
        1 => "a,\"[a\n,]{0,9}\"",
        1 => "[a-c,]{0,5}",
        1 => "é{200}",
    ];
    (any::<bool>(), prop::collection::vec((line, prop_oneof![Just("\n"), Just("\r\n")]), 0..12), any::<bool>())
        .prop_map(|(mark, lines, end)| {
            let mut content = if mark { "\u{feff}".to_owned() } else { String::new() };
            for (line, end) in lines {
                content.push_str(&line);
                content.push_str(end);
            }
            if end {
                content.push_str("{\"text\":\"last\"}");
            }
            content
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn cutting_and_compression_do_not_matter(content in content(), format in prop::sample::select(vec![Format::Jsonl, Format::Lines, Format::Sets, Format::Csv, Format::Text])) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        // A header that no generated row can be, where the format has one.
        let content = if format == Format::Csv { format!("id,text\n{}", content.trim_start_matches('\u{feff}')) } else { content };
        let options = ReadOptions { format: Some(format), on_error: OnError::Skip, ..Default::default() };
        write_file(&path, content.as_bytes(), Compression::None);
        let expected = read(std::slice::from_ref(&path), &options, 1 << 20).unwrap();
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            write_file(&path, content.as_bytes(), compression);
            for chunk_bytes in [1, 7, 64, 1000] {
                let told = read(std::slice::from_ref(&path), &options, chunk_bytes).unwrap();
                prop_assert_eq!(&told, &expected, "{:?}, {} bytes", compression, chunk_bytes);
            }
        }
        // Every byte from the first record on belongs to a record, as long as all are good.
        let (told, bad) = &expected;
        if let (Some(first), true) = (told.first(), bad.is_empty()) {
            let covered: u64 = told.iter().map(|record| u64::from(record.4)).sum();
            prop_assert_eq!(first.1 + covered, content.len() as u64);
        }
    }
}

#[test]
fn threads_do_not_matter_and_the_earliest_error_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> =
        ["a.jsonl", "b.jsonl.gz", "c.jsonl"].iter().map(|name| folder.path().join(name)).collect();
    for (file, path) in paths.iter().enumerate() {
        let lines: String = (0..2000).map(|line| format!("{{\"text\":\"text {line} of {file}\"}}\n")).collect();
        let compression = if file == 1 { Compression::Gzip } else { Compression::None };
        write_file(path, lines.as_bytes(), compression);
    }
    let (expected, _) = read(&paths, &ReadOptions::default(), 512).unwrap();
    for threads in [1, 3, 8] {
        let reader = open(&paths, &ReadOptions::default(), 512);
        let states =
            read_all::<_, Error, _, _>(&reader, threads, &AtomicBool::new(false), Vec::new, |told, chunk, parsed| {
                let mut of_chunk = Vec::new();
                tell(parsed, &mut of_chunk);
                told.push((chunk.order, of_chunk));
                Ok(())
            });
        let mut told: Vec<_> = states.unwrap().into_iter().flatten().collect();
        told.sort();
        assert_eq!(told.into_iter().flat_map(|(_, told)| told).collect::<Vec<_>>(), expected);
    }

    // Many records are bad; whoever gets there first, the first of them is told.
    let mut lines: Vec<String> = (0..2000).map(|line| format!("{{\"text\":\"text {line}\"}}\n\n")).collect();
    for bad in (700..2000).step_by(3) {
        lines[bad] = "{\"text\":1}\n".into();
    }
    std::fs::write(&paths[2], lines.concat()).unwrap();
    let mut told = std::collections::HashSet::new();
    for _ in 0..20 {
        let reader = open(&paths, &ReadOptions::default(), 300);
        let result = read_all::<(), Error, _, _>(&reader, 4, &AtomicBool::new(false), || (), |(), _, _| Ok(()));
        told.insert(result.unwrap_err().to_string());
    }
    assert_eq!(told.len(), 1, "{told:?}");
    let told = told.into_iter().next().unwrap();
    assert!(told.contains("c.jsonl, record 701 (byte "), "{told}");
}

/// Shards of all kinds that are read from front to back.
fn write_shards(folder: &Path, count: usize) -> Vec<PathBuf> {
    let shard = |shard: usize| {
        let name = ["jsonl.gz", "csv", "jsonl.zst", "jsonl", "csv.gz"][shard % 5];
        let path = folder.join(format!("{shard:02}.{name}"));
        let rows = (0..300 + 10 * shard).map(|row| match name.starts_with("csv") {
            true => format!("{row},text {row} of {shard}\n"),
            false => format!("{{\"id\":{row},\"text\":\"text {row} of {shard}\"}}\n"),
        });
        let header = if name.starts_with("csv") { "id,text\n" } else { "" };
        let content = header.to_owned() + &rows.collect::<String>();
        write_file(&path, content.as_bytes(), Compression::by_name(&path).unwrap_or_default());
        path
    };
    (0..count).map(shard).collect()
}

#[test]
fn many_shards_are_read_in_order_by_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let paths = write_shards(folder.path(), 17);
    let (expected, _) = read(&paths, &ReadOptions::default(), 1 << 20).unwrap();
    assert_eq!(expected.len(), (0..17).map(|shard| 300 + 10 * shard).sum::<usize>());
    for threads in [1, 2, 7] {
        let reader = open(&paths, &ReadOptions::default(), 700);
        let told =
            read_all::<_, Error, _, _>(&reader, threads, &AtomicBool::new(false), Vec::new, |told, chunk, parsed| {
                let mut of_chunk = Vec::new();
                tell(parsed, &mut of_chunk);
                told.push((chunk.order, of_chunk));
                Ok(())
            });
        let mut told: Vec<_> = told.unwrap().into_iter().flatten().collect();
        told.sort_by_key(|(order, _)| *order);
        assert!(told.into_iter().flat_map(|(_, told)| told).eq(expected.iter().cloned()), "{threads} threads");
    }
}

#[test]
fn of_several_broken_shards_the_earliest_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let paths = write_shards(folder.path(), 17);
    let tell_error = || {
        let errors = (0..30).map(|round| {
            let reader = open(&paths, &ReadOptions::default(), 700);
            let threads = [2, 7][round % 2];
            let result =
                read_all::<(), Error, _, _>(&reader, threads, &AtomicBool::new(false), || (), |(), _, _| Ok(()));
            result.unwrap_err().to_string()
        });
        let mut errors: Vec<String> = errors.collect();
        errors.dedup();
        assert_eq!(errors.len(), 1, "{errors:?}");
        errors.remove(0)
    };
    // Later shards break off at their very beginning, earlier ones at their end: they are reached last.
    for (shard, share) in [(15, 10), (12, 50), (10, 95)] {
        let whole = std::fs::read(&paths[shard]).unwrap();
        std::fs::write(&paths[shard], &whole[..whole.len() * share / 100]).unwrap();
    }
    let told = tell_error();
    assert!(told.contains("10.jsonl.gz") && told.contains("ends too early"), "{told}");
    let mut rows = std::fs::read_to_string(&paths[6]).unwrap();
    rows.push_str("a row of one field\n");
    std::fs::write(&paths[6], rows).unwrap();
    let told = tell_error();
    assert!(told.contains("06.csv, record 361"), "{told}");
    std::fs::write(&paths[4], "no header,at all\n").unwrap();
    let told = tell_error();
    assert!(told.contains("04.csv.gz"), "{told}");
}

#[test]
fn reading_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, "{\"text\":\"x\"}\n".repeat(10_000)).unwrap();
    let reader = open(&[path], &ReadOptions::default(), 64);
    let cancel = AtomicBool::new(false);
    let seen = Mutex::new(0);
    let result = read_all::<(), Error, _, _>(
        &reader,
        2,
        &cancel,
        || (),
        |(), _, _| {
            let mut seen = seen.lock().unwrap();
            *seen += 1;
            cancel.store(*seen > 5, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        },
    );
    assert!(result.unwrap_err().is_cancelled());
    assert!(*seen.lock().unwrap() < 20);
}

#[test]
fn damage_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl.gz");
    write_file(&path, "{\"text\":\"some text\"}\n".repeat(100_000).as_bytes(), Compression::Gzip);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 100]).unwrap();
    let error = read(&[path], &ReadOptions::default(), 1 << 16).unwrap_err();
    assert!(error.contains("a.jsonl.gz") && error.contains("ends too early"), "{error}");
}

#[test]
fn zeros_behind_gzip_members_are_filling() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one.jsonl.gz"), folder.path().join("two.jsonl.gz"));
    write_file(&one, b"{\"text\":\"one\"}\n", Compression::Gzip);
    write_file(&two, b"{\"text\":\"two\"}\n", Compression::Gzip);
    let [member, other] = [&one, &two].map(|path| std::fs::read(path).unwrap());
    let expected = read(&[one.clone(), two], &ReadOptions::default(), 1 << 16).unwrap().0.len();
    for filling in [0, 1, 700, 1 << 20] {
        let filling = vec![0; filling];
        std::fs::write(&one, [&member[..], &filling, &other, &filling].concat()).unwrap();
        assert_eq!(read(std::slice::from_ref(&one), &ReadOptions::default(), 1 << 16).unwrap().0.len(), expected);
        std::fs::write(&one, [&member[..], &filling, b"neither zeros nor gzip"].concat()).unwrap();
        let error = read(std::slice::from_ref(&one), &ReadOptions::default(), 1 << 16).unwrap_err();
        assert!(error.contains("is damaged"), "{error}");
    }
}

#[test]
fn a_csv_error_counts_rows_not_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "id,text\n1,\"a\nb\nc\"\n\n2,x\n3\n").unwrap();
    let error = read(&[path], &ReadOptions::default(), 4).unwrap_err();
    assert!(error.contains("a.csv, record 3 (byte 23): the row has 1 fields"), "{error}");
}
