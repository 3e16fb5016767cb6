//! The same records and settings give the same bytes, whatever the threads and the wrapping.

use crate::folder::Folder;
use crate::packing::{gunzip, gzip, unzstd, zstd};
use crate::texts::corpus;

/// Enough for the exact comparison of all.
const FEW: u64 = 4_000;
/// Enough for several chunks to be read at once, and for several blocks of the compressed outputs.
const MANY: u64 = 30_000;

/// Everything that a run of dedup writes; the records are wrapped as the input is.
fn outputs(folder: &Folder, input: &str, flags: &str) -> [Vec<u8>; 3] {
    let lists = "--dropped dropped.tsv --pairs pairs.parquet";
    let command = format!("dedup {input} {lists} --keep max:score -t 0.7 {flags}");
    let records = if input.ends_with(".gz") || input.ends_with(".zst") {
        folder.done(&format!("{command} -o out-{input}"));
        folder.read(&format!("out-{input}"))
    } else {
        folder.done(&command).stdout
    };
    [records, folder.read("dropped.tsv"), folder.read("pairs.parquet")]
}

#[test]
fn threads_and_wrappings_do_not_matter() {
    let corpus = corpus(MANY);
    let folder = Folder::with("in.jsonl", &corpus);
    let expected = outputs(&folder, "in.jsonl", "-j 1");
    assert!(expected[0].len() > 5 << 20, "{} bytes are one block", expected[0].len());
    let dropped = expected[1].iter().filter(|byte| **byte == b'\n').count();
    assert!((7_500..15_000).contains(&dropped), "{dropped} dropped records are no test");
    for threads in [2, 7] {
        assert!(outputs(&folder, "in.jsonl", &format!("-j {threads}")) == expected, "{threads} threads");
    }
    let (first, second) = corpus.as_bytes().split_at(corpus.len() / 3);
    folder.write("in.jsonl.gz", [gzip(first), gzip(second)].concat());
    folder.write("in.jsonl.zst", zstd(corpus.as_bytes()));
    let [packed, dropped, pairs] = outputs(&folder, "in.jsonl.gz", "-j 1");
    assert!([gunzip(&packed), dropped, pairs] == expected, "gzip");
    for threads in [2, 7] {
        let again = &outputs(&folder, "in.jsonl.gz", &format!("-j {threads}"))[0];
        assert!(again == &packed, "gzip on {threads} threads");
    }
    let [packed, dropped, pairs] = outputs(&folder, "in.jsonl.zst", "-j 1");
    assert!([unzstd(&packed), dropped, pairs] == expected, "zstd");
    for threads in [2, 7] {
        let again = &outputs(&folder, "in.jsonl.zst", &format!("-j {threads}"))[0];
        assert!(again == &packed, "zstd on {threads} threads");
    }
}

#[test]
fn compressed_shards_are_the_same_on_any_number_of_threads() {
    let corpus = corpus(MANY);
    let folder = Folder::with("in.jsonl", &corpus);
    let lines: Vec<&str> = corpus.split_inclusive('\n').collect();
    // One of several blocks, and several of one.
    let ends = [0, 16_000, 20_000, 20_001, 24_000, MANY as usize];
    let names: Vec<String> = (1..ends.len())
        .map(|shard| {
            let content = lines[ends[shard - 1]..ends[shard]].concat().into_bytes();
            let (name, bytes) = match shard % 2 {
                0 => (format!("{shard}.jsonl.gz"), gzip(&content)),
                _ => (format!("{shard}.jsonl.zst"), zstd(&content)),
            };
            folder.write(&format!("shards/{name}"), bytes);
            name
        })
        .collect();
    let expected = folder.done("dedup in.jsonl -t 0.7 -j 1").stdout;
    let run = |threads: u64| -> Vec<Vec<u8>> {
        folder.done(&format!("dedup shards -o out{threads} -t 0.7 -j {threads}"));
        names.iter().map(|name| folder.read(&format!("out{threads}/{name}"))).collect()
    };
    let packed = run(1);
    let unpacked = packed.iter().zip(&names).flat_map(|(bytes, name)| match name.ends_with(".gz") {
        true => gunzip(bytes),
        false => unzstd(bytes),
    });
    assert!(unpacked.eq(expected), "the shards hold what one file holds");
    for threads in [2, 7] {
        assert!(run(threads) == packed, "{threads} threads");
    }
}

#[test]
fn a_collection_in_pieces_gives_the_same_answer() {
    let corpus = corpus(FEW);
    let folder = Folder::with("in.jsonl", &corpus);
    let lines: Vec<&str> = corpus.split_inclusive('\n').collect();
    for (piece, lines) in lines.chunks(1_500).enumerate() {
        folder.write(&format!("pieces/{piece}.jsonl"), lines.concat());
    }
    let [whole, dropped, pairs] = outputs(&folder, "in.jsonl", "");
    assert!(outputs(&folder, "pieces", "") == [whole.clone(), dropped, pairs]);
    folder.done("dedup pieces -o out --keep max:score -t 0.7");
    let joined: Vec<u8> = (0..3).flat_map(|piece| folder.read(&format!("out/{piece}.jsonl"))).collect();
    assert!(joined == whole);
}

#[test]
fn sketches_with_much_recall_find_what_the_exact_comparison_finds() {
    let folder = Folder::with("in.jsonl", corpus(FEW));
    for threshold in [0.5, 0.8] {
        let exact = folder.done(&format!("pairs in.jsonl -t {threshold} --exact")).stdout;
        assert!(exact.len() > 10_000, "there is something to find at {threshold}");
        let sketched = folder.done(&format!("pairs in.jsonl -t {threshold} --recall 0.99999")).stdout;
        assert!(exact == sketched, "at {threshold}");
    }
}

#[test]
fn what_was_cleaned_is_clean() {
    let folder = Folder::with("in.jsonl", corpus(FEW));
    for keep in ["first", "longest", "min:score"] {
        folder.done(&format!("dedup in.jsonl -o once.jsonl --exact --keep {keep}"));
        folder.done(&format!("dedup once.jsonl -o twice.jsonl --exact --keep {keep}"));
        assert!(folder.read("once.jsonl") == folder.read("twice.jsonl"), "--keep {keep}");
        assert!(folder.read("once.jsonl").len() < folder.read("in.jsonl").len());
        assert_eq!(folder.run("dedup once.jsonl --check --exact").status, Some(0));
    }
}
