//! An index from the command line.

use std::process::Stdio;
use std::time::Duration;

use crate::folder::Folder;
use crate::texts::{FERRY, LATE_FERRY, LIBRARY, Numbers, corpus, is_long, jsonl};

fn with_index(flags: &str) -> Folder {
    let folder = Folder::with("a.jsonl", jsonl(&[("ferry", FERRY), ("library", LIBRARY)]));
    folder.done(&format!("index build i a.jsonl {flags}"));
    folder
}

#[test]
fn records_without_ids_replace_no_others() {
    let folder = Folder::with("p.txt", format!("{FERRY}\n{LIBRARY}\n"));
    folder.done("index build i p.txt --input-format lines");
    // Another file of that name, as every day has one.
    folder.write("p.txt", format!("{LATE_FERRY}\n"));
    let run = folder.run("index add i p.txt --input-format lines");
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("the index has an item \"p.txt:1\" already"), "{}", run.stderr);
    assert!(folder.done("index info i").text().contains("2"), "nothing was added");
    folder.write("q.txt", format!("{FERRY}\n"));
    assert_eq!(folder.done("query i q.txt --input-format lines").text(), "q.txt:1\tp.txt:1\t1.000000\n");
    // A text is called by its file: that is what it is there for.
    folder.write("t/a.txt", FERRY);
    folder.done("index build j t");
    assert!(folder.done("index add j t").stderr.contains("1 added, 1 of them in place of others"));
}

#[test]
fn build_query_add_remove() {
    let folder = with_index("");
    folder
        .write("q.jsonl", jsonl(&[("late", LATE_FERRY), ("none", "nothing like it was ever written here before now")]));
    assert_eq!(folder.done("query i q.jsonl").text(), "late\tferry\t0.866667\n");
    let run = folder.done("index add i q.jsonl");
    assert!(run.stderr.contains("2 added, 0 of them in place of others"), "{}", run.stderr);
    assert_eq!(folder.done("query i q.jsonl --limit 1").text(), "late\tlate\t1.000000\nnone\tnone\t1.000000\n");
    // The same id again replaces.
    folder.write("q.jsonl", jsonl(&[("late", LIBRARY)]));
    let run = folder.done("index add i q.jsonl");
    assert!(run.stderr.contains("1 added, 1 of them in place of others"), "{}", run.stderr);
    assert_eq!(folder.done("query i q.jsonl").text(), "late\tlibrary\t1.000000\nlate\tlate\t1.000000\n");
    assert!(folder.done("index remove i --id late").stderr.contains("1 removed, 3 items left"));
    assert_eq!(folder.done("query i q.jsonl").text(), "late\tlibrary\t1.000000\n");
    folder.done("index compact i");
    assert!(folder.done("index check i").stderr.contains("3 items"));
    let info: serde_json::Value = serde_json::from_str(folder.done("index info i --json").text()).unwrap();
    assert_eq!((&info["items"], &info["deleted"], &info["segments"]), (&3.into(), &0.into(), &1.into()));
    // Nothing is that old; everything is older than no time.
    assert!(folder.done("index remove i --older-than 1w").stderr.contains("0 removed"));
    std::thread::sleep(Duration::from_millis(5));
    assert!(folder.done("index remove i --older-than 0s").stderr.contains("3 removed, 0 items left"));
    assert_eq!(folder.run("query i q.jsonl").status, Some(1), "nothing is alike");
}

#[test]
fn a_merge_that_fails_is_told_and_nothing_is_lost() {
    let folder = Folder::with("a.jsonl", jsonl(&[("ferry", FERRY), ("late", LATE_FERRY), ("library", LIBRARY)]));
    folder.done("index build i a.jsonl -j 1");
    // Where the rest of a segment would be written anew, something stands in the way.
    let in_the_way = (0..20).map(|number| folder.path(&format!("i/segment-{number:06}.part")));
    in_the_way.for_each(|path| std::fs::create_dir(path).unwrap());
    let run = folder.done("index remove i --id ferry --id late");
    assert!(run.stderr.contains("note: all is written, but segments could not be merged"), "{}", run.stderr);
    assert!(run.stderr.contains("segment-") && run.stderr.contains("1 items left"), "{}", run.stderr);
    assert!(folder.done("index check i").stderr.contains("1 items"));
}

#[test]
fn spellings_from_standard_input() {
    let folder = Folder::with("words.txt", "stick\nstitch\nshtick\nthick\ntick\nshock\nelephant\n");
    folder.done("index build words.idx words.txt --input-format lines --exact --shingles chars:2 -t 0.5");
    let run = folder.run_with_stdin("query words.idx --input-format lines --limit 2", b"shtick\n");
    assert_eq!(run.text(), "-:1\twords.txt:3\t1.000000\n-:1\twords.txt:5\t0.600000\n", "{}", run.stderr);
    let run = folder.run_with_stdin("query words.idx --input-format lines -t 1 --measure containment", b"tick\n");
    assert_eq!(run.text(), "-:1\twords.txt:1\t1.000000\n-:1\twords.txt:3\t1.000000\n-:1\twords.txt:5\t1.000000\n");
}

#[test]
fn dedup_against_an_index_is_dedup_against_its_files() {
    let corpus = corpus(9_000);
    let lines: Vec<&str> = corpus.split_inclusive('\n').collect();
    let folder = Folder::with("old.jsonl", lines[..2500].concat());
    folder.write("new.jsonl", lines[2500..].concat());
    // The sketches of the new records take 2.5 MB, of which 1.7 MB may be in memory.
    let in_files = "-t 0.7 -j 2 --memory 60MiB";
    let unfiltered = "-t 0.7 --verify off";
    for flags in ["-t 0.7", "-t 0.7 --exact", in_files, unfiltered, "-t 0.6 --measure containment"] {
        let made = flags.replace("--memory 60MiB", "").replace("--verify off", "");
        let _ = std::fs::remove_dir_all(folder.path("i"));
        folder.done(&format!("index build i old.jsonl {made}"));
        let outputs = |against: &str| {
            folder.done(&format!("dedup new.jsonl --against {against} -o out.jsonl --dropped d.tsv {flags}"));
            (folder.text("out.jsonl"), folder.text("d.tsv"))
        };
        let expected = outputs("old.jsonl");
        assert!(expected.1.lines().count() > 1_000);
        assert!(outputs("i") == expected, "{flags}");
    }
}

#[test]
fn an_exact_index_answers_for_any_threshold() {
    let words = |from: usize, to: usize| (from..to).map(|word| format!("w{word} ")).collect::<String>();
    let folder = Folder::with("old.jsonl", jsonl(&[("old", &words(0, 40))]));
    folder.write("new.jsonl", jsonl(&[("new", &words(20, 60))]));
    folder.done("index build i old.jsonl --exact -t 0.9");
    for (measure, threshold) in [("jaccard", 0.25), ("containment", 0.4)] {
        let pairs = |against: &str| {
            let flags = format!("--exact --measure {measure} -t {threshold}");
            folder.done(&format!("pairs new.jsonl --against {against} {flags}")).text().to_owned()
        };
        assert!(pairs("old.jsonl").contains("old"), "{measure}");
        assert_eq!(pairs("i"), pairs("old.jsonl"), "{measure}");
    }
    // A short item in a long record, which shares little of itself.
    folder.write("new.jsonl", jsonl(&[("new", &words(0, 400))]));
    let contained = |against: &str| {
        let run = folder.done(&format!("pairs new.jsonl --against {against} --exact --measure containment -t 0.9"));
        run.text().to_owned()
    };
    assert!(contained("old.jsonl").contains("old"));
    assert_eq!(contained("i"), contained("old.jsonl"));
}

#[test]
fn what_was_kept_is_added() {
    let corpus = corpus(3_000);
    let lines: Vec<&str> = corpus.split_inclusive('\n').collect();
    let folder = Folder::with("1.jsonl", lines[..1000].concat());
    folder.write("2.jsonl", lines[1000..2000].concat());
    folder.write("3.jsonl", lines[2000..].concat());
    folder.write("all.jsonl", &corpus);
    folder.done("dedup all.jsonl -o expected.jsonl -t 0.7");
    folder.write("nothing.jsonl", "");
    folder.done("index build i nothing.jsonl -t 0.7");
    let mut kept = String::new();
    for part in 1..=3 {
        folder.done(&format!("dedup {part}.jsonl --against i --add -o out.jsonl -t 0.7"));
        kept += &folder.text("out.jsonl");
        folder.done("index check i");
    }
    // What comes in parts is kept as what comes at once.
    assert!(kept == folder.text("expected.jsonl"));
    // All of it was seen by now.
    folder.done("dedup all.jsonl --against i -o out.jsonl -t 0.7");
    assert_eq!(folder.text("out.jsonl"), "");
}

/// What has no ids is called by where it stands, and the next file may have the same name.
#[test]
fn what_is_added_takes_the_place_of_nothing_in_silence() {
    let record = |id: &str, text: &str| format!("{{{id}\"text\":\"{text}\"}}\n");
    let (first, second) = ("one two three four five six seven", "a b c d e f g h i j k");
    let folder = Folder::with("nothing.jsonl", "");
    folder.done("index build i nothing.jsonl");
    let add = |text: &str, id: &str| {
        let run = folder.run_with_stdin("dedup --against i --add", record(id, text).as_bytes());
        (run.status, run.stderr)
    };
    assert_eq!(add(first, "").0, Some(0));
    let (status, why) = add(second, "");
    assert!(status == Some(2) && why.contains("an item \"-:1\" already") && why.contains("--id"), "{why}");
    assert!(folder.done("index info i --json").text().contains("\"items\":1"), "nothing has changed");
    // The same again is no other.
    assert_eq!(add(first, "").0, Some(0));
    // An id is meant.
    assert_eq!(add(second, "\"id\":\"x\",").0, Some(0));
    let (status, note) = add("quite something else than all that there was before", "\"id\":\"x\",");
    assert!(status == Some(0) && note.contains("1 items of the index have the ids of kept records"), "{note}");
    assert!(folder.done("index info i --json").text().contains("\"items\":2"));
}

/// A run that was killed when all was added, or that somebody tries again, must not write that nothing is new.
#[test]
fn what_was_added_is_added_again_with_the_same_output() {
    let corpus = corpus(2_000);
    let lines: Vec<&str> = corpus.split_inclusive('\n').collect();
    let folder = Folder::with("1.jsonl", lines[..1000].concat());
    folder.write("2.jsonl", lines[1000..].concat());
    folder.write("nothing.jsonl", "");
    folder.done("index build i nothing.jsonl -t 0.7");
    let items = |folder: &Folder| folder.done("index info i --json").text().to_owned();
    let add = |part: u32| {
        let run = folder.done(&format!("dedup {part}.jsonl --against i --add -o {part}.out -t 0.7"));
        (folder.text(&format!("{part}.out")), run.stderr.contains("have been added to the index before"))
    };
    let first = add(1);
    assert!(first.0.lines().count() > 300 && !first.1);
    assert_eq!(add(1), (first.0.clone(), true));
    let second = add(2);
    assert!(second.0.lines().count() > 300 && !second.1);
    let counted = items(&folder);
    assert_eq!(add(1), (first.0.clone(), true));
    assert_eq!(add(2), (second.0, true));
    let count = |info: &str| serde_json::from_str::<serde_json::Value>(info).unwrap()["items"].clone();
    assert_eq!(count(&items(&folder)), count(&counted));
    folder.done("index check i");
    // Other content under the same name is something else.
    folder.write("1.jsonl", lines[..999].concat());
    let (out, is_known) = add(1);
    assert!(!is_known && out.is_empty(), "{out}");
}

#[test]
fn what_cannot_be_is_said() {
    let folder = with_index("");
    folder.write("other.jsonl", jsonl(&[("x", LIBRARY)]));
    let refused = |arguments: &str, why: &str| {
        let before = folder.contents();
        let run = folder.run(arguments);
        assert_eq!(run.status, Some(2), "{arguments}: {}", run.stderr);
        assert!(run.stderr.contains(why), "{arguments}: {}", run.stderr);
        assert!(folder.contents() == before, "{arguments} changed something");
    };
    refused("index build i a.jsonl", "is an index already");
    refused("index build a.jsonl other.jsonl", "no empty folder");
    refused("index add nowhere a.jsonl", "nowhere is not an index");
    refused("query a.jsonl a.jsonl", "an index is a folder");
    refused("index remove i --id nobody", "holds no record with the id \"nobody\"");
    refused("index remove i", "--older-than");
    refused("index remove i --older-than soon", "no age");
    refused("index build j missing.jsonl", "missing.jsonl");
    refused("query i a.jsonl -t 2", "out of range");
    refused("query i a.jsonl --measure containment", "--exact");
    refused("dedup other.jsonl --against i -o out.jsonl -t 0.7", "was made with other settings");
    refused("dedup other.jsonl --against a.jsonl --add -o out.jsonl", "a.jsonl is none; make one");
    refused("dedup other.jsonl --add -o out.jsonl", "--against");
    refused("dedup other.jsonl --against i --against a.jsonl -o out.jsonl", "i is an index, and records");
    refused("dedup other.jsonl --against i --within lang -o out.jsonl", "--within");
    folder.write("twice.jsonl", jsonl(&[("x", LIBRARY), ("x", FERRY)]));
    refused("index build j twice.jsonl", "stands twice");
    refused("index add i twice.jsonl", "stands twice");
    folder.write("broken.jsonl", "{\"id\": 1, \"text\": \"fine\"}\n{\"id\": 2\n");
    refused("index add i broken.jsonl", "broken.jsonl");
    assert_eq!(folder.done("query i other.jsonl").text(), "x\tlibrary\t1.000000\n");
    // Below what it was made for, it says so.
    let run = folder.done("query i other.jsonl -t 0.1");
    assert!(run.stderr.contains("made for 0.8"), "{}", run.stderr);
}

#[test]
fn an_index_that_cannot_be_written_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = with_index("");
    let set_mode = |mode| {
        std::fs::set_permissions(folder.path("i"), std::fs::Permissions::from_mode(mode)).unwrap();
        std::fs::set_permissions(folder.path("i/lock"), std::fs::Permissions::from_mode(mode & 0o666)).unwrap();
    };
    set_mode(0o555);
    assert_eq!(folder.done("query i a.jsonl").text().lines().count(), 2);
    let is_root = std::fs::write(folder.path("i/probe"), "").is_ok();
    if !is_root {
        let run = folder.run("index add i a.jsonl");
        assert!(run.status == Some(2) && run.stderr.contains("reading is enough"), "{}", run.stderr);
    }
    set_mode(0o755);
}

#[test]
fn a_killed_build_or_add_leaves_the_index_as_it_was() {
    let corpus = corpus(20_000);
    let folder = Folder::with("a.jsonl", &corpus);
    folder.write("b.jsonl", jsonl(&[("ferry", FERRY)]));
    let mut numbers = Numbers(5);
    let mut kill_while = |arguments: &str| {
        let mut child = folder.command(arguments).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(numbers.below(400)));
        child.kill().unwrap();
        child.wait().unwrap();
    };
    for _ in 0..if is_long() { 30 } else { 4 } {
        kill_while("index build i a.jsonl");
        if folder.path("i").exists() {
            assert!(folder.done("index check i").stderr.contains("20000 items"));
            std::fs::remove_dir_all(folder.path("i")).unwrap();
        }
    }
    folder.done("index build i b.jsonl");
    assert_eq!(
        folder.names(),
        ["a.jsonl", "b.jsonl", "i/", "i/lock", "i/log-000001", "i/manifest", "i/segment-000002"]
    );
    for _ in 0..if is_long() { 30 } else { 4 } {
        kill_while("index add i a.jsonl");
        let said = folder.done("index check i").stderr;
        assert!(said.contains("1 items") || said.contains("20001 items"), "{said}");
        assert!(folder.done("query i b.jsonl").text().starts_with("ferry\tferry\t1.000000"));
    }
    folder.done("index add i a.jsonl");
    folder.done("index compact i");
    assert!(folder.done("index check i").stderr.contains("20001 items"));
    assert_eq!(folder.names().len(), 7, "{:?}", folder.names());
}
