//! Small memory, and runs that end before their time: the bytes are the same.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::folder::Folder;
use crate::packing::gzip;
use crate::texts::{Numbers, corpus, is_long};

/// Records: several work files for every thread.
const RECORDS: u64 = 30_000;
/// The least memory that each number of threads works with, and more. Sketches of about 10 MB stay in memory only with
/// the last.
const BUDGETS: [(u32, [&str; 3]); 3] =
    [(1, ["52MiB", "60MiB", "1GiB"]), (2, ["60MiB", "68MiB", "1GiB"]), (7, ["100MiB", "108MiB", "1GiB"])];

/// A folder with a corpus, half of it compressed, and what dedup makes of it: kept, dropped and pairs.
fn prepared() -> (Folder, Vec<Vec<u8>>) {
    let corpus = corpus(RECORDS);
    let middle = corpus[..corpus.len() / 2].rfind('\n').unwrap() + 1;
    let folder = Folder::with("in/a.jsonl", &corpus[..middle]);
    folder.write("in/b.jsonl.gz", gzip(&corpus.as_bytes()[middle..]));
    folder.done(&command(""));
    let expected = taken(&folder);
    assert!(expected[2].len() > 100_000, "{} bytes of dropped records are no test", expected[2].len());
    (folder, expected)
}

fn command(flags: &str) -> String {
    format!("dedup in -o out --dropped dropped.tsv --pairs pairs.tsv -t 0.7 --group connected {flags}")
}

/// Takes the outputs away.
fn taken(folder: &Folder) -> Vec<Vec<u8>> {
    let names = ["out/a.jsonl", "out/b.jsonl.gz", "dropped.tsv", "pairs.tsv"];
    names
        .map(|name| {
            let content = folder.read(name);
            std::fs::remove_file(folder.path(name)).unwrap();
            content
        })
        .to_vec()
}

/// The work folder, if there is one.
fn work_folder(folder: &Folder) -> Option<PathBuf> {
    let entries = folder.path("").read_dir().unwrap().map(|entry| entry.unwrap());
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(".lookalike-"))
        .map(|entry| entry.path())
        .next()
}

fn started(folder: &Folder, flags: &str) -> Child {
    folder.command(&command(flags)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Ends a program as a power cut would.
fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_same_bytes_whatever_the_memory() {
    let (folder, expected) = prepared();
    for (threads, budgets) in BUDGETS {
        for memory in budgets {
            let run = folder.done(&command(&format!("-j {threads} --memory {memory} --json")));
            assert!(taken(&folder) == expected, "-j {threads} --memory {memory}");
            assert_eq!(work_folder(&folder), None, "work files are left");
            let summary: serde_json::Value = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
            assert_eq!(summary["reused"], 0);
            let peak = summary["peak_memory"].as_u64().unwrap() >> 20;
            let allowed: u64 = memory.trim_end_matches("MiB").parse().unwrap_or(1024);
            assert!(peak <= allowed * 115 / 100, "-j {threads} --memory {memory} took {peak} MiB");
        }
    }
}

#[test]
fn an_input_that_expands_more_than_expected_still_fits() {
    // Texts that come ten times in a row, with another last word: a small part of their size when compressed.
    let mut numbers = Numbers(3);
    let texts: Vec<String> =
        corpus(3_000).lines().map(|line| line[..line.rfind('"').unwrap() - 12].to_owned()).collect();
    let lines: Vec<String> = (0..30_000)
        .map(|at| {
            let text = texts[at / 10].split("\"text\":\"").nth(1).unwrap();
            format!("{{\"id\":{at},\"text\":\"{text} w{}\"}}\n", numbers.below(1000))
        })
        .collect();
    let packed = gzip(lines.concat().as_bytes());
    // The sketches and shingles take 16 MB; 15 MB of them are allowed, and less than 8 MB expected.
    assert!(packed.len() < 1 << 20, "{} bytes are not compressed enough", packed.len());
    let folder = Folder::with("in.jsonl.gz", packed);
    let pairs = "pairs in.jsonl.gz -o pairs.tsv -j 1 --json";
    folder.done(pairs);
    let expected = folder.read("pairs.tsv");
    assert!(expected.len() > 100_000, "{} bytes of pairs are no test", expected.len());
    let run = folder.done(&format!("{pairs} --memory 85MiB"));
    assert!(folder.read("pairs.tsv") == expected);
    let summary: serde_json::Value = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
    assert!(summary["peak_memory"].as_u64().unwrap() <= 98 << 20, "{summary}");
}

#[test]
fn many_variants_of_one_text_fit() {
    const WORDS: u64 = 60;
    let mut numbers = Numbers(5);
    let lines: Vec<String> = (0..100_000)
        .map(|id| {
            let (changed, to) = (numbers.below(WORDS), numbers.below(100_000));
            let words = (0..WORDS).map(|word| if word == changed { format!("x{to}") } else { format!("w{word}") });
            format!("{{\"id\":{id},\"text\":\"{}\"}}\n", words.collect::<Vec<_>>().join(" "))
        })
        .collect();
    let folder = Folder::with("in.jsonl", lines.concat());
    let run = folder.done("dedup in.jsonl -o out.jsonl -t 0.7 -j 1 --memory 64MiB --json");
    let summary: serde_json::Value = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
    assert!(summary["kept"].as_u64().unwrap() < 100, "{summary}");
    assert!(summary["peak_memory"].as_u64().unwrap() <= 64 << 20, "{summary}");
}

#[test]
fn too_little_memory_is_refused() {
    let folder = Folder::with("in/a.jsonl", corpus(1000));
    let run = folder.run(&command("--memory 10MiB"));
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("allow at least"), "{}", run.stderr);
    let run = folder.run("pairs in --exact --memory 49MiB -j 1");
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let run = folder.run("pairs in --memory fast");
    assert!(run.stderr.contains("512MiB"), "{}", run.stderr);
}

#[test]
fn a_run_that_is_killed_goes_on_where_it_was() {
    let kills = if is_long() { 50 } else { 5 };
    let (folder, expected) = prepared();
    let mut numbers = Numbers(std::process::id().into());
    for (threads, budgets) in BUDGETS {
        for memory in budgets {
            let flags = format!("-j {threads} --memory {memory} -q");
            let began = Instant::now();
            folder.done(&command(&flags));
            let length = began.elapsed();
            assert!(taken(&folder) == expected);
            for _ in 0..kills {
                let child = started(&folder, &flags);
                std::thread::sleep(Duration::from_micros(numbers.below(length.as_micros() as u64)));
                kill(child);
            }
            folder.done(&command(&flags));
            assert!(taken(&folder) == expected, "{flags}");
            let left: Vec<String> = folder.names().into_iter().filter(|name| !name.starts_with("in/")).collect();
            assert_eq!(left, ["out/"], "{flags}");
        }
    }
}

/// Copies of one plain input are made while others are verified.
#[test]
fn a_copy_that_is_interrupted_leaves_nothing_behind() {
    let folder = Folder::with("in.jsonl", corpus(RECORDS));
    let arguments = "dedup in.jsonl -o out.jsonl -t 0.7 -q -j";
    folder.done(&format!("{arguments} 1"));
    let expected = folder.read("out.jsonl");
    std::fs::remove_file(folder.path("out.jsonl")).unwrap();
    let began = Instant::now();
    folder.done(&format!("{arguments} 2"));
    let length = began.elapsed();
    assert!(folder.read("out.jsonl") == expected);
    let mut numbers = Numbers(std::process::id().into());
    for attempt in 0..if is_long() { 50 } else { 10 } {
        std::fs::remove_file(folder.path("out.jsonl")).unwrap();
        let mut child = folder.command(&format!("{arguments} 2")).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(length / 2 + Duration::from_micros(numbers.below(length.as_micros() as u64 / 2)));
        if attempt % 2 == 0 {
            kill(child);
        } else {
            std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
            let is_done = child.wait().unwrap().success();
            let names = folder.names();
            assert_eq!(names, if is_done { vec!["in.jsonl", "out.jsonl"] } else { vec!["in.jsonl"] });
        }
        folder.done(&format!("{arguments} 2"));
        assert!(folder.read("out.jsonl") == expected);
        assert_eq!(folder.names(), ["in.jsonl", "out.jsonl"]);
    }
}

/// Starts a run, and kills it as soon as there is a work file whose name begins so.
fn kill_once_there_is(folder: &Folder, flags: &str, beginning: &str) {
    let mut child = started(folder, flags);
    let is_there = || {
        let files = work_folder(folder).and_then(|work| work.read_dir().ok()).into_iter().flatten().flatten();
        let mut names = files.map(|entry| entry.file_name().into_string().unwrap());
        names.any(|name| name.starts_with(beginning) && !name.ends_with(".part"))
    };
    while !is_there() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before there was {beginning}");
        std::thread::sleep(Duration::from_micros(200));
    }
    kill(child);
}

#[test]
fn what_is_there_is_not_done_again() {
    let (folder, expected) = prepared();
    let flags = "-j 2 --memory 60MiB";
    kill_once_there_is(&folder, flags, "candidates-");
    let run = folder.done(&command(&format!("{flags} --json")));
    assert!(run.stderr.contains("going on with an interrupted run, of which 100 % were read"), "{}", run.stderr);
    let summary: serde_json::Value = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
    assert!(summary["reused"].as_u64().unwrap() > 10, "{summary}");
    assert!(taken(&folder) == expected);
    // More memory does not mean another beginning.
    kill_once_there_is(&folder, flags, "read-");
    let run = folder.done(&command("-j 1 --memory 1GiB"));
    assert!(run.stderr.contains("going on with an interrupted run"), "{}", run.stderr);
    assert!(taken(&folder) == expected);
    kill_once_there_is(&folder, flags, "read-");
    let run = folder.done(&command("-j 1 --restart"));
    assert!(!run.stderr.contains("interrupted run"), "{}", run.stderr);
    assert!(taken(&folder) == expected);
}

#[test]
fn ctrl_c_says_how_to_go_on() {
    let (folder, expected) = prepared();
    let flags = "-j 2 --memory 60MiB";
    let child = folder.command(&command(flags)).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while work_folder(&folder).is_none_or(|work| !work.join("inputs.json").exists()) {
        std::thread::sleep(Duration::from_micros(200));
    }
    let status = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let run: crate::folder::Run = child.wait_with_output().unwrap().into();
    assert_eq!(run.status, Some(130), "{}", run.stderr);
    assert!(run.stderr.contains("nothing was written; the next attempt goes on from here"), "{}", run.stderr);
    assert!(!folder.path("out/a.jsonl").exists());
    folder.done(&command(flags));
    assert!(taken(&folder) == expected);
}

#[test]
fn ctrl_c_ends_a_long_comparison() {
    let mut random = 1u64;
    let mut text = || {
        let mut word = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("w{} ", (random >> 40) % 3000)
        };
        (0..1_500_000).map(|_| word()).collect::<String>()
    };
    let folder = Folder::with("left.txt", text());
    folder.write("right.txt", text());
    let child = folder.command("compare left.txt right.txt").stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    // Long enough to have read both, and not nearly long enough to have compared them.
    std::thread::sleep(Duration::from_millis(300));
    let status = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let asked = std::time::Instant::now();
    let run: crate::folder::Run = child.wait_with_output().unwrap().into();
    assert_eq!(run.status, Some(130), "{}", run.stderr);
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
}

#[test]
fn an_input_that_changed_is_named_and_read_again() {
    let (folder, _) = prepared();
    let flags = "-j 2 --memory 60MiB";
    kill_once_there_is(&folder, flags, "candidates-");
    let mut changed = folder.read("in/a.jsonl");
    let at = changed.iter().position(|byte| *byte == b'w').unwrap();
    changed[at] = b'v';
    folder.write("in/a.jsonl", &changed);
    let run = folder.done(&command(flags));
    assert!(run.stderr.contains("a.jsonl changed since the interrupted run"), "{}", run.stderr);
    let resumed = taken(&folder);
    folder.done(&command(""));
    assert!(taken(&folder) == resumed);
}

#[test]
fn two_runs_at_once_are_refused() {
    let (folder, expected) = prepared();
    let flags = "-j 1 --memory 52MiB";
    let child = started(&folder, flags);
    while work_folder(&folder).is_none_or(|work| !work.join("inputs.json").exists()) {
        std::thread::sleep(Duration::from_micros(200));
    }
    let second = folder.run(&command(flags));
    assert_eq!(second.status, Some(2), "{}", second.stderr);
    assert!(second.stderr.contains("is running already"), "{}", second.stderr);
    assert!(child.wait_with_output().unwrap().status.success());
    assert!(taken(&folder) == expected);
}

#[test]
fn an_output_that_does_not_fit_is_refused_before_reading() {
    // Files that claim to be larger together than the disk, and take no room.
    let folder = Folder::new();
    for name in ["in/a.jsonl", "in/b.jsonl", "in/c.jsonl", "in/d.jsonl"] {
        folder.write(name, corpus(10));
        let file = std::fs::File::options().write(true).open(folder.path(name)).unwrap();
        if file.set_len(1 << 39).is_err() {
            return;
        }
    }
    let run = folder.run("dedup in -o out");
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("the output may take 2.0 TiB"), "{}", run.stderr);
    assert!(!folder.path("out").exists());
}
