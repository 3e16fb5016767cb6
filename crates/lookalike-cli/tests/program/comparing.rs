//! `compare`: how alike two documents are, and what they share.

use crate::folder::Folder;
use crate::texts::{FERRY, LATE_FERRY, LIBRARY};

fn documents() -> Folder {
    let folder = Folder::with("left.txt", format!("Überall steht: {FERRY}"));
    folder.write("right.txt", format!("{LIBRARY} – {}", LATE_FERRY.to_uppercase()));
    folder
}

#[test]
fn in_words() {
    let folder = documents();
    let run = folder.done("compare left.txt right.txt");
    // 20 words and 38: 16 and 34 shingles, of which the 13 of the common 17 words are shared.
    let said: Vec<&str> = run.text().lines().collect();
    assert_eq!(said[0], "jaccard      0.351351  (13 of 37 shingles shared)");
    assert_eq!(said[1], "containment  0.812500  of the left in the right (13 of 16)");
    assert_eq!(said[2], "             0.382353  of the right in the left (13 of 34)");
    assert!(said[3].starts_with("estimate     0.") && said[3].ends_with(" from the sketches"), "{}", said[3]);
    assert_eq!(said[4], format!("passage      17 tokens: {}", FERRY.strip_suffix(" open").unwrap()));
    assert_eq!(said.len(), 5);
}

#[test]
fn as_json_with_spans_of_characters() {
    let folder = documents();
    let run = folder.done("compare left.txt right.txt --json");
    let answer: serde_json::Value = serde_json::from_str(run.text()).unwrap();
    assert_eq!(
        (&answer["shared"], &answer["left_shingles"], &answer["right_shingles"]),
        (&13.into(), &16.into(), &34.into())
    );
    assert_eq!(answer["left_in_right"], 0.8125);
    let passage = &answer["passages"][0];
    let shared = FERRY.strip_suffix(" open").unwrap();
    assert_eq!(passage["text"], shared);
    for (file, side) in [("left.txt", "left"), ("right.txt", "right")] {
        let characters: Vec<char> = folder.text(file).chars().collect();
        let at = |end: usize| passage[side][end].as_u64().unwrap() as usize;
        let found: String = characters[at(0)..at(1)].iter().collect();
        assert_eq!(found.to_lowercase(), shared, "{side}: {passage}");
    }
}

#[test]
fn the_status_answers_a_question() {
    let folder = documents();
    for (flags, status) in [
        ("", 0),
        ("-t 0.36", 1),
        ("-t 0.35", 0),
        ("--threshold=0.36", 1),
        ("-t0.36", 1),
        ("-qt 0.36", 1),
        ("-t 0.81 --measure containment", 0),
        ("-t 0.82 --measure containment", 1),
    ] {
        let run = folder.run(&format!("compare left.txt right.txt {flags}"));
        assert_eq!(run.status, Some(status), "{flags}: {}", run.stderr);
    }
}

#[test]
fn one_document_may_come_through_standard_input() {
    let folder = Folder::with("left.txt", FERRY);
    let run = folder.run_with_stdin("compare left.txt - --input-format txt", FERRY.as_bytes());
    assert!(run.text().starts_with("jaccard      1.000000"), "{run:?}");
}
