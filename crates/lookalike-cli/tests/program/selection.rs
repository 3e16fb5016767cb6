//! Which records are read, what they are called, which are compared and which is kept.

use crate::folder::Folder;
use crate::texts::{FERRY, LATE_FERRY, LIBRARY, jsonl};

#[test]
fn records_without_ids_are_called_by_file_and_number() {
    let with_text = |text: &str| format!("{{\"text\":\"{text}\"}}\n");
    let folder = Folder::with("in.jsonl", [FERRY, LIBRARY, FERRY].map(with_text).concat());
    assert_eq!(folder.done("pairs in.jsonl").text(), "in.jsonl:1\tin.jsonl:3\t1.000000\n");
    // Bad records count: the number is the one that a person would find in the file.
    folder
        .write("bad.jsonl", ["{}\n".into(), with_text(FERRY), "{}\n".into(), "{}\n".into(), with_text(FERRY)].concat());
    let run = folder.done("pairs bad.jsonl in.jsonl --on-error skip");
    assert_eq!(
        run.text(),
        "bad.jsonl:2\tbad.jsonl:5\t1.000000\nbad.jsonl:2\tin.jsonl:1\t1.000000\nbad.jsonl:2\tin.jsonl:3\t1.000000\n\
         bad.jsonl:5\tin.jsonl:1\t1.000000\nbad.jsonl:5\tin.jsonl:3\t1.000000\nin.jsonl:1\tin.jsonl:3\t1.000000\n"
    );
    let run = folder.run_with_stdin("pairs", with_text(FERRY).repeat(2).as_bytes());
    assert_eq!(run.text(), "-:1\t-:2\t1.000000\n");
}

#[test]
fn files_with_other_names_are_called_by_other_names() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::with("d/a\tb.txt", FERRY);
    for name in [&b"d/x\xff.txt"[..], b"d/x\xfe.txt"] {
        std::fs::write(folder.path("").join(std::ffi::OsStr::from_bytes(name)), FERRY).unwrap();
    }
    // A tab is escaped once, as in every list.
    let expected = "d/a\\tb.txt\td/x\\\\xfe.txt\t1.000000\nd/a\\tb.txt\td/x\\\\xff.txt\t1.000000\n\
                    d/x\\\\xfe.txt\td/x\\\\xff.txt\t1.000000\n";
    assert_eq!(folder.done("pairs d").text(), expected);
    folder.done("index build i d");
}

#[test]
fn the_id_can_be_another_field_or_none() {
    let folder = Folder::with("in.csv", format!("id,url,text\n1,u/1,{FERRY}\n2,u/2,{LATE_FERRY}\n"));
    assert_eq!(folder.done("pairs in.csv").text(), "1\t2\t0.866667\n");
    assert_eq!(folder.done("pairs in.csv --id url").text(), "u/1\tu/2\t0.866667\n");
    assert_eq!(folder.done("pairs in.csv --id none").text(), "in.csv:1\tin.csv:2\t0.866667\n");
    folder.write("in.jsonl", format!("{{\"id\":7,\"text\":\"{FERRY}\"}}\n{{\"id\":\"8\",\"text\":\"{FERRY}\"}}\n"));
    assert_eq!(folder.done("pairs in.jsonl").text(), "7\t8\t1.000000\n", "a number can be an id");
}

#[test]
fn the_text_can_be_several_fields_and_stand_inside() {
    let record = |id: &str, title: &str, body: &str| {
        format!("{}\n", serde_json::json!({"id": id, "title": title, "page": {"body": body}}))
    };
    let records = [record("a", LIBRARY, FERRY), record("b", FERRY, FERRY), record("c", LIBRARY, FERRY)];
    let folder = Folder::with("in.jsonl", records.concat());
    assert_eq!(folder.done("pairs in.jsonl --text title,page.body").text(), "a\tc\t1.000000\n");
    assert_eq!(folder.done("groups in.jsonl --text page.body").text(), "a\tb\tc\n");
    assert_eq!(folder.done("groups in.jsonl --text title").text(), "a\tc\n");
}

#[test]
fn a_list_is_a_set() {
    let folder = Folder::with(
        "in.jsonl",
        "{\"id\":\"a\",\"tags\":[\"x y\",\"z\",3]}\n{\"id\":\"b\",\"tags\":[3,\"z\",\"x y\",\"z\"]}\n\
         {\"id\":\"c\",\"tags\":[\"x\",\"y z\",3]}\n{\"id\":\"d\",\"tags\":[]}\n{\"id\":\"e\",\"tags\":[]}\n",
    );
    let pairs = folder.done("pairs in.jsonl --text tags -t 0.2").stdout;
    assert_eq!(String::from_utf8(pairs).unwrap(), "a\tb\t1.000000\na\tc\t0.200000\nb\tc\t0.200000\n");
}

#[test]
fn only_inside_the_same_value() {
    let record =
        |id: &str, year: serde_json::Value| format!("{}\n", serde_json::json!({"id": id, "text": FERRY, "year": year}));
    let records =
        [record("a", 2001.into()), record("b", 2002.into()), record("c", 2001.into()), record("d", 2002.into())];
    let folder = Folder::with("in.jsonl", records.concat());
    assert_eq!(folder.done("groups in.jsonl").text(), "a\tb\tc\td\n");
    assert_eq!(folder.done("groups in.jsonl --within year").text(), "a\tc\nb\td\n");
    assert_eq!(folder.done("pairs in.jsonl --within year --exact").text(), "a\tc\t1.000000\nb\td\t1.000000\n");
}

#[test]
fn old_records_are_never_dropped_nor_written() {
    let folder = Folder::with("old.jsonl", jsonl(&[("o1", FERRY), ("o2", FERRY)]));
    folder.write("new.jsonl", jsonl(&[("n1", LATE_FERRY), ("n2", LIBRARY), ("n3", LIBRARY)]));
    let run = folder.done("dedup new.jsonl --against old.jsonl --keep last --dropped dropped.tsv");
    assert_eq!(run.text(), jsonl(&[("n3", LIBRARY)]));
    assert_eq!(folder.text("dropped.tsv"), "n1\to2\t0.866667\nn2\tn3\t1.000000\n", "the last of the old");
    assert!(run.stderr.contains("3 records: 1 kept, 2 dropped"), "{}", run.stderr);
    let pairs = folder.done("pairs new.jsonl --against old.jsonl");
    assert_eq!(pairs.text(), "o1\tn1\t0.866667\no2\tn1\t0.866667\nn2\tn3\t1.000000\n", "old ones are no pair");
    // The same id may stand on both sides: a new version of an old record.
    folder.write("again.jsonl", jsonl(&[("o1", LIBRARY)]));
    assert_eq!(folder.done("dedup again.jsonl --against old.jsonl").text(), jsonl(&[("o1", LIBRARY)]));
    folder.write("more/x.jsonl", jsonl(&[("o3", LIBRARY)]));
    let run = folder.done("dedup new.jsonl --against old.jsonl --against more");
    assert_eq!(run.text(), "", "every folder and file of --against counts");
}

#[test]
fn the_record_that_is_kept() {
    let record = |id: &str, text: &str, score: serde_json::Value| {
        format!("{}\n", serde_json::json!({"id": id, "text": text, "meta": {"score": score}}))
    };
    let records = [
        record("a", FERRY, 9.into()),
        record("b", LATE_FERRY, 10.into()),
        record("c", &FERRY.to_uppercase().replace("OPEN", "ope"), (-2.5).into()),
        record("d", LATE_FERRY, 10.into()),
    ];
    let folder = Folder::with("in.jsonl", records.concat());
    for (keep, keeper) in [
        ("first", "a"),
        ("last", "d"),
        ("longest", "b"),
        ("shortest", "c"),
        ("max:meta.score", "b"),
        ("min:meta.score", "c"),
    ] {
        let run = folder.done(&format!("groups in.jsonl --keep {keep}"));
        let others = ["a", "b", "c", "d"].into_iter().filter(|id| *id != keeper).collect::<Vec<_>>().join("\t");
        assert_eq!(run.text(), format!("{keeper}\t{others}\n"), "--keep {keep}");
    }
    folder.write("none.jsonl", jsonl(&[("x", FERRY)]));
    let run = folder.done("groups none.jsonl in.jsonl --keep min:meta.score");
    assert_eq!(run.text(), "c\tx\ta\tb\td\n", "without the field it comes last");
    assert!(run.stderr.contains("1 records have no field \"meta.score\" to keep them by"), "{}", run.stderr);
}

#[test]
fn records_without_fields_do_not_shift_those_of_others() {
    let record =
        |id: &str, score: u64, text: &str| format!("{}\n", serde_json::json!({"id": id, "score": score, "text": text}));
    let records = record("a", 1, FERRY) + &record("b", 3, FERRY) + &record("c", 2, FERRY);
    let folder = Folder::with("in/records.jsonl", &records);
    let kept = |arguments: &str| {
        let run = folder.done(&format!("dedup {arguments} --keep max:score -q -o out --dropped d.tsv"));
        assert!(run.stderr.is_empty(), "{}", run.stderr);
        folder.text("d.tsv")
    };
    let expected = kept("in");
    assert_eq!(expected, "a\tb\t1.000000\nc\tb\t1.000000\n");
    // A text has no score, nor has an old record that comes from an index.
    folder.write("in/about.txt", LIBRARY);
    assert_eq!(kept("in"), expected);
    folder.write("seen.jsonl", record("old", 9, LIBRARY));
    folder.done("index build i seen.jsonl");
    folder.write("new.jsonl", records + &record("d", 0, LIBRARY));
    folder.done("dedup new.jsonl --against i --keep max:score -q -o new.out --dropped d.tsv");
    assert_eq!(folder.text("d.tsv"), expected + "d\told\t1.000000\n");
}

#[test]
fn within_needs_fields() {
    let folder = Folder::with("in/records.jsonl", format!("{{\"id\":1,\"lang\":\"en\",\"text\":\"{FERRY}\"}}\n"));
    folder.write("in/about.txt", LIBRARY);
    let run = folder.run("pairs in --within lang");
    assert_eq!(run.status, Some(2), "{run:?}");
    assert!(run.stderr.contains("about.txt") && run.stderr.contains("have no fields"), "{}", run.stderr);
}

#[test]
fn an_excerpt_that_comes_first_is_told_of() {
    let book = format!("{FERRY} {LIBRARY}");
    let folder = Folder::with("in.jsonl", jsonl(&[("excerpt", FERRY), ("book", &book)]));
    let run = folder.done("dedup in.jsonl --measure containment -t 0.9 -n");
    assert!(run.stderr.contains("note: 1 records are contained in records that come behind them"), "{}", run.stderr);
    let run = folder.done("dedup in.jsonl --measure containment -t 0.9 --keep longest -o out.jsonl --dropped -");
    assert_eq!(run.text(), "excerpt\tbook\t1.000000\n");
    assert!(!run.stderr.contains("are contained"), "{}", run.stderr);
    let run = folder.done("pairs in.jsonl --measure containment -t 0.9");
    assert!(!run.stderr.contains("are contained"), "nobody asked who is kept: {}", run.stderr);
    // What it comes behind is dropped for it, as always.
    folder.write("in.jsonl", jsonl(&[("book", &book), ("excerpt", FERRY)]));
    assert!(!folder.done("dedup in.jsonl --measure containment -t 0.9 -n").stderr.contains("are contained"));
}

#[test]
fn what_is_about_texts_does_nothing_to_sets_and_that_is_told() {
    let folder = Folder::with("in.sets", "a b c\nc b a\n");
    folder.write("in.jsonl", "{\"id\":1,\"text\":\"a b c\"}\n{\"id\":2,\"text\":\"c b a\"}\n");
    let plain = folder.done("pairs in.sets");
    assert!(!plain.stderr.contains("note:"), "{}", plain.stderr);
    for flag in ["--shingles words:2", "--bag", "--normalize lower"] {
        let sets = folder.done(&format!("pairs in.sets {flag}"));
        assert!(sets.stderr.contains("note: sets are compared as they are"), "{flag}: {}", sets.stderr);
        assert_eq!(sets.stdout, plain.stdout, "{flag}");
        let texts = folder.done(&format!("pairs in.jsonl {flag}"));
        assert!(!texts.stderr.contains("sets are compared"), "{flag}: {}", texts.stderr);
    }
}
