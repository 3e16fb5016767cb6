//! lookalike.toml and the environment.

use crate::folder::Folder;
use crate::texts::{FERRY, LATE_FERRY, jsonl};

/// Two records that are 0.866667 alike, and a folder to run in.
fn folder() -> Folder {
    let folder = Folder::with("in.jsonl", jsonl(&[("a", FERRY), ("b", LATE_FERRY)]));
    folder.write("deep/er/in.jsonl", folder.read("in.jsonl"));
    folder
}

/// What the program says that must refuse.
fn refused(folder: &Folder, arguments: &str) -> String {
    let run = folder.run(arguments);
    assert_eq!(run.status, Some(2), "lookalike {arguments}: {}", run.stderr);
    run.stderr
}

fn threshold_of(folder: &Folder, under: &str, flags: &str) -> f64 {
    let run = folder.command(&format!("plan --json {flags}")).current_dir(folder.path(under)).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let plan: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    plan["settings"]["threshold"].as_f64().unwrap()
}

#[test]
fn the_nearest_file_upward_counts_and_flags_override_it() {
    let folder = folder();
    assert_eq!(threshold_of(&folder, "deep/er", ""), 0.8);
    folder.write("lookalike.toml", "threshold = 0.9\n");
    assert_eq!(threshold_of(&folder, "deep/er", ""), 0.9);
    folder.write("deep/lookalike.toml", "threshold = 0.6\n");
    assert_eq!(threshold_of(&folder, "deep/er", ""), 0.6);
    assert_eq!(threshold_of(&folder, "", ""), 0.9);
    assert_eq!(threshold_of(&folder, "deep/er", "-t 0.7"), 0.7);
    folder.write("mine.toml", "threshold = 0.5\n");
    assert_eq!(threshold_of(&folder, "", "--config mine.toml"), 0.5);
}

#[test]
fn flags_of_other_commands_are_passed_over() {
    let folder = folder();
    // `dropped` means nothing to pairs, and `quiet` belongs to all.
    folder.write("lookalike.toml", "threshold = 0.9\ndropped = \"dropped.tsv\"\nquiet = true\nexact = false\n");
    let run = folder.done("pairs in.jsonl");
    assert_eq!((run.text(), run.stderr.as_str()), ("", ""));
    folder.done("dedup in.jsonl -t 0.8 -o out.jsonl");
    assert_eq!(folder.text("dropped.tsv"), "b\ta\t0.866667\n");
}

#[test]
fn the_file_in_use_is_neither_overwritten_nor_read_as_records() {
    let folder = folder();
    // Nothing of it concerns pairs, and yet it is in use.
    let content = "dropped = \"dropped.tsv\"\n";
    folder.write("lookalike.toml", content);
    folder.write("mine.toml", content);
    for typed in [
        "dedup in.jsonl -o lookalike.toml",
        "pairs in.jsonl -o ./deep/../lookalike.toml",
        "dedup in.jsonl -o out.jsonl --dropped lookalike.toml",
        "pairs in.jsonl --config mine.toml -o mine.toml",
        "pairs lookalike.toml",
    ] {
        let said = refused(&folder, typed);
        assert!(said.contains("is the configuration file that flags are read from"), "{typed}: {said}");
    }
    assert_eq!((folder.text("lookalike.toml"), folder.text("mine.toml")), (content.into(), content.into()));
    folder.done("pairs in.jsonl -o mine.toml");
    assert_ne!(folder.text("mine.toml"), content, "another file, whatever it is called, may be written");
}

#[test]
fn a_setting_that_cannot_be_is_told_with_the_file_it_may_be_from() {
    let folder = folder();
    folder.write("lookalike.toml", "threshold = 1.5\n");
    let said = refused(&folder, "pairs in.jsonl");
    assert!(said.contains("lookalike.toml") && said.contains("1.5"), "{said}");
    let said = refused(&folder, "pairs in.jsonl -t 1.7 --config empty.toml");
    assert!(said.contains("empty.toml"), "{said}");
    folder.write("empty.toml", "");
    let said = refused(&folder, "pairs in.jsonl -t 1.7 --config empty.toml");
    assert!(said.contains("1.7") && !said.contains(".toml"), "{said}");
}

#[test]
fn lists_and_texts_are_written_as_they_are() {
    let folder =
        Folder::with("in.jsonl", format!("{{\"x\":\"{FERRY}\",\"y\":\"1\"}}\n{{\"x\":\"{FERRY}\",\"y\":\"2\"}}\n"));
    folder.write("lookalike.toml", "text = [\"x\", \"y\"]\nid = \"none\"\nshingles = \"words:1\"\nthreshold = 0.5\n");
    // 15 different words and one number each: 15 of 17 are shared.
    assert_eq!(folder.done("pairs in.jsonl").text(), "in.jsonl:1\tin.jsonl:2\t0.882353\n");
}

#[test]
fn the_environment_sets_resources_and_never_results() {
    let folder = folder();
    let plain = folder.done("pairs in.jsonl");
    let run = |threads: &str| folder.command("pairs in.jsonl").env("LOOKALIKE_THREADS", threads).output().unwrap();
    assert_eq!(run("3").stdout, plain.stdout);
    assert_eq!(run("").stdout, plain.stdout, "set to nothing, it is not set");
    let refused = run("none");
    assert_eq!(refused.status.code(), Some(2), "the variable is read");
    assert!(String::from_utf8(refused.stderr).unwrap().starts_with("error: invalid value 'none'"));
    let before = folder.contents();
    let lost = folder.command("dedup").env("LOOKALIKE_TMP", folder.path("gone")).output().unwrap();
    assert_eq!(lost.status.code(), Some(2), "standard input cannot be copied there");
    assert_eq!(folder.contents(), before);
}

#[test]
fn paths_start_from_the_folder_of_the_file() {
    let folder = folder();
    folder.write("lookalike.toml", "dropped = \"lists/dropped.tsv\"\nthreshold = 0.8\n");
    std::fs::create_dir(folder.path("lists")).unwrap();
    let run = folder.command("dedup in.jsonl -o out.jsonl").current_dir(folder.path("deep/er")).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(folder.text("lists/dropped.tsv"), "b\ta\t0.866667\n");
    folder.write("deep/mine.toml", "dropped = \"mine.tsv\"\n");
    folder.done("dedup in.jsonl -o out.jsonl --config deep/mine.toml");
    assert_eq!(folder.text("deep/mine.tsv"), "b\ta\t0.866667\n");
    folder.write("deep/mine.toml", "dropped = \"-\"\n");
    assert_eq!(folder.done("dedup in.jsonl -o out.jsonl --config deep/mine.toml").text(), "b\ta\t0.866667\n");
}

#[test]
fn a_list_of_files_is_given_file_by_file_and_what_is_typed_takes_its_place() {
    let folder = folder();
    folder.write("new.jsonl", jsonl(&[("c", FERRY), ("d", LATE_FERRY)]));
    folder.write("one.txt", FERRY);
    folder.write("two.txt", LATE_FERRY);
    folder.write("lookalike.toml", "ignore = [\"one.txt\", \"two.txt\"]\n");
    assert_eq!(folder.done("pairs in.jsonl").text(), "", "nothing is left of either record");
    folder.write("lookalike.toml", "against = [\"in.jsonl\", \"deep/er/in.jsonl\"]\n");
    folder.write("deep/er/in.jsonl", jsonl(&[("x", LATE_FERRY)]));
    let kept = |arguments: &str| folder.done(arguments).text().lines().count();
    assert_eq!(kept("dedup new.jsonl"), 0);
    folder.write("other.jsonl", jsonl(&[("y", "nothing that is like any of these texts")]));
    assert_eq!(kept("dedup new.jsonl --against other.jsonl"), 1);
}
