//! What cannot be used: every case ends with status 2 and one line that says what, where and what to do, and leaves
//! everything as it was.

use std::fs::File;

use crate::folder::{Folder, Run};
use crate::packing::{gzip, write_parquet, zstd};

const GOOD: &str = "{\"id\":\"a\",\"text\":\"a good record with a handful of words\"}\n";

/// The line that says what went wrong, of a run that must have refused.
fn refusal(run: &Run) -> &str {
    assert_eq!(run.status, Some(2), "{run:?}");
    assert!(run.stdout.is_empty(), "something was written before the error: {run:?}");
    let line = run.stderr.lines().find(|line| line.starts_with("error: "));
    line.unwrap_or_else(|| panic!("no line starts with error: {run:?}"))
}

/// Runs the program, which must refuse in these words and leave the folder as it was.
#[track_caller]
fn refused(folder: &Folder, arguments: &str, words: &[&str]) {
    let before = folder.contents();
    let run = folder.run(arguments);
    let line = refusal(&run);
    for word in words {
        assert!(line.contains(word), "lookalike {arguments}\n  says {line}\n  without {word}");
    }
    assert_eq!(folder.contents(), before, "lookalike {arguments} changed the folder");
}

#[test]
fn a_missing_file() {
    let folder = Folder::with("good.jsonl", GOOD);
    for command in ["dedup", "pairs", "groups", "audit"] {
        refused(&folder, &format!("{command} good.jsonl gone.jsonl"), &["gone.jsonl", "No such file", "spelling"]);
    }
    refused(&folder, "dedup gone.jsonl -o out.jsonl --dropped dropped.tsv", &["gone.jsonl"]);
    refused(&folder, "dedup good.jsonl --against gone.jsonl -o out.jsonl", &["gone.jsonl"]);
    refused(&folder, "compare good.jsonl gone.txt", &["gone.txt", "spelling"]);
    refused(&folder, "dedup g*.csv -o out.csv", &["no file matches g*.csv", "check the pattern"]);
    refused(&folder, "dedup s3://bucket/a.jsonl -o out.jsonl", &["only files are read", "(-)"]);
    refused(&folder, "dedup good.jsonl --against gone.idx --add -o out.jsonl", &["gone.idx is none", "index build"]);
}

#[test]
fn skipped_records_are_listed() {
    let folder = Folder::with("in.jsonl", format!("{GOOD}{{}}\n").repeat(30).replace("\"id\":\"a\",", ""));
    let run = folder.done("dedup in.jsonl --on-error skip -o out.jsonl");
    let listed: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("skipped: ")).collect();
    assert_eq!((listed.len(), listed[20]), (21, "skipped: 10 more (--json lists all)"), "{listed:?}");
    assert!(listed[0].contains("in.jsonl, record 2") && !listed[0].contains("--on-error"), "{}", listed[0]);
    let run = folder.done("dedup in.jsonl --on-error skip -o out.jsonl --json --target-size 1");
    let summary: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    let skipped = summary["skipped"].as_array().unwrap();
    assert_eq!((skipped.len(), &summary["bad"]), (30, &30.into()));
    assert!(skipped[29].as_str().unwrap().contains("in.jsonl, record 60"), "{}", skipped[29]);
    // What was chosen, and is worth knowing, is there too.
    assert_eq!(summary["threshold"], 1.0);
    assert!(summary["notes"][0].as_str().unwrap().contains("a threshold of 1 keeps 1 records"), "{summary}");
}

#[test]
fn a_folder_without_readable_files() {
    let folder = Folder::with("odd/picture.bin", "x");
    folder.write("odd/.hidden.jsonl", GOOD);
    refused(&folder, "dedup odd -o out", &["the folder odd holds nothing to read", "--input-format"]);
}

#[test]
fn a_broken_json_line() {
    let folder = Folder::with("in.jsonl", format!("{GOOD}{{\"text\":\"never closed\n{GOOD}"));
    let byte = format!("(byte {})", GOOD.len());
    refused(&folder, "dedup in.jsonl -o out.jsonl", &["in.jsonl, record 2", &byte, "not a JSON object", "--on-error"]);
}

#[test]
fn a_missing_field() {
    let folder = Folder::with("in.jsonl", format!("{GOOD}{{\"body\":\"x\"}}\n"));
    refused(&folder, "dedup in.jsonl -o out.jsonl", &["in.jsonl, record 2", "\"text\" is missing", "--text"]);
    folder.write("in.csv", "id,body\n1,x\n");
    refused(&folder, "dedup in.csv -o out.csv", &["in.csv", "text", "--text"]);
    write_parquet(&folder.path("in.parquet"), &[("1", "x")]);
    refused(&folder, "pairs in.parquet --text body", &["in.parquet", "body", "--text"]);
}

#[test]
fn a_field_that_no_record_has() {
    let record = "{\"id\":\"a\",\"text\":\"a good record with a handful of words\",\"n\":1}\n";
    let folder = Folder::with("in.jsonl", record);
    write_parquet(&folder.path("in.parquet"), &[("1", "x")]);
    for input in ["in.jsonl", "in.parquet"] {
        let id = ["no record of ", input, "\"doc_id\"", "--id none"];
        refused(&folder, &format!("dedup {input} --id doc_id -o out"), &id);
        refused(&folder, &format!("groups {input} --keep max:scor"), &["\"scor\"", "--keep", "spelling"]);
    }
    // Some records are enough, and texts have no fields.
    folder.write("both/a.jsonl", record);
    folder.write("both/b.jsonl", "{\"text\":\"another\"}\n");
    folder.write("both/c.txt", "a text");
    folder.done("groups both --keep max:n");
    folder.write("named.jsonl", format!("{record}{{\"text\":\"another\",\"url\":\"u\"}}\n"));
    folder.write("c.txt", "a text");
    folder.done("groups named.jsonl c.txt --id url");
}

#[test]
fn records_of_which_none_can_be_used() {
    let folder = Folder::with("in.jsonl", GOOD.repeat(3));
    let words = ["none of the 3 records can be used", "in.jsonl, record 1", "\"body\" is missing"];
    let command = "dedup in.jsonl --text body --on-error skip -o out.jsonl";
    refused(&folder, command, &words);
    assert!(!folder.run(command).stderr.contains("--on-error"), "what is done already is no advice");
}

#[test]
fn records_that_would_be_compared_with_themselves() {
    let folder = Folder::with("all/a.jsonl", GOOD);
    folder.write("all/b.jsonl", GOOD.replace('a', "b"));
    for against in ["all", "all/a.jsonl", "all/*.jsonl", "all/../all/a.jsonl"] {
        let words = ["all/a.jsonl is an input", "--against", "leave it out"];
        refused(&folder, &format!("dedup all/a.jsonl --against {against} -o out.jsonl"), &words);
    }
    folder.done("dedup all/a.jsonl --against all/b.jsonl -n");
}

#[test]
fn tables_that_are_divided_otherwise_or_have_no_header() {
    let folder = Folder::with("in.csv", "id;text\n1;one two three\n");
    refused(&folder, "dedup in.csv -o out.csv", &["no column \"text\"", "\"id;text\"", "not by ';'"]);
    folder.write("in.csv", format!("1,{}\n", "a long text ".repeat(100)));
    let run = folder.run("dedup in.csv -o out.csv");
    let line = refusal(&run);
    assert!(line.contains("first row") && line.len() < 300, "{line}");
}

#[test]
fn a_number_where_a_text_should_be() {
    let folder = Folder::with("in.jsonl", format!("{GOOD}{{\"text\":17}}\n"));
    refused(&folder, "dedup in.jsonl -o out.jsonl", &["in.jsonl, record 2", "is a number, not a text", "--text"]);
}

#[test]
fn invalid_utf8() {
    let folder = Folder::with("in.jsonl", [GOOD.as_bytes(), b"{\"text\":\"\xff\"}\n"].concat());
    let byte = format!("at byte {}", GOOD.len() + 9);
    refused(&folder, "dedup in.jsonl -o out.jsonl", &["in.jsonl, record 2", "not UTF-8", &byte, "iconv"]);
    for (name, content) in [
        ("in.csv", &b"id,text\n1,fine\n2,\xff\n"[..]),
        ("in.tsv", b"id\ttext\n1\tfine\n2\t\xff\n"),
        ("in.sets", b"a b c\n\xff b c\n"),
    ] {
        folder.write(name, content);
        refused(&folder, &format!("dedup {name} -o out"), &[name, "record 2", "not UTF-8", "iconv"]);
    }
    folder.write("in.txt", b"fine\n\xff\n");
    refused(&folder, "dedup in.txt -o out.txt", &["in.txt, record 1", "not UTF-8", "at byte 5"]);
    refused(&folder, "dedup in.txt --input-format lines -o out.txt", &["in.txt, record 2", "not UTF-8", "at byte 5"]);
}

#[test]
fn compressed_data_that_ends_too_early() {
    let text = GOOD.repeat(50);
    let folder = Folder::new();
    for (name, packed) in [("in.jsonl.gz", gzip(text.as_bytes())), ("in.jsonl.zst", zstd(text.as_bytes()))] {
        folder.write(name, &packed[..packed.len() - 9]);
        refused(&folder, &format!("dedup {name} --id none -o out"), &[name, "ends too early", "get the file again"]);
    }
    // The second of two members is cut: the first alone must not pass for the whole.
    let member = gzip(text.as_bytes());
    folder.write("two.jsonl.gz", [&member[..], &member[..member.len() / 2]].concat());
    refused(&folder, "dedup two.jsonl.gz --id none -o out", &["two.jsonl.gz", "ends too early"]);
}

#[test]
fn a_parquet_file_cut_short() {
    let folder = Folder::new();
    write_parquet(&folder.path("whole.parquet"), &[("a", "one text"), ("b", "another text")]);
    let whole = folder.read("whole.parquet");
    for length in [8, whole.len() / 2, whole.len() - 1] {
        folder.write("cut.parquet", &whole[..length]);
        refused(&folder, "dedup cut.parquet -o out.parquet", &["cut.parquet", "is cut short", "download it again"]);
    }
    folder.write("cut.parquet", "PAR");
    refused(&folder, "dedup cut.parquet -o out.parquet", &["cut.parquet", "no Parquet file", "--input-format"]);
}

#[test]
fn settings_that_mean_nothing() {
    let folder = Folder::with("in.jsonl", GOOD);
    for (flags, words) in [
        ("--frobnicate", &["--frobnicate", "see --help"][..]),
        ("-t 1.5", &["threshold 1.5", "above 0 and up to 1"]),
        ("-t 0", &["threshold 0", "above 0 and up to 1"]),
        ("-t nan", &["threshold NaN", "above 0 and up to 1"]),
        ("-t high", &["'high'", "--threshold", "see --help"]),
        ("--recall 1", &["recall 1", "choose"]),
        ("--bands 0x5", &["'0x5'", "--bands", "both numbers at least 1"]),
        ("--bands 5x0", &["'5x0'", "both numbers at least 1"]),
        ("--shingles words:0", &["words:0", "write auto"]),
        ("--shingles words:3/4", &["words:3/4", "step"]),
        ("--keep newest", &["newest", "write first, last"]),
        ("--normalize upper", &["upper", "nfc"]),
        ("--input-format xml", &["xml", "jsonl"]),
        ("--on-error ignore", &["ignore", "fail", "skip"]),
        ("-j 0", &["'0'", "--threads", "see --help"]),
        ("--measure containment --bands 16x6", &["containment", "leave --bands out"]),
    ] {
        refused(&folder, &format!("dedup in.jsonl -o out.jsonl {flags}"), words);
    }
    refused(&folder, "compare in.jsonl", &["<RIGHT>", "see --help"]);
    refused(&folder, "remove in.jsonl", &["remove", "see --help"]);
}

#[test]
fn an_output_that_is_a_folder() {
    let folder = Folder::with("in.jsonl", GOOD);
    folder.write("there/other.txt", "x");
    for arguments in
        ["dedup in.jsonl -o there", "pairs in.jsonl -o there", "groups in.jsonl -o there", "plan --svg there"]
    {
        refused(&folder, arguments, &["there is a folder", "name a file"]);
    }
    refused(&folder, "dedup in.jsonl -o out.jsonl --dropped there", &["there is a folder", "name a file"]);
    refused(&folder, "dedup there in.jsonl -o in.jsonl/out", &["in.jsonl"]);
}

#[test]
fn an_output_in_a_folder_that_is_not_there() {
    let folder = Folder::with("in.jsonl", GOOD);
    refused(&folder, "pairs in.jsonl -o gone/pairs.tsv", &["gone", "create it first"]);
    refused(&folder, "dedup in.jsonl --dropped gone/dropped.tsv -o out.jsonl", &["gone", "create it first"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk() {
    let folder = Folder::with("in.jsonl", format!("{GOOD}{}", GOOD.replace("\"a\"", "\"b\"")));
    for arguments in ["dedup in.jsonl -o /dev/full", "pairs in.jsonl -o /dev/full", "groups in.jsonl -o /dev/full"] {
        refused(&folder, arguments, &["/dev/full", "the disk is full: make room"]);
    }
    refused(&folder, "dedup in.jsonl -o out.jsonl --dropped /dev/full", &["/dev/full", "the disk is full"]);
    refused(&folder, "dedup in.jsonl -o /dev/full --dropped dropped.tsv", &["/dev/full", "the disk is full"]);
    let commands = ["dedup in.jsonl", "pairs in.jsonl", "pairs in.jsonl --format jsonl", "groups in.jsonl", "plan"];
    for arguments in commands {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let before = folder.contents();
        let run = folder.command(arguments).stdout(full).output().unwrap().into();
        let line = refusal(&run);
        assert!(line.contains("the disk is full: make room"), "lookalike {arguments} says {line}");
        assert_eq!(folder.contents(), before);
    }
}

#[test]
fn two_inputs_for_one_output() {
    let folder = Folder::with("x/in.jsonl", GOOD);
    folder.write("y/in.jsonl", GOOD);
    let words = ["x/in.jsonl and y/in.jsonl", "out/in.jsonl", "give the folder above both"];
    refused(&folder, "dedup x y -o out --id none", &words);
    refused(&folder, "dedup x/in.jsonl -o out --dropped out", &["out", "a file of its own"]);
    refused(&folder, "dedup x x/in.jsonl -o out", &["x/in.jsonl", "name it once"]);
}

#[test]
fn an_output_that_is_an_input() {
    let folder = Folder::with("in.jsonl", GOOD);
    folder.write("old.jsonl", GOOD);
    folder.write("more/old.jsonl", GOOD.replace("\"a\"", "\"b\""));
    for arguments in [
        "dedup in.jsonl -o in.jsonl",
        "dedup in.jsonl -o out.jsonl --dropped in.jsonl",
        "dedup in.jsonl -o out.jsonl --pairs ./in.jsonl",
        "pairs in.jsonl -o in.jsonl",
        "groups in.jsonl -o more/../in.jsonl",
        "dedup in.jsonl --against old.jsonl -o old.jsonl",
        "dedup more --against old.jsonl -o .",
    ] {
        refused(&folder, arguments, &["is one of the inputs", "name another output"]);
    }
}

#[test]
fn ids_that_stand_twice() {
    let folder = Folder::with("in.jsonl", format!("{GOOD}{{\"id\":\"b\",\"text\":\"x\"}}\n{GOOD}"));
    let words = ["\"a\" stands twice", "in.jsonl:1 and in.jsonl:3", "--id none"];
    // With several threads they are found beside other work, which leaves nothing behind then.
    for arguments in ["dedup in.jsonl -o out.jsonl -j 1", "dedup in.jsonl -o out.jsonl -j 3", "groups in.jsonl -j 3"] {
        refused(&folder, arguments, &words);
    }
    refused(&folder, "pairs in.jsonl", &words);
    assert_eq!(std::fs::read_dir(folder.path(".")).unwrap().count(), 1, "only the input is there");
    folder.done("dedup in.jsonl -o out.jsonl --id none");
}

#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with("in.jsonl", GOOD);
    std::fs::set_permissions(folder.path("in.jsonl"), std::fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser may read everything: there is nothing to refuse then.
    if File::open(folder.path("in.jsonl")).is_err() {
        refused(&folder, "dedup in.jsonl -o out.jsonl", &["in.jsonl", "ermission"]);
    }
}

#[test]
fn a_configuration_file_that_cannot_be_followed() {
    let folder = Folder::with("in.jsonl", GOOD);
    for (toml, words) in [
        ("treshold = 0.9", &["lookalike.toml", "--treshold", "take the line out"][..]),
        ("threshold = 1.5", &["threshold 1.5", "above 0"]),
        ("threshold = \"high\"", &["'high'", "--threshold", "lookalike.toml"]),
        ("exact = 1", &["lookalike.toml", "exact is either true or false"]),
        ("threshold = ", &["lookalike.toml", "not valid TOML"]),
    ] {
        folder.write("lookalike.toml", toml);
        refused(&folder, "dedup in.jsonl -o out.jsonl", words);
    }
    refused(&folder, "plan --config gone.toml", &["cannot read gone.toml", "No such file"]);
}

#[test]
fn documents_that_cannot_be_compared() {
    let folder = Folder::with("one.txt", "a text");
    folder.write("two.jsonl", "{\"text\":\"x\"}\n{\"text\":\"y\"}\n");
    folder.write("none.jsonl", "");
    folder.write("in.sets", "a b c\n");
    refused(&folder, "compare one.txt two.jsonl", &["two.jsonl holds 2 records", "use pairs"]);
    refused(&folder, "compare none.jsonl one.txt", &["none.jsonl holds no record", "name a file"]);
    refused(&folder, "compare in.sets one.txt", &["in.sets holds a set", "use pairs"]);
    refused(&folder, "compare - -", &["both documents are standard input", "name a file"]);
}

#[test]
fn too_many_pairs() {
    let line = |id: usize| GOOD.replace("\"a\"", &id.to_string());
    let folder = Folder::with("in.jsonl", (0..4).map(line).collect::<String>());
    let words = ["there are 6 pairs", "--max-pairs 5", "raise the limit"];
    refused(&folder, "pairs in.jsonl --max-pairs 5", &words);
    refused(&folder, "dedup in.jsonl -o out.jsonl --pairs pairs.tsv --max-pairs 5", &words);
    assert_eq!(folder.done("pairs in.jsonl --max-pairs 6").text().lines().count(), 6);
}

#[test]
fn what_has_no_place_for_annotations() {
    let folder = Folder::with("in.sets", "a b c\n");
    refused(&folder, "dedup in.sets --annotate -o out.sets", &["in.sets", "no place for annotations", "JSONL"]);
}

#[test]
fn skipped_records_are_counted_and_listed() {
    let bad = "{\"id\":\"b\",\"text\":17}\nnot json\n";
    let folder = Folder::with("in.jsonl", format!("{GOOD}{bad}{}", GOOD.replace("\"a\"", "\"c\"")));
    let run = folder.done("dedup in.jsonl --on-error skip --dropped dropped.tsv");
    assert_eq!(run.text(), GOOD, "bad records are left out");
    assert_eq!(folder.text("dropped.tsv"), "c\ta\t1.000000\n");
    let skipped: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("skipped: ")).collect();
    assert_eq!(skipped.len(), 2, "{}", run.stderr);
    assert!(skipped[0].contains("in.jsonl, record 2") && skipped[0].contains("is a number"), "{}", skipped[0]);
    assert!(skipped[1].contains("in.jsonl, record 3") && skipped[1].contains("not a JSON object"), "{}", skipped[1]);
    assert!(run.stderr.contains("2 records: 1 kept, 1 dropped") && run.stderr.contains(" 2 bad;"), "{}", run.stderr);
}

#[test]
fn every_command_lists_what_it_skips() {
    let folder = Folder::with("good.jsonl", GOOD);
    folder.write("in.jsonl", format!("{GOOD}not json\n"));
    folder.write("bad.jsonl", "not json\n");
    folder.write("essay.txt", "a text of its own");
    folder.done("index build seen.idx good.jsonl");
    for command in [
        "query seen.idx in.jsonl",
        "audit in.jsonl",
        "sources essay.txt --against in.jsonl",
        "index build new.idx in.jsonl",
    ] {
        let run = folder.run(&format!("{command} --on-error skip"));
        let skipped: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("skipped: ")).collect();
        assert!(matches!(skipped[..], [only] if only.contains("in.jsonl, record 2")), "{command}: {}", run.stderr);
        assert!(!folder.run(&format!("{command} --on-error skip -q")).stderr.contains("skipped"), "{command}");
    }
    let run = folder.run("query seen.idx in.jsonl --on-error skip --json");
    let summary: serde_json::Value = serde_json::from_str(run.stderr.trim()).unwrap();
    assert_eq!((&summary["records"], &summary["bad"]), (&1.into(), &1.into()), "{summary}");
    for command in [
        "query seen.idx bad.jsonl",
        "sources essay.txt --against bad.jsonl",
        "index add seen.idx bad.jsonl",
        "index build none.idx bad.jsonl",
    ] {
        let command = format!("{command} --on-error skip");
        refused(&folder, &command, &["the only record cannot be used", "bad.jsonl, record 1"]);
    }
    assert!(!folder.path("none.idx").exists(), "there is no index of nothing");
}
