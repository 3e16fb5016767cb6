//! The report: tables in Markdown.

use std::fmt::Write;

use crate::corpora::Corpus;
use crate::exact_files::{Comparison, Difference};
use crate::labels::Agreement;
use crate::recall::Recall;
use crate::records::Records;

/// The mean recall that every corpus must reach at every threshold.
const PROMISED_RECALL: f64 = 0.99;

/// Everything that was measured on one corpus.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) corpus: &'static Corpus,
    pub(crate) records: usize,
    pub(crate) recalls: Vec<Recall>,
    pub(crate) comparisons: Vec<Comparison>,
    /// The first differences from each exact file, in words.
    pub(crate) differences: Vec<String>,
    pub(crate) agreement: Option<Agreement>,
}

impl Measured {
    /// What is below the promise, in words.
    pub(crate) fn broken_promises(&self) -> Vec<String> {
        let name = self.corpus.name();
        let mut broken = Vec::new();
        for recall in &self.recalls {
            let at = format!("{name} ({}) at {}", self.corpus.cut(), recall.threshold);
            if recall.recall < PROMISED_RECALL {
                broken.push(format!("{at}: recall {:.4}", recall.recall));
            }
            if recall.precision < 1.0 {
                broken.push(format!("{at}: precision {:.6}", recall.precision));
            }
        }
        broken
    }
}

/// The whole page.
pub(crate) fn page(measured: &[Measured], seeds: u64, cpu: &str, seconds: f64) -> String {
    let mut page = String::new();
    header(&mut page, seeds, cpu, seconds);
    let broken: Vec<String> = measured.iter().flat_map(Measured::broken_promises).collect();
    if broken.is_empty() {
        page.push_str("Every mean recall is at least 0.99, and every precision is 1.\n");
    } else {
        page.push_str("**Below the promise:**\n\n");
        for line in broken {
            let _ = writeln!(page, "- {line}");
        }
    }
    recall_table(&mut page, measured);
    exact_table(&mut page, measured);
    labels_table(&mut page, measured);
    cuts(&mut page, measured);
    page
}

fn header(page: &mut String, seeds: u64, cpu: &str, seconds: f64) {
    let _ = write!(
        page,
        "# Quality\n\nWritten by `cargo xtask quality --seeds {seeds}` in {seconds:.0} s on {cpu}. The corpora are real \
         texts and sets that the repository does not hold; the command looks for them in `../shared/data`.\n\n"
    );
}

fn recall_table(page: &mut String, measured: &[Measured]) {
    page.push_str(
        "\n## Sketched runs against the exact answer\n\n\
         Recall: the share of the pairs of `--exact` that a sketched run finds, the mean over the seeds and the worst \
         seed. Identical records are always found; the recall of different ones is beside it. Precision: the share of \
         reported pairs that `--exact` has too, with the same similarity. Bounded: comparisons that the bucket rule left \
         out, with the seed that left out most.\n\n\
         | corpus | records | shingles | threshold | bands | pairs | recall | worst seed | different sets | their recall \
         | precision | bounded |\n|---|---:|---|---:|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for one in measured {
        for recall in &one.recalls {
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} | {:.5} | {:.5} | {} | {:.5} | {} | {} |",
                one.corpus.name(),
                one.records,
                one.corpus.cut(),
                recall.threshold,
                recall.bands,
                recall.pairs,
                recall.recall,
                recall.worst,
                recall.different,
                recall.recall_of_different,
                recall.precision,
                recall.bounded_comparisons
            );
        }
    }
}

fn exact_table(page: &mut String, measured: &[Measured]) {
    page.push_str(
        "\n## The exact answer against exact files made elsewhere\n\n\
         The files were made with another program. Sets below a size that a corpus names take no part. Similarities in \
         the files are rounded, so differences up to half of their last decimal are none. Explained: differences that \
         vanish if words are cut as the file cuts them, by Python's `\\w+`. Ours differ on purpose: combining marks \
         belong to their word, and in scripts written without spaces every character is a word.\n\n\
         | corpus | file | threshold | listed | found | missed | not listed | other similarity | greatest difference \
         | explained |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for one in measured {
        for comparison in &one.comparisons {
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {:.7} | {} |",
                one.corpus.name(),
                comparison.file,
                comparison.threshold,
                comparison.listed,
                comparison.found,
                comparison.missed.len(),
                comparison.unlisted.len(),
                comparison.differing.len(),
                comparison.greatest_difference,
                match comparison.differences().count() {
                    0 => "–".to_string(),
                    count => format!("{} of {count}", comparison.explained),
                }
            );
        }
    }
    page.push_str("\nThe differences, the first of each kind:\n\n");
    for line in measured.iter().flat_map(|one| &one.differences) {
        let _ = writeln!(page, "{line}");
    }
}

fn labels_table(page: &mut String, measured: &[Measured]) {
    page.push_str(
        "\n## Pairs against labels\n\n\
         Labels say what belongs together: the same story, product, person, thought. Similar words are not the same as \
         that, so these numbers say how far shingles carry on each kind of data, at the threshold with the best F1. Where \
         all pairs are judged, thresholds from 0.1 on are tried, in corpora above 20,000 records from 0.3 on.\n\n\
         | corpus | shingles | measure | judged pairs | belong together | threshold | found | precision | recall | F1 |\n\
         |---|---|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for one in measured {
        let Some(agreement) = &one.agreement else { continue };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} | {:.3} | {:.3} | {:.3} |",
            one.corpus.name(),
            one.corpus.cut(),
            agreement.measure,
            agreement.judged,
            agreement.belonging,
            agreement.threshold,
            agreement.found,
            agreement.precision(),
            agreement.recall(),
            agreement.f1()
        );
    }
}

fn cuts(page: &mut String, measured: &[Measured]) {
    page.push_str(
        "\n## Why these shingles\n\nWhere a corpus has an exact file, its shingles are those of the file.\n\n",
    );
    for one in measured.iter().filter(|one| !one.corpus.why.is_empty()) {
        let _ = writeln!(page, "- {}: {}, {}", one.corpus.name(), one.corpus.cut(), one.corpus.why);
    }
    page.push_str(
        "\nLeft out: warc-samples, a few captured pages without exact file or labels; the tests of the reader use such.\n",
    );
}

/// The differences from a file, the first of each kind one by one.
pub(crate) fn tell_differences(corpus: &Corpus, records: &Records, comparison: &Comparison) -> Vec<String> {
    const SHOWN: usize = 5;
    let mut told = Vec::new();
    let kinds: [(&str, &Vec<Difference>); 3] = [
        ("listed and not found", &comparison.missed),
        ("found and not listed", &comparison.unlisted),
        ("on both sides with another similarity", &comparison.differing),
    ];
    for (kind, differences) in kinds.iter().filter(|(_, differences)| !differences.is_empty()) {
        let mut line = format!("- {} against {}, {} {kind}:", corpus.name(), comparison.file, differences.len());
        let similarity = |value: Option<f64>| value.map_or_else(|| "–".to_string(), |value| format!("{value:.6}"));
        for difference in differences.iter().take(SHOWN) {
            let (left, right) = difference.pair;
            let _ = write!(
                line,
                " {} ~ {} (file {}, ours {});",
                records.ids[left],
                records.ids[right],
                similarity(difference.listed),
                similarity(difference.found)
            );
        }
        told.push(line);
    }
    told
}
