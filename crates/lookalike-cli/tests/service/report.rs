//! The report, in a real browser.

use std::process::Command;

use crate::devtools::Browser;

/// A record that would show if it ever became part of the page.
const HOSTILE: &str = "<img src=x onerror=\\\"document.title='taken over'\\\"><script>document.title='taken over'</script> and \
                       then some quite ordinary words";

#[test]
fn a_report_is_a_page_that_asks_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let records: String = ["one more", "yet another", "no"]
        .iter()
        .enumerate()
        .map(|(at, word)| {
            format!("{{\"id\": \"<i>{at}</i>\", \"text\": \"{HOSTILE} that follow it and stay, with {word} at the very end\"}}\n")
        })
        .collect();
    std::fs::write(folder.path().join("in.jsonl"), records).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_lookalike"))
        .args(["dedup", "in.jsonl", "-t", "0.5", "--shingles", "words:3", "-o", "out.jsonl", "--report", "report.html"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let url = format!("file://{}", folder.path().join("report.html").display());
    for size in [(1280, 900), (360, 740)] {
        let Some(mut browser) = Browser::open(&url, size) else { return };
        assert!(browser.text("document.title").contains("2 of 3"), "{}", browser.text("document.title"));
        assert_eq!(browser.evaluate("performance.getEntriesByType('resource').length"), 0);
        assert_eq!(browser.evaluate("document.querySelectorAll('script, img, link, iframe').length"), 0);
        let groups = browser.text("document.querySelector('#groups').textContent");
        assert!(groups.contains("<i>0</i>") && groups.contains("<img src=x"), "{groups}");
        let shared = browser.text("document.querySelector('#borderline mark').textContent");
        assert!(shared.contains("ordinary words"), "{shared}");
        let fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth";
        assert_eq!(browser.evaluate(fits), true, "nothing sticks out at {size:?}");
        assert_eq!(browser.complaints, [""; 0]);
    }
}
