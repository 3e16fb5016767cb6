//! How the program behaves among others: status, silence, summary, pipes, interruption, help.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::folder::Folder;
use crate::packing::write_parquet;
use crate::texts::{FERRY, LATE_FERRY, LIBRARY, jsonl};

fn with_duplicates() -> Folder {
    Folder::with("in.jsonl", jsonl(&[("a", FERRY), ("b", LATE_FERRY), ("c", LIBRARY)]))
}

#[test]
fn check_answers_by_its_status_and_writes_nothing() {
    let folder = with_duplicates();
    let run = folder.run("dedup in.jsonl --check -o out.jsonl");
    assert_eq!((run.status, run.text()), (Some(1), ""));
    let run = folder.run("dedup in.jsonl --check -t 0.9");
    assert_eq!((run.status, run.text()), (Some(0), ""));
    assert_eq!(folder.names(), ["in.jsonl"]);
}

#[test]
fn a_dry_run_says_what_would_be_dropped_and_writes_nothing() {
    let folder = with_duplicates();
    for flag in ["-n", "--dry-run"] {
        let run = folder.done(&format!("dedup in.jsonl {flag} -o out.jsonl"));
        assert_eq!(run.text(), "");
        assert!(run.stderr.contains("3 records: 2 kept, 1 dropped (33.3 %)"), "{}", run.stderr);
        assert_eq!(folder.names(), ["in.jsonl"]);
    }
}

#[test]
fn every_command_says_what_it_found() {
    let folder = with_duplicates();
    let run = folder.done("pairs in.jsonl");
    assert!(run.stderr.contains("\n3 records: 1 pairs, 1 groups, largest 2, "), "{}", run.stderr);
    let run = folder.done("pairs in.jsonl --json");
    let summary: serde_json::Value = serde_json::from_str(&run.stderr).expect("all that is said is JSON");
    assert_eq!(summary["pairs"], 1);
    folder.done("index build i in.jsonl");
    let run = folder.done("query i in.jsonl");
    assert_eq!(run.stderr, "3 of 3 records are like an item of the index\n");
    folder.write("other.jsonl", jsonl(&[("x", "nothing that anybody has seen before in any of these")]));
    let run = folder.run("query i other.jsonl --json");
    let summary: serde_json::Value = serde_json::from_str(&run.stderr).expect("all that is said is JSON");
    assert_eq!((run.status, &summary["records"], &summary["alike"]), (Some(1), &1.into(), &0.into()));
    assert_eq!(folder.run("query i other.jsonl -q").stderr, "");
    let info: serde_json::Value = serde_json::from_slice(&folder.done("index info i --json").stdout).unwrap();
    assert_eq!((&info["items"], &info["settings"]["threshold"]), (&3.into(), &0.8.into()));
}

#[test]
fn verbose_says_the_plan_the_stages_and_which_file_flags_are_from() {
    let folder = with_duplicates();
    folder.write("lookalike.toml", "threshold = 0.7\n");
    let run = folder.done("dedup in.jsonl -v -o out.jsonl");
    for said in ["lookalike.toml", "≥ 0.7", "\nread ", " s, 3 records of ", "\nband ", "\nverify ", "\nwrite "] {
        assert!(run.stderr.contains(said), "{said:?} is not in {}", run.stderr);
    }
}

#[test]
fn one_text_of_many_lines_is_one_record_and_that_is_said() {
    let folder = Folder::with("items.txt", "one\ntwo\n");
    let note = "items.txt is one record";
    assert!(folder.done("pairs items.txt").stderr.contains(note));
    for typed in ["pairs items.txt --input-format txt", "pairs items.txt --input-format lines", "pairs items.txt -q"] {
        assert!(!folder.done(typed).stderr.contains(note), "{typed}");
    }
}

#[test]
fn sweeping_pairs_says_what_they_cannot_tell() {
    let folder = with_duplicates();
    folder.done("pairs in.jsonl -o pairs.tsv");
    let note = "the least alike of these pairs are 0.866667 alike";
    assert!(folder.done("sweep --pairs pairs.tsv -t 0.3").stderr.contains(note));
    assert_eq!(folder.done("sweep --pairs pairs.tsv").stderr, "");
    assert_eq!(folder.done("sweep --pairs pairs.tsv -t 0.85").stderr, "");
}

#[test]
fn the_summary_is_one_line_or_json_or_nothing() {
    let folder = with_duplicates();
    folder.write("in.jsonl", folder.text("in.jsonl") + &jsonl(&[("d", ""), ("e", "short one"), ("f", FERRY)]));
    let run = folder.done("groups in.jsonl");
    let line = "6 records: 4 kept, 2 dropped (33.3 %), 1 groups, largest 3, 1 empty, 1 short, 0 bad; ";
    assert!(run.stderr.starts_with(line) && run.stderr.lines().count() == 1, "{}", run.stderr);

    let run = folder.done("groups in.jsonl --json");
    let summary: serde_json::Value = serde_json::from_str(&run.stderr).expect("all that is said is JSON");
    for (field, count) in [
        ("records", 6),
        ("kept", 4),
        ("dropped", 2),
        ("groups", 1),
        ("largest", 3),
        ("empty", 1),
        ("short", 1),
        ("bad", 0),
        ("old", 0),
        ("alike", 1),
        ("bytes", folder.read("in.jsonl").len()),
    ] {
        assert_eq!(summary[field], count, "{field} of {summary}");
    }
    assert!(summary["seconds"].as_f64().unwrap() > 0.0);
    assert!(summary["finds_at_threshold"].as_f64().unwrap() >= 0.99);

    for command in ["dedup in.jsonl -q", "pairs in.jsonl --quiet", "groups -q in.jsonl", "-q audit in.jsonl"] {
        let run = folder.done(command);
        assert_eq!(run.stderr, "", "{command}");
        assert!(!run.stdout.is_empty(), "{command}: silence is about talk, not about data");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    // Every output is larger than what a pipe holds by itself.
    let long_id = |id: usize| format!("{id:0>300}");
    let folder = Folder::with("same.jsonl", (0..400).map(|id| jsonl(&[(&long_id(id), FERRY)])).collect::<String>());
    folder.write("different.jsonl", (0..1_000).map(|id| jsonl(&[(&long_id(id), &id.to_string())])).collect::<String>());
    // What is packed must not become small.
    let number = |id: usize| format!("{:x}", (id as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
    let odd_id = |id: usize| (0..10).map(|at| number(1_000 * at + id)).collect::<String>();
    let rows: Vec<(String, String)> = (0..1_000).map(|id| (odd_id(id), id.to_string())).collect();
    let rows: Vec<(&str, &str)> = rows.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    write_parquet(&folder.path("different.parquet"), &rows);
    let same: String = rows.iter().map(|(id, _)| jsonl(&[(id, FERRY)])).collect();
    folder.write("odd.jsonl", same);
    for arguments in [
        "dedup different.parquet",
        "dedup different.parquet --annotate",
        "groups odd.jsonl --format parquet",
        "dedup different.jsonl",
        "dedup different.jsonl --annotate",
        "pairs same.jsonl",
        "pairs same.jsonl --format jsonl",
        "pairs same.jsonl --format csv",
        "groups same.jsonl",
        "groups same.jsonl --format jsonl",
        "groups same.jsonl --format csv",
    ] {
        let mut child = folder.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut start = [0; 64];
        child.stdout.take().unwrap().read_exact(&mut start).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {said}");
        assert!(!said.contains("error"), "{arguments}: {said}");
    }
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let folder = Folder::new();
    let mut child = folder
        .command("dedup -o out.jsonl")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The copy of standard input shows that the program is at work, and listens.
    let patience = Instant::now() + Duration::from_secs(30);
    while folder.names().is_empty() {
        assert!(Instant::now() < patience, "the program never began to read");
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(killed.success());
    // Standard input stays open, and silent: the program must not wait for its end.
    let silent = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(silent);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "interrupted: nothing was written\n");
    assert!(folder.names().is_empty(), "{:?} are left", folder.names());
}

#[test]
fn help_and_version_are_data() {
    let folder = Folder::new();
    let run = folder.done("--help");
    for command in ["dedup", "pairs", "groups", "compare", "plan", "audit", "serve", "generate"] {
        assert!(run.text().contains(&format!("\n  {command} ")), "{command} is not in the help");
        let help = folder.done(&format!("{command} --help"));
        assert!(help.text().contains(&format!("Usage: lookalike {command}")), "{}", help.text());
        assert_eq!(help.stderr, "");
    }
    assert_eq!(folder.done("--version").text(), concat!("lookalike ", env!("CARGO_PKG_VERSION"), "\n"));
    let run = folder.run("");
    assert_eq!((run.status, run.text()), (Some(2), ""), "without a command there is nothing to do");
    assert!(run.stderr.contains("Usage: lookalike"), "{}", run.stderr);
}

#[test]
fn what_is_generated_knows_the_flags() {
    let folder = Folder::new();
    let man = folder.done("generate man");
    assert!(man.text().starts_with(".ie") || man.text().starts_with(".TH"), "{}", &man.text()[..80]);
    assert!(man.text().contains(".TH lookalike 1") && man.text().contains("LOOKALIKE DEDUP"));
    assert!(man.text().contains("\\-\\-threshold"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let completion = folder.done(&format!("generate completion {shell}"));
        for word in ["dedup", "threshold", "on-error"] {
            assert!(completion.text().contains(word), "{shell} does not know {word}");
        }
    }
    let schema = folder.done("generate config-schema");
    let schema: serde_json::Value = serde_json::from_str(schema.text()).unwrap();
    assert_eq!(schema["properties"]["exact"]["type"], "boolean");
    assert!(schema["properties"]["threshold"]["type"].as_array().unwrap().contains(&"number".into()));
    assert!(schema["properties"].get("config").is_none(), "a configuration file cannot name another");
}

#[test]
fn plan_explains_and_draws() {
    let folder = Folder::new();
    let run = folder.done("plan --bands 20x5 -t 0.5 --svg curve.svg --json");
    let plan: serde_json::Value = serde_json::from_str(run.text()).unwrap();
    assert_eq!(plan["scheme"]["bands"], "20x5");
    assert_eq!(plan["scheme"]["hashes"], 100);
    // The textbook's curve, 1 − (1 − s⁵)²⁰, less what the filter before the check may lose.
    for (tenth, found) in [(6, 0.802), (7, 0.975), (8, 0.9996)] {
        let told = plan["curve"][tenth - 1]["found"].as_f64().unwrap();
        assert!((told - found).abs() < 0.01, "{told} instead of {found} at 0.{tenth}");
    }
    assert!(folder.text("curve.svg").starts_with("<svg"));
    let said = folder.done("plan -t 0.8");
    assert!(said.text().contains("nfc,lower") && said.text().contains("words:5"), "{}", said.text());
}

#[test]
fn audit_measures_on_the_data() {
    let folder = with_duplicates();
    let run = folder.done("audit in.jsonl --sample 3 --json");
    let audit: serde_json::Value = serde_json::from_str(run.text()).unwrap();
    assert_eq!((&audit["records"], &audit["sampled"]), (&3.into(), &3.into()), "{audit}");
}
