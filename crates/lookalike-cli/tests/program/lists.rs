//! Lists of pairs, groups and dropped records, in every form.

use std::sync::atomic::AtomicBool;

use lookalike::{Content, KeepValue};
use lookalike_io::{Error, Inputs, ReadOptions, Reader, read_all};

use crate::folder::Folder;
use crate::texts::{FERRY, LATE_FERRY, LIBRARY, jsonl};

/// Ids that would break a line or a table, and a record that is alike to none.
fn awkward() -> Folder {
    Folder::with("in.jsonl", jsonl(&[("a\tb", FERRY), ("back\\slash", LIBRARY), ("new\nline", LATE_FERRY)]))
}

/// The rows of a Parquet file: two texts and a number each.
fn rows(folder: &Folder, name: &str, columns: [&str; 3]) -> Vec<(String, f64)> {
    let options = ReadOptions {
        text: vec![columns[0].parse().unwrap(), columns[1].parse().unwrap()],
        id: None,
        keep: Some(columns[2].parse().unwrap()),
        ..ReadOptions::default()
    };
    let inputs = Inputs::resolve(&[folder.path(name)], None, &std::env::temp_dir()).unwrap();
    let reader = Reader::open(inputs, options).unwrap();
    let rows = read_all(&reader, 1, &AtomicBool::new(false), Vec::new, |rows, _, parsed| {
        for (record, keep) in parsed.batch.keep().iter().enumerate() {
            let (Content::Text(text), KeepValue::Number(number)) = (parsed.batch.content(record), keep) else {
                panic!("a row is not two texts and a number");
            };
            rows.push((text.to_owned(), *number));
        }
        Ok::<_, Error>(())
    });
    rows.unwrap().concat()
}

#[test]
fn the_form_of_a_list_follows_its_name() {
    let folder = awkward();
    for form in ["tsv", "jsonl", "csv", "parquet"] {
        folder.done(&format!("dedup in.jsonl -o out.jsonl --dropped dropped.{form} --pairs pairs.{form}"));
        folder.done(&format!("pairs in.jsonl -o again.{form}"));
        assert_eq!(folder.read(&format!("pairs.{form}")), folder.read(&format!("again.{form}")), "{form}");
    }
    assert_eq!(folder.text("dropped.tsv"), "new\\nline\ta\\tb\t0.866667\n");
    assert_eq!(folder.text("pairs.tsv"), "a\\tb\tnew\\nline\t0.866667\n");
    let similarity = 13.0 / 15.0;
    let parse = |name: &str| serde_json::from_str::<serde_json::Value>(&folder.text(name)).unwrap();
    let dropped = serde_json::json!({"id": "new\nline", "kept": "a\tb", "similarity": similarity});
    assert_eq!(parse("dropped.jsonl"), dropped);
    let pair = serde_json::json!({"left": "a\tb", "right": "new\nline", "similarity": similarity});
    assert_eq!(parse("pairs.jsonl"), pair);
    assert_eq!(folder.text("dropped.csv"), "id,kept,similarity\n\"new\nline\",a\tb,0.866667\n");
    assert_eq!(folder.text("pairs.csv"), "left,right,similarity\na\tb,\"new\nline\",0.866667\n");
    let dropped = rows(&folder, "dropped.parquet", ["id", "kept", "similarity"]);
    assert_eq!(dropped, [("new\nline\na\tb".to_owned(), similarity)]);
    let pairs = rows(&folder, "pairs.parquet", ["left", "right", "similarity"]);
    assert_eq!(pairs, [("a\tb\nnew\nline".to_owned(), similarity)]);
}

#[test]
fn the_form_can_be_chosen() {
    let folder = awkward();
    assert_eq!(
        folder.done("pairs in.jsonl --format csv").text(),
        "left,right,similarity\na\tb,\"new\nline\",0.866667\n"
    );
    folder.done("pairs in.jsonl --format text -o pairs.csv");
    assert_eq!(folder.text("pairs.csv"), "a\\tb\tnew\\nline\t0.866667\n");
}

#[test]
fn lists_without_rows() {
    let folder = Folder::with("in.jsonl", jsonl(&[("a", FERRY), ("b", LIBRARY)]));
    folder.done("dedup in.jsonl -o out.jsonl --dropped dropped.csv --pairs pairs.tsv");
    assert_eq!(folder.text("dropped.csv"), "id,kept,similarity\n");
    assert_eq!(folder.text("pairs.tsv"), "");
    assert_eq!(folder.done("groups in.jsonl").text(), "");
}

#[test]
fn groups_in_every_form() {
    let folder = Folder::with(
        "in.jsonl",
        jsonl(&[("x", LIBRARY), ("b\\", LATE_FERRY), ("a\t", FERRY), ("y", LIBRARY), ("c\n", LATE_FERRY)]),
    );
    assert_eq!(folder.done("groups in.jsonl").text(), "x\ty\nb\\\\\ta\\t\tc\\n\n");
    // The keeper stands first and the groups by their keepers, wherever in the input those are.
    assert_eq!(folder.done("groups in.jsonl --keep last").text(), "y\tx\nc\\n\tb\\\\\ta\\t\n");
    let objects = folder.done("groups in.jsonl --format jsonl");
    let objects: Vec<serde_json::Value> =
        objects.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let members = serde_json::json!([{"id": "a\t", "similarity": 13.0 / 15.0}, {"id": "c\n", "similarity": 1.0}]);
    assert_eq!(objects[1], serde_json::json!({"keeper": "b\\", "size": 3, "members": members}));
    assert_eq!(
        folder.done("groups in.jsonl --format csv").text(),
        "keeper,id,similarity\nx,x,1.000000\nx,y,1.000000\nb\\,b\\,1.000000\nb\\,a\t,0.866667\nb\\,\"c\n\",1.000000\n"
    );
    folder.done("groups in.jsonl -o groups.parquet");
    let rows = rows(&folder, "groups.parquet", ["keeper", "id", "similarity"]);
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[3], ("b\\\na\t".to_owned(), 13.0 / 15.0));
}

#[test]
fn pairs_stand_in_input_order() {
    let folder = Folder::with(
        "in.jsonl",
        jsonl(&[("z", FERRY), ("m", LIBRARY), ("y", LATE_FERRY), ("a", LIBRARY), ("b", FERRY)]),
    );
    assert_eq!(
        folder.done("pairs in.jsonl").text(),
        "z\ty\t0.866667\nz\tb\t1.000000\nm\ta\t1.000000\ny\tb\t0.866667\n"
    );
}

#[test]
fn the_contained_record_stands_on_the_left() {
    let folder = Folder::with("in.sets", "1 2 3 4 5 6 7 8 9 10\n2 3 4 5\n3 4 5 11\n");
    let pairs = folder.done("pairs in.sets --measure containment -t 0.75");
    assert_eq!(
        pairs.text(),
        "in.sets:2\tin.sets:1\t1.000000\nin.sets:2\tin.sets:3\t0.750000\n\
         in.sets:3\tin.sets:1\t0.750000\nin.sets:3\tin.sets:2\t0.750000\n"
    );
    // What contains is never dropped for what it contains.
    let run = folder.done("dedup in.sets --measure containment -t 0.75 --keep shortest");
    assert_eq!(run.text(), "1 2 3 4 5 6 7 8 9 10\n2 3 4 5\n");
}
