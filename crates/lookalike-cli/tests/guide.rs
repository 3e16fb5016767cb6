//! The guide and the README are true: their command lines run, and print what they say.

use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_lookalike");

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder with copies of the example data.
fn folder_with_examples() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(repository().join("examples/data")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    folder
}

/// The commands of the console blocks of a page, each with the lines that it should print.
fn sessions(page: &str) -> Vec<(String, Vec<String>)> {
    let mut sessions: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("$ ") {
            _ if line == "```console" => inside = true,
            _ if line == "```" => inside = false,
            Some(command) if inside => sessions.push((command.into(), Vec::new())),
            None if inside && !line.is_empty() => {
                sessions.last_mut().expect("a command comes first").1.push(line.into());
            }
            _ => {}
        }
    }
    sessions
}

/// Whether a line is what was expected, `[..]` standing for anything.
fn line_matches(expected: &str, line: &str) -> bool {
    let mut parts = expected.split("[..]");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    for (at, part) in parts.iter().enumerate() {
        if at + 1 == parts.len() {
            return rest.ends_with(part);
        }
        let Some(found) = rest.find(part) else { return false };
        rest = &rest[found + part.len()..];
    }
    rest.is_empty()
}

/// Whether the output is what was expected, a line `...` standing for any lines up to the end.
fn output_matches(expected: &[String], output: &str) -> bool {
    let mut lines = output.lines();
    for expected in expected {
        if expected == "..." {
            return true;
        }
        if !lines.next().is_some_and(|line| line_matches(expected, line)) {
            return false;
        }
    }
    lines.next().is_none()
}

#[test]
fn the_guide_is_true() {
    let folder = folder_with_examples();
    let page = std::fs::read_to_string(repository().join("docs/guide.md")).unwrap();
    let sessions = sessions(&page);
    assert!(sessions.len() >= 5, "the guide shows commands");
    for (command, expected) in sessions {
        let mut words = command.split_whitespace();
        assert_eq!(words.next(), Some("lookalike"), "{command}");
        let output = Command::new(PROGRAM).args(words).current_dir(folder.path()).output().unwrap();
        let (out, talk) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{command}: {talk}");
        assert!(output_matches(&expected, &out), "{command} printed\n{out}\ninstead of\n{}", expected.join("\n"));
    }
}

#[test]
fn the_readme_is_true() {
    let folder = folder_with_examples();
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let command = readme.lines().find_map(|line| line.trim().strip_prefix("cargo run --release -- ")).unwrap();
    let words = command.split_whitespace().map(|word| word.strip_prefix("examples/data/").unwrap_or(word));
    let output = Command::new(PROGRAM).args(words).current_dir(folder.path()).output().unwrap();
    let talk = String::from_utf8(output.stderr).unwrap();
    let said = readme.lines().find(|line| line.contains(" records: ")).unwrap().trim().trim_end_matches('…').trim_end();
    assert!(output.status.success() && talk.starts_with(said), "{talk}\ninstead of\n{said}");
    assert!(folder.path().join("clean.jsonl").exists() && folder.path().join("dropped.tsv").exists());
    // Every command line that the README shows is one that the program takes.
    for line in readme.lines().filter_map(|line| line.trim().strip_prefix("lookalike ")) {
        let words: Vec<_> = line.split(" #").next().unwrap_or_default().split_whitespace().collect();
        let output = Command::new(PROGRAM).args(words).current_dir(folder.path()).output().unwrap();
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(!talk.contains("Usage:"), "{line}: {talk}");
    }
}

#[test]
fn the_matcher_can_say_no() {
    assert!(line_matches("a [..] c", "a b c") && line_matches("a[..]", "a") && line_matches("x", "x"));
    assert!(!line_matches("a [..] c", "a b d") && !line_matches("x", "xy") && !line_matches("a[..]b", "b"));
    assert!(!output_matches(&["a".into()], "a\nb") && output_matches(&["a".into(), "...".into()], "a\nb\nc"));
}
