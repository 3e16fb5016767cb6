//! `dedup` stage by stage, in parts.

use std::process::Stdio;

use crate::folder::{Folder, Run};
use crate::packing::gzip;
use crate::texts::{corpus, is_long};

const RECORDS: u64 = 12_000;
const FLAGS: &str = "in -o out --dropped dropped.tsv -t 0.7";

fn prepared() -> Folder {
    let corpus = corpus(RECORDS);
    let lines: Vec<&str> = corpus.split_inclusive('\n').collect();
    let folder = Folder::with("in/a.jsonl", lines[..5000].concat());
    folder.write("in/b.jsonl.gz", gzip(lines[5000..8000].concat().as_bytes()));
    folder.write("in/c.jsonl", lines[8000..].concat());
    folder
}

/// All stages but the last.
fn find(folder: &Folder) {
    for shard in ["3/3", "1/3", "2/3", "1/3"] {
        folder.done(&format!("stage sketch --shard {shard} {FLAGS} -j 2"));
    }
    for shard in ["1/2", "2/2"] {
        folder.done(&format!("stage band --shard {shard} {FLAGS} -j 1"));
    }
    for shard in ["2/2", "1/2", "2/2"] {
        folder.done(&format!("stage verify --shard {shard} {FLAGS}"));
    }
    let said = folder.done(&format!("stage group {FLAGS} --memory 64MiB -j 1")).stderr;
    assert!(said.contains(&format!("{RECORDS} records:")), "{said}");
}

fn outputs(folder: &Folder) -> Vec<Vec<u8>> {
    ["out/a.jsonl", "out/b.jsonl.gz", "out/c.jsonl", "dropped.tsv"].map(|name| folder.read(name)).to_vec()
}

fn expected(folder: &Folder) -> Vec<Vec<u8>> {
    folder.done(&format!("dedup {FLAGS}"));
    let expected = outputs(folder);
    std::fs::remove_dir_all(folder.path("out")).unwrap();
    std::fs::remove_file(folder.path("dropped.tsv")).unwrap();
    expected
}

fn work_files(folder: &Folder) -> Vec<String> {
    folder.names().into_iter().filter(|name| name.starts_with(".lookalike-") && !name.ends_with('/')).collect()
}

#[test]
fn the_stages_end_with_the_bytes_of_dedup() {
    let folder = prepared();
    let expected = expected(&folder);
    find(&folder);
    assert!(!folder.path("out").exists());
    folder.done(&format!("stage write --shard 2/2 {FLAGS}"));
    assert!(folder.path("out/b.jsonl.gz").exists() && !folder.path("out/a.jsonl").exists());
    folder.done(&format!("stage write --shard 1/2 {FLAGS}"));
    assert!(outputs(&folder) == expected);
    // And dedup goes on from them.
    let run = folder.done(&format!("dedup {FLAGS}"));
    assert!(run.stderr.contains("of which 100 % were read"), "{}", run.stderr);
    assert!(outputs(&folder) == expected);
    assert!(work_files(&folder).is_empty());
}

#[test]
fn parts_run_at_the_same_time_and_may_overlap() {
    let folder = prepared();
    let expected = expected(&folder);
    for stage in ["sketch", "band", "verify", "write"] {
        // All of it three times over, at once.
        let started: Vec<_> = (0..3)
            .map(|_| folder.command(&format!("stage {stage} {FLAGS} -q")).stderr(Stdio::piped()).spawn().unwrap())
            .collect();
        for child in started {
            let run: Run = child.wait_with_output().unwrap().into();
            assert_eq!(run.status, Some(0), "{stage}: {}", run.stderr);
        }
    }
    assert!(outputs(&folder) == expected);
}

#[test]
fn a_flipped_byte_in_any_work_file_changes_nothing() {
    let folder = prepared();
    let expected = expected(&folder);
    find(&folder);
    let files = work_files(&folder);
    for kind in ["read-", "band-", "candidates-", "alike-", "groups", "lost", "inputs.json"] {
        assert!(files.iter().any(|name| name.contains(&format!("/{kind}"))), "no {kind} among {files:?}");
    }
    let before = folder.contents();
    // Of files that are many, all only if there is time.
    let is_tried = |name: &String| {
        is_long() || name.contains("/read-") || !["1", "2", "3", "6", "7", "9"].iter().any(|end| name.ends_with(end))
    };
    for name in files.iter().filter(|name| !before[*name].is_empty() && is_tried(name)) {
        for share in [0, 40, 99] {
            let mut damaged = before[name].clone();
            let at = damaged.len() * share / 100;
            damaged[at] ^= 0x10;
            folder.write(name, &damaged);
            folder.done(&format!("dedup {FLAGS} -q"));
            assert!(outputs(&folder) == expected, "{name} with byte {at} flipped");
            for file in &files {
                folder.write(file, &before[file]);
            }
        }
        // Half of a file is no file.
        folder.write(name, &before[name][..before[name].len() / 2]);
        folder.done(&format!("dedup {FLAGS} -q"));
        assert!(outputs(&folder) == expected, "half of {name}");
        for file in &files {
            folder.write(file, &before[file]);
        }
    }
}

#[test]
fn what_cannot_be_is_said() {
    let folder = prepared();
    let refused = |arguments: &str, why: &str| {
        let run = folder.run(arguments);
        assert_eq!(run.status, Some(2), "{arguments}: {}", run.stderr);
        assert!(run.stderr.contains(why), "{arguments}: {}", run.stderr);
    };
    refused(&format!("stage band {FLAGS}"), "run `lookalike stage sketch`");
    assert!(work_files(&folder).is_empty());
    folder.done(&format!("stage sketch --shard 1/2 {FLAGS}"));
    refused(&format!("stage band {FLAGS}"), "run `lookalike stage sketch`");
    refused(&format!("stage group --shard 1/2 {FLAGS}"), "leave --shard out");
    refused(&format!("stage sketch --shard 3/2 {FLAGS}"), "2/5");
    refused(&format!("stage sketch --restart {FLAGS}"), "remove ");
    refused(&format!("stage sketch {FLAGS} --exact"), "in stages");
    refused("stage sketch in", "-o or --tmp");
    folder.write("in/c.jsonl", corpus(10));
    refused(&format!("stage sketch --shard 2/2 {FLAGS}"), "c.jsonl changed since the first stage");
}

#[test]
fn templates_are_ignored_by_every_stage() {
    let folder = Folder::with("menu.txt", "home news sport weather travel contact");
    let record =
        |id: u64, text: &str| format!("{{\"id\":{id},\"text\":\"home news sport weather travel contact {text}\"}}\n");
    folder.write("in.jsonl", record(1, "a b c") + &record(2, "d e f") + &record(3, "a b c"));
    let flags = "in.jsonl -o out.jsonl --ignore menu.txt -t 0.3";
    folder.done(&format!("dedup {flags}"));
    let expected = folder.text("out.jsonl");
    std::fs::remove_file(folder.path("out.jsonl")).unwrap();
    for stage in ["sketch", "band", "verify", "group", "write"] {
        folder.done(&format!("stage {stage} {flags}"));
    }
    assert_eq!(folder.text("out.jsonl"), expected);
    assert_eq!(expected.lines().count(), 2);
}

#[test]
fn standard_output_is_not_written_in_parts() {
    let folder = Folder::with("in.jsonl", corpus(20));
    folder.done("stage sketch in.jsonl --tmp work");
    let run = folder.run("stage write --shard 1/2 in.jsonl --tmp work");
    assert_eq!(run.status, Some(2), "{run:?}");
    assert!(run.stdout.is_empty() && run.stderr.contains("in one part"), "{}", run.stderr);
}
