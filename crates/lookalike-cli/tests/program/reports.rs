//! The report for people, and the thresholds that a run can be asked about.

use crate::folder::Folder;
use crate::texts::{FERRY, LATE_FERRY, LIBRARY, corpus, jsonl};

/// A text that would become part of the page if nobody stopped it.
const HOSTILE: &str =
    "</div><script>alert(1)</script> & \"quoted\" words that go on for a while, so that they make shingles";

fn hostile() -> Folder {
    let changed = HOSTILE.to_owned() + " and end differently here";
    let near = LATE_FERRY.to_owned() + " but nobody on the quay minded it much that evening, we were told by the crew";
    let records =
        [("<b>1</b>", HOSTILE), ("2", &changed), ("a", FERRY), ("b", LATE_FERRY), ("c", LIBRARY), ("d", &near)];
    Folder::with("in.jsonl", jsonl(&records))
}

#[test]
fn every_command_that_compares_can_report() {
    let folder = hostile();
    for command in ["dedup -o out.jsonl", "pairs -o out.tsv", "groups -o out.tsv", "audit --sample 10"] {
        folder.done(&format!("{command} in.jsonl -t 0.5 --report report.html"));
        let report = folder.text("report.html");
        for section in ["plan", "groups", "borderline", "buckets", "sources", "odd"] {
            assert!(report.contains(&format!("<section id=\"{section}\">")), "{command}: no {section}");
        }
        assert_eq!(report.contains("Measured on this data"), command.starts_with("audit"), "{command}");
        assert!(report.contains("<svg") && report.contains("in.jsonl"), "{command}");
        // What comes from the data is text, and nothing is asked of anybody.
        assert!(!report.contains("<script") && !report.contains("<b>1"), "{command}");
        assert!(report.contains("&lt;script&gt;alert(1)") && report.contains("&lt;b&gt;1&lt;"), "{command}");
        for outside in ["http:", "https:", "url(", "src=", "@import", "<link"] {
            assert!(!report.contains(outside), "{command}: {outside}");
        }
    }
}

#[test]
fn the_borderline_is_shown_from_both_sides() {
    let folder = hostile();
    let pairs = folder.done("pairs in.jsonl -t 0.3").text().to_owned();
    let similarity = |left: &str, right: &str| -> f64 {
        let line = pairs.lines().find(|line| line.starts_with(&format!("{left}\t{right}\t"))).unwrap();
        line.rsplit('\t').next().unwrap().parse().unwrap()
    };
    let (above, below) = (similarity("a", "b"), similarity("b", "d"));
    assert!(above > 0.8 && below < 0.5, "{pairs}");
    folder.done("pairs in.jsonl -t 0.5 --bands random:200x1 -o out.tsv --report report.html");
    let report = folder.text("report.html");
    let (_, border) = report.split_once("Just above").unwrap();
    let (alike, apart) = border.split_once("Just below").unwrap();
    let (apart, _) = apart.split_once("</section>").unwrap();
    assert!(alike.contains(&format!("{above:.4} · a and b")), "{alike}");
    assert!(apart.contains(&format!("{below:.4} · b and d")), "{apart}");
    assert!(alike.contains("<mark>") && !alike.contains("b and d"), "{alike}");
}

#[test]
fn a_report_is_small_whatever_it_reports_on() {
    let folder = Folder::with("in.jsonl", corpus(20_000));
    folder.done("dedup in.jsonl -t 0.5 -o out.jsonl --report report.html");
    let size = folder.read("report.html").len();
    assert!((5_000..400_000).contains(&size), "{size}");
}

#[test]
fn a_report_appears_whole_or_not_at_all() {
    let folder = hostile();
    let refused = folder.run("dedup in.jsonl -o out.jsonl --report in.jsonl");
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    let twice = folder.run("pairs in.jsonl -o same --report same");
    assert!(twice.status == Some(2) && twice.stderr.contains("two outputs"), "{}", twice.stderr);
    let nowhere = folder.run("groups in.jsonl --report nowhere/report.html");
    assert!(nowhere.status == Some(2) && nowhere.stderr.contains("no folder"), "{}", nowhere.stderr);
    folder.write("broken.jsonl", "{\"id\": 1, \"text\": \n");
    let failed = folder.run("dedup broken.jsonl -o out.jsonl --report report.html");
    assert_eq!(failed.status, Some(2), "{}", failed.stderr);
    assert_eq!(folder.names(), ["broken.jsonl", "in.jsonl"]);
}

#[test]
fn sets_and_items_of_an_index_have_no_text_to_show() {
    let folder = Folder::with("in.sets", "milk bread eggs\nbread milk eggs beer\n");
    folder.done("dedup in.sets -t 0.7 --input-format sets -o out.sets --report report.html");
    assert!(folder.text("report.html").contains("there is no text to show"));
    let folder = hostile();
    folder.done("index build old.idx in.jsonl");
    folder.write("new.jsonl", jsonl(&[("new", FERRY)]));
    folder.done("dedup new.jsonl --against old.idx -o out.jsonl --report report.html");
    assert!(folder.text("report.html").contains("1 of 1 records"));
}

#[test]
fn a_sweep_is_a_run_at_each_threshold() {
    let folder = Folder::with("in.jsonl", corpus(3_000));
    let bands = "--bands random:60x4";
    let swept = folder.done(&format!("sweep in.jsonl -t 0.4 --step 0.1 {bands}"));
    let lines: Vec<Vec<&str>> = swept.text().lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.iter().map(|line| line[0]).collect::<Vec<_>>(), ["0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"]);
    for line in &lines {
        let run = folder.done(&format!("dedup in.jsonl -n --json -t {} {bands}", line[0]));
        let counts: serde_json::Value = serde_json::from_str(run.stderr.trim()).unwrap();
        let counted = ["dropped", "kept", "groups", "largest"].map(|name| counts[name].to_string());
        assert_eq!(line[1..], counted, "at {}", line[0]);
    }
    let dropped: Vec<u64> = lines.iter().map(|line| line[1].parse().unwrap()).collect();
    assert!(dropped[0] > dropped[4] && dropped[4] > 0, "{dropped:?}");
    let json = folder.done("sweep in.jsonl --json");
    let json: serde_json::Value = serde_json::from_str(json.text()).unwrap();
    assert_eq!((json[0]["threshold"].as_f64(), json.as_array().unwrap().len()), (Some(0.5), 11));
    let refused = folder.run("sweep in.jsonl --group connected");
    assert!(refused.status == Some(2) && refused.stderr.contains("anchored"), "{}", refused.stderr);
}

#[test]
fn pairs_that_were_written_before_can_be_swept() {
    let folder = Folder::with("in.jsonl", corpus(3_000));
    let swept = folder.done("sweep in.jsonl -t 0.6 --step 0.1 -q").text().to_owned();
    for name in ["pairs.tsv", "pairs.jsonl", "pairs.csv", "pairs.parquet"] {
        folder.done(&format!("pairs in.jsonl -t 0.6 -o {name}"));
        assert_eq!(
            folder.done(&format!("sweep --pairs {name} --records 3000 -t 0.6 --step 0.1")).text(),
            swept,
            "{name}"
        );
    }
    let unknown = folder.done("sweep --pairs pairs.tsv --step 0.1");
    let lines: Vec<&str> = unknown.text().lines().collect();
    assert!(lines[0].starts_with("0.5\t") || lines[0].starts_with("0.6\t"), "{lines:?}");
    assert!(lines.iter().all(|line| line.split('\t').nth(2) == Some("-")), "{lines:?}");
    folder.write("broken.tsv", "a\tb\t0.9\na\tc\n");
    let refused = folder.run("sweep --pairs broken.tsv");
    assert!(refused.status == Some(2) && refused.stderr.contains("broken.tsv, line 2"), "{}", refused.stderr);
    folder.write("broken.jsonl", "{\"left\": \"a\", \"right\": \"b\"}\n");
    let refused = folder.run("sweep --pairs broken.jsonl");
    assert!(refused.status == Some(2) && refused.stderr.contains("record 1: this is no pair"), "{}", refused.stderr);
    let refused = folder.run("sweep --pairs pairs.tsv --keep longest");
    assert!(refused.status == Some(2) && refused.stderr.contains("leave --keep"), "{}", refused.stderr);
}

#[test]
fn what_is_alike_can_be_said_by_edits() {
    let text =
        "the ferry to the island leaves at nine in the morning and returns late in the evening on every day but sunday";
    let edited = text.replace("island", "islands").replace("late", "lately");
    let records = jsonl(&[("a", text), ("b", &edited), ("c", LIBRARY)]);
    for name in ["in.jsonl", "in.jsonl.gz"] {
        let folder = Folder::new();
        if name.ends_with("gz") {
            folder.write(name, crate::packing::gzip(records.as_bytes()));
        } else {
            folder.write(name, &records);
        }
        let flags = "-t 0.95 --verify edit --bands random:200x1";
        let found = folder.done(&format!("pairs {name} {flags}"));
        let expected = 1.0 - 3.0 / edited.len() as f64;
        assert_eq!(found.text(), format!("a\tb\t{expected:.6}\n"), "{}", found.stderr);
        assert!(found.stderr.contains("not for edits"), "{}", found.stderr);
        assert_eq!(folder.done(&format!("pairs {name} -t 0.95 --bands random:200x1")).text(), "");
        folder.done(&format!("index build old.idx {name} -t 0.95"));
        let refused = folder.run(&format!("dedup {name} --against old.idx -t 0.95 --verify edit -n"));
        assert!(refused.status == Some(2) && refused.stderr.contains("edits cannot be counted"), "{}", refused.stderr);
    }
}

#[test]
fn a_size_to_aim_at_decides_the_threshold() {
    let folder = Folder::with("in.jsonl", corpus(3_000));
    let kept = |threshold: &str| {
        let run = folder.done(&format!("dedup in.jsonl -n --json -t {threshold} --bands random:60x4"));
        serde_json::from_str::<serde_json::Value>(run.stderr.trim()).unwrap()["kept"].as_u64().unwrap()
    };
    let (few, many) = (kept("0.4"), kept("0.9"));
    let size = few.midpoint(many);
    let aimed = folder.done(&format!("dedup in.jsonl -t 0.4 --bands random:60x4 --target-size {size} -o out.jsonl"));
    let written = folder.text("out.jsonl").lines().count() as u64;
    assert!(written <= size && written > few, "{few} {size} {written} {many}");
    let threshold = aimed.stderr.split_once("a threshold of ").unwrap().1.split(' ').next().unwrap();
    assert_eq!(kept(&threshold.parse::<f64>().map(|value| value - 1e-6).unwrap().to_string()), written);
    let impossible = folder.run("dedup in.jsonl -t 0.9 --target-size 1 -o other.jsonl");
    assert!(impossible.status == Some(2) && impossible.stderr.contains("lower threshold"), "{}", impossible.stderr);
}
