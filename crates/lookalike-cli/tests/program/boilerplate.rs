//! `--ignore` and `--ignore-common`: what every record has says nothing about any.

use crate::folder::Folder;
use crate::texts::{FERRY, LIBRARY, jsonl};

const MENU: &str = "home news sports weather opinion travel about us contact privacy terms of use jobs and advertising";

/// Two records that have nothing but a menu in common, and two that are alike without it.
fn with_menu() -> Folder {
    let text = |content: &str| format!("{MENU} {content}");
    let ferry = text(FERRY);
    let records = [
        ("ferry", ferry.as_str()),
        ("library", &text(LIBRARY)),
        ("again", &text(&FERRY.replace(" open", " close"))),
        ("other", "a text without the menu that nobody would take for any of the others here"),
    ];
    Folder::with("in.jsonl", jsonl(&records))
}

#[test]
fn a_template_carries_no_weight() {
    let folder = with_menu();
    folder.write("menu.txt", MENU);
    let plain = folder.done("pairs in.jsonl -t 0.2 --exact");
    assert_eq!(plain.text().lines().count(), 3, "the menu makes all of them alike: {}", plain.text());
    let without = folder.done("pairs in.jsonl -t 0.2 --exact --ignore menu.txt");
    assert_eq!(without.text().lines().count(), 1, "{}", without.text());
    assert!(without.text().starts_with("ferry\tagain\t0."));
}

#[test]
fn what_is_common_carries_no_weight() {
    let folder = with_menu();
    for flag in ["--ignore-common 2", "--ignore-common 60%"] {
        let run = folder.done(&format!("pairs in.jsonl -t 0.2 {flag}"));
        assert_eq!(run.text().lines().count(), 1, "{flag}: {}", run.text());
    }
    let none = folder.done("pairs in.jsonl -t 0.2 --exact --ignore-common 3");
    assert_eq!(none.text().lines().count(), 3, "no shingle is in more than three records");
}

#[test]
fn what_cannot_be_ignored_is_refused() {
    let folder = with_menu();
    let run = folder.run_with_stdin("pairs --input-format jsonl --ignore-common 5", b"");
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("standard input"), "{}", run.stderr);
    let run = folder.run("pairs in.jsonl --ignore-common 100%");
    assert_eq!(run.status, Some(2));
    folder.done("index build i in.jsonl -q");
    let run = folder.run("dedup in.jsonl --against i --ignore in.jsonl");
    assert!(run.status == Some(2) && run.stderr.contains("--ignore"), "{}", run.stderr);
}
