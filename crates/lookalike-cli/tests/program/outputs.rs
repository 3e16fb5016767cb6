//! What must never happen to outputs: one taking the place of another, a lie in a name, a list lost on the way.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

use lookalike_io::AtomicFile;

use crate::folder::Folder;
use crate::texts::corpus;

const RECORDS: &str = "{\"id\":1,\"text\":\"a b c d e f\"}\n{\"id\":2,\"text\":\"A B C D E F\"}\n";

fn refused(folder: &Folder, arguments: &str, why: &str) {
    let before = folder.contents();
    let run = folder.run(arguments);
    assert_eq!(run.status, Some(2), "{arguments}: {run:?}");
    assert!(run.stderr.contains(why), "{arguments}: {}", run.stderr);
    assert_eq!(folder.contents(), before, "{arguments}");
}

#[test]
fn one_output_never_takes_the_place_of_another() {
    let folder = Folder::with("n.jsonl", RECORDS);
    refused(&folder, "dedup n.jsonl -o a.jsonl --dropped ./a.jsonl", "two outputs");
    folder.write("one/n.jsonl", RECORDS);
    refused(&folder, "dedup n.jsonl -o a.jsonl --pairs one/../a.jsonl --dropped d.tsv", "two outputs");
    refused(&folder, "dedup one -o out --dropped one/../one/n.jsonl", "one of the inputs");
}

#[test]
fn a_name_does_not_promise_another_format() {
    let folder = Folder::with("n.jsonl", RECORDS);
    refused(&folder, "dedup n.jsonl -o out.csv", "cannot become csv");
    refused(&folder, "pairs n.jsonl -o pairs.tsv.gz", "not compressed");
}

#[test]
fn tables_with_different_headers_do_not_share_one() {
    let folder = Folder::with("a.csv", "id,text\n1,a b c d e f\n");
    folder.write("b.csv", "text,id\nu v w x y z,2\n");
    refused(&folder, "dedup a.csv b.csv", "different headers");
    folder.write("b.csv", "id,text\r\n2,u v w x y z\n");
    let run = folder.run("dedup a.csv b.csv -q");
    assert_eq!(String::from_utf8(run.stdout).unwrap(), "id,text\n1,a b c d e f\n2,u v w x y z\n");
}

#[test]
fn standard_output_can_be_named() {
    let folder = Folder::with("n.jsonl", RECORDS);
    let named = folder.run("dedup n.jsonl -q -o -");
    assert_eq!(String::from_utf8(named.stdout).unwrap(), RECORDS.lines().next().unwrap().to_owned() + "\n");
    assert_eq!(folder.run("pairs n.jsonl -q -o -").stdout, b"1\t2\t1.000000\n");
    assert_eq!(folder.names(), ["n.jsonl"]);
}

#[test]
fn text_files_follow_the_name_of_the_output() {
    let folder = Folder::new();
    folder.write("page.txt.gz", crate::packing::gzip(b"a page"));
    assert_eq!(folder.run("dedup page.txt.gz -q -o page.txt").status, Some(0));
    assert_eq!(folder.text("page.txt"), "a page");
}

#[test]
fn large_integers_decide_who_is_kept() {
    let record = |id: &str, time: u64| {
        format!("{{\"id\":\"{id}\",\"time\":{time},\"text\":\"the same text for all of them\"}}\n")
    };
    let records =
        record("a", 9_007_199_254_740_993) + &record("b", 9_007_199_254_740_992) + &record("c", 9_007_199_254_740_994);
    let folder = Folder::with("n.jsonl", records);
    assert_eq!(folder.run("groups n.jsonl -q --keep min:time").stdout, b"b\ta\tc\n");
    assert_eq!(folder.run("groups n.jsonl -q --keep max:time").stdout, b"c\ta\tb\n");
}

#[test]
fn the_header_is_that_of_the_first_table_with_rows() {
    let folder = Folder::with("empty.csv", "");
    folder.write("header.csv", "id,text\n");
    folder.write("rows.csv", "text,id\nu v w x y z,2\n");
    for before in ["empty.csv", "header.csv", "header.csv empty.csv"] {
        let run = folder.done(&format!("dedup {before} rows.csv -q"));
        assert_eq!(run.text(), "text,id\nu v w x y z,2\n", "{before}");
    }
    assert_eq!(folder.done("dedup header.csv empty.csv -q").text(), "id,text\n");
}

#[test]
fn a_text_that_is_dropped_now_does_not_stay_from_an_earlier_run() {
    let folder = Folder::with("in/a.txt", crate::texts::FERRY);
    folder.write("in/b.txt", crate::texts::LATE_FERRY);
    let out = || folder.names().into_iter().filter(|name| name.starts_with("out/")).collect::<Vec<_>>();
    folder.done("dedup in -o out -t 0.9");
    assert_eq!(out(), ["out/", "out/a.txt", "out/b.txt"]);
    folder.done("dedup in -o out -t 0.8");
    assert_eq!(out(), ["out/", "out/a.txt"]);
}

/// With one thread everything is written once all is known; with more, one input is copied on the way.
#[test]
fn what_is_copied_on_the_way_is_what_is_written_in_the_end() {
    let corpus = corpus(8_000);
    let (old, new) = corpus.split_at(corpus[..corpus.len() / 4].rfind('\n').unwrap() + 1);
    let mut damaged: Vec<&str> = new.lines().collect();
    damaged.insert(0, "{\"text\":");
    damaged.insert(3_000, "no record");
    damaged.insert(3_001, "[1]");
    damaged.push("{\"id\":\"last\",\"text\":");
    let folder = Folder::with("new.jsonl", damaged.join("\n"));
    folder.write("old.jsonl", old);
    folder.write("empty.jsonl", "");
    let columns = |line: &str| {
        line.replacen("{\"id\":", "", 1).replacen("\"text\":", "", 1).replacen(",\"score\":", ",", 1).replace('}', "")
    };
    let table: Vec<String> = new.lines().map(columns).collect();
    folder.write("table.csv", format!("id,text,score\n{}", table.join("\n")));
    for (input, flags) in [
        ("new.jsonl", "--on-error skip"),
        ("new.jsonl", "--on-error skip --against old.jsonl"),
        ("new.jsonl", "--on-error skip --keep longest"),
        ("new.jsonl", "--on-error skip --group connected --verify estimate"),
        ("new.jsonl", "--on-error skip --target-size 5200"),
        ("table.csv", ""),
        ("empty.jsonl", ""),
    ] {
        let written = |threads: u32| {
            let out = Path::new(input).with_extension(format!("{threads}.out"));
            folder.done(&format!("dedup {input} -t 0.7 -j {threads} -o {} {flags}", out.display()));
            folder.read(out.to_str().unwrap())
        };
        let expected = written(1);
        let whole = folder.read(input).len();
        assert!(input == "empty.jsonl" || (whole / 5..whole * 9 / 10).contains(&expected.len()), "{}", expected.len());
        assert!(written(2) == expected && written(3) == expected, "{input} {flags}");
    }
}

#[test]
fn links_lead_to_outputs_and_stay() {
    let folder = Folder::with("in.jsonl", RECORDS);
    folder.write("disk/out.jsonl", "before");
    symlink("disk/out.jsonl", folder.path("out.jsonl")).unwrap();
    folder.done("dedup in.jsonl -o out.jsonl --dropped /dev/stdout");
    assert!(folder.path("out.jsonl").is_symlink());
    assert_eq!(folder.text("disk/out.jsonl").lines().count(), 1);
    // What standard output is open for is written to, not replaced.
    let log = File::create(folder.path("log")).unwrap();
    symlink("/proc/self/fd/1", folder.path("stdout")).unwrap();
    let run = folder.command("dedup in.jsonl -o out.jsonl --dropped stdout -q").stdout(log).status().unwrap();
    assert!(run.success() && folder.path("stdout").is_symlink());
    assert_eq!(folder.text("log"), "2\t1\t1.000000\n");
    // A pipe is on no disk that could be full.
    let run = folder.run("dedup in.jsonl -o /dev/stdout -q");
    assert_eq!((run.status, run.text().lines().count()), (Some(0), 1), "{}", run.stderr);
    // A link to the input is the input.
    symlink("in.jsonl", folder.path("link.jsonl")).unwrap();
    assert!(folder.run("dedup in.jsonl -o link.jsonl").stderr.contains("is one of the inputs"));
}

#[test]
fn a_second_start_leaves_the_first_ones_files_alone() {
    let folder = Folder::with("in.jsonl", RECORDS);
    let mut first = AtomicFile::create(&folder.path("out.jsonl")).unwrap();
    first.write_all(b"from the first").unwrap();
    let first = first.finish().unwrap();
    folder.done("dedup in.jsonl -o out.jsonl");
    assert_eq!(folder.text("out.jsonl").lines().count(), 1);
    first.appear().unwrap();
    assert_eq!(folder.text("out.jsonl"), "from the first");
}

#[test]
fn what_is_read_besides_is_not_written_over() {
    let folder = Folder::with("in.jsonl", RECORDS);
    folder.write("menu.txt", "home search contact imprint login");
    for command in [
        "dedup in.jsonl -o menu.txt --ignore menu.txt",
        "dedup in.jsonl -o out.jsonl --ignore menu.txt --dropped menu.txt",
        "pairs in.jsonl --ignore menu.txt -o menu.txt",
        "groups in.jsonl --ignore menu.txt -o menu.txt",
    ] {
        let run = folder.run(command);
        assert_eq!(run.status, Some(2), "{command}");
    }
    assert_eq!(folder.text("menu.txt"), "home search contact imprint login");
}

#[test]
fn an_output_that_cannot_be_is_refused_at_once() {
    let folder = Folder::with("in.jsonl", RECORDS);
    folder.write("file", "");
    folder.write("folder/file", "");
    for (output, why) in [
        ("file/out.jsonl", "is a file, and the output needs a folder"),
        ("folder", "is a folder; name a file in it"),
        ("out.jsonl.bz2", "bzip2"),
        ("/sys/out.jsonl", "cannot write"),
    ] {
        let run = folder.run(&format!("dedup in.jsonl -o {output} --progress json"));
        assert!(run.status == Some(2) && run.stderr.contains(why), "{output}: {}", run.stderr);
        assert!(!run.stderr.contains("\"stage\""), "{output}: {}", run.stderr);
    }
    assert_eq!(folder.names(), ["file", "folder/", "folder/file", "in.jsonl"]);
    // What ends in a slash is meant for a folder, whether it is there or not and however many inputs there are.
    folder.done("dedup in.jsonl -o new/");
    folder.done("dedup in.json? -o folder/");
    assert!(folder.path("new/in.jsonl").exists() && folder.path("folder/in.jsonl").exists());
}

#[test]
fn lists_can_go_to_standard_output() {
    let folder = Folder::with("in.jsonl", RECORDS);
    assert_eq!(folder.done("dedup in.jsonl -o out.jsonl --dropped -").text(), "2\t1\t1.000000\n");
    for command in ["dedup in.jsonl --dropped -", "dedup in.jsonl -o out.jsonl --dropped - --pairs -"] {
        assert!(folder.run(command).stderr.contains("only one output can go to standard output"), "{command}");
    }
    for command in ["dedup in.jsonl -o out.jsonl --report -", "pairs in.jsonl --report -"] {
        assert!(folder.run(command).stderr.contains("name a file"), "{command}");
    }
    assert_eq!(folder.names(), ["in.jsonl", "out.jsonl"]);
}

#[test]
fn what_folders_hold_besides_is_said() {
    let folder = Folder::with("in/a.jsonl", RECORDS);
    folder.write("in/part-00000", RECORDS);
    let run = folder.done("dedup in -o out");
    assert!(run.stderr.contains("passed over in folders") && run.stderr.contains("in/part-00000"), "{}", run.stderr);
    folder.write("b.jsonl", "BZh91AY&SY");
    assert!(folder.run("dedup b.jsonl").stderr.contains("made by bzip2"));
}

#[test]
fn annotations_are_not_repeated() {
    let folder = Folder::with("in.jsonl", RECORDS);
    folder.done("dedup in.jsonl --annotate -o once.jsonl");
    let run = folder.run("dedup once.jsonl --annotate -o twice.jsonl");
    assert!(run.status == Some(2) && run.stderr.contains("a member lookalike already"), "{}", run.stderr);
    folder.write("said.jsonl", r#"{"id":1,"text":"they call it \"lookalike\" for short"}"#);
    folder.done("dedup said.jsonl --annotate -o out.jsonl");
}

#[test]
fn an_output_folder_inside_of_what_is_read_is_no_input() {
    let folder = Folder::with("in/a.jsonl", RECORDS);
    for inputs in ["in", "in/**/*.jsonl"] {
        let command = format!("dedup {inputs} -o in/out/");
        folder.done(&command);
        let before = folder.contents();
        // Once more, with the outputs of before.
        let again = folder.done(&command);
        assert!(
            again.stderr.contains("passed over in folders, as they are in the output folder: 1"),
            "{}",
            again.stderr
        );
        assert_eq!(folder.contents(), before, "{inputs}");
    }
    // What is named itself is an input, wherever it is.
    refused(&folder, "dedup in/out/*.jsonl -o in/out/", "one of the inputs");
    refused(&folder, "dedup in/out/a.jsonl -o in/out/", "one of the inputs");
    let above = folder.done("dedup in/out/*.jsonl -o ./");
    assert!(!above.stderr.contains("passed over"), "{}", above.stderr);
    assert_eq!(folder.read("a.jsonl"), folder.read("in/out/a.jsonl"));
    std::fs::remove_file(folder.path("in/a.jsonl")).unwrap();
    refused(&folder, "dedup in -o in/out/", "all inputs are in the output folder");
}
