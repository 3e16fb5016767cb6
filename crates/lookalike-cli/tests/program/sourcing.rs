//! `sources`: which parts of a document come from where.

use crate::folder::Folder;
use crate::texts::{FERRY, LIBRARY, jsonl};

const OWN: &str = "Nothing in this sentence was written by anybody but me on a quiet evening at home.";

fn documents() -> Folder {
    let folder = Folder::with("essay.txt", format!("Überall: {FERRY}. {OWN} {LIBRARY}."));
    let both = format!("{FERRY}, they say; {LIBRARY}");
    let half = "before the first market stalls open. And then something else that nobody asked about.";
    folder.write("references.jsonl", jsonl(&[("half", half), ("library", LIBRARY), ("both", &both), ("ferry", FERRY)]));
    folder
}

#[test]
fn the_best_explanation_comes_first() {
    let folder = documents();
    let run = folder.done("sources essay.txt --against references.jsonl");
    let said: Vec<&str> = run.text().lines().collect();
    assert!(said[0].starts_with("covered    ") && said[0].ends_with("by 1 of 4 references"), "{}", said[0]);
    assert!(said[1].starts_with("source     both  explains "), "what has both explains most: {}", said[1]);
    assert_eq!(said[2], format!("passage    18 tokens, 100 % the same: {FERRY}"));
    assert_eq!(said[3], format!("passage    20 tokens, 100 % the same: {LIBRARY}"));
    assert_eq!(said.len(), 4);
}

#[test]
fn as_json_with_coverage_and_spans_of_characters() {
    let folder = documents();
    folder
        .write("two.jsonl", jsonl(&[("ferry", FERRY), ("library", LIBRARY), ("none", OWN.split_once(' ').unwrap().0)]));
    let run = folder.done("sources essay.txt --against two.jsonl --json");
    let answer: serde_json::Value = serde_json::from_str(run.text()).unwrap();
    let ids: Vec<&str> =
        answer["sources"].as_array().unwrap().iter().map(|source| source["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["library", "ferry"], "the longer one explains more");
    let characters = folder.text("essay.txt").chars().count();
    assert_eq!((&answer["characters"], &answer["references"]), (&characters.into(), &3.into()));
    assert_eq!(answer["covered"], FERRY.len() + LIBRARY.len());
    let passage = &answer["sources"][1]["passages"][0];
    assert_eq!((&passage["left"][0], &passage["right"][0]), (&9.into(), &0.into()), "characters, not bytes");
    assert_eq!(passage["text"], FERRY);
    let limited = folder.done("sources essay.txt --against two.jsonl --json --limit 1");
    let limited: serde_json::Value = serde_json::from_str(limited.text()).unwrap();
    assert_eq!((limited["sources"].as_array().unwrap().len(), &limited["covered"]), (1, &answer["covered"]));
}

#[test]
fn an_index_with_texts_serves_as_well() {
    let folder = documents();
    folder.done("index build texts.idx references.jsonl --store-text -q");
    assert_eq!(
        folder.done("sources essay.txt --against texts.idx").text(),
        folder.done("sources essay.txt --against references.jsonl").text()
    );
    folder.done("index build bare.idx references.jsonl -q");
    let refused = folder.run("sources essay.txt --against bare.idx");
    assert_eq!(refused.status, Some(2));
    assert!(refused.stderr.contains("--store-text"), "{}", refused.stderr);
}

#[test]
fn nothing_found_is_a_no() {
    let folder = documents();
    folder.write("other.txt", OWN.to_uppercase().replace("EVENING", "MORNING") + " Or so.");
    folder.write("own.txt", "Quite another text, which shares no more than a few words with anything.");
    let run = folder.run("sources own.txt --against references.jsonl");
    assert_eq!((run.status, run.text()), (Some(1), "covered    0.0 % of 72 characters, by 0 of 4 references\n"));
    assert_eq!(folder.run("sources references.jsonl --against other.txt").status, Some(2), "one document at a time");
}

#[test]
fn a_template_needs_no_source() {
    let folder = documents();
    folder.write("template.txt", FERRY);
    let run = folder.done("sources essay.txt --against references.jsonl --ignore template.txt --json");
    let answer: serde_json::Value = serde_json::from_str(run.text()).unwrap();
    let sources = answer["sources"].as_array().unwrap();
    assert_eq!((sources.len(), &sources[0]["id"]), (1, &"library".into()), "the first that has what is left");
    assert_eq!(answer["covered"], LIBRARY.len());
}
