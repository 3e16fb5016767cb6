//! The corpora that quality is measured on, and what is known about each.

/// One corpus: a file, how it is read and cut, and what its answers are compared with.
#[derive(Debug)]
pub(crate) struct Corpus {
    /// Its folder.
    pub(crate) folder: &'static str,
    /// Its file there.
    pub(crate) file: &'static str,
    pub(crate) form: Form,
    /// What texts are cut into; sets are taken as they are.
    pub(crate) shingles: &'static str,
    /// Why those, where no exact file says so.
    pub(crate) why: &'static str,
    pub(crate) exact: &'static [ExactFile],
    pub(crate) labels: Option<Labels>,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// JSONL with `id` and `text`.
    Texts,
    /// JSONL with `id`, `a` and `b`: two records a line.
    SentencePairs,
    /// A set a line; its id is the line's number from 0.
    Sets,
    /// id, photograph and visual words between tabs.
    VisualWords,
    /// A folder of FASTA files: a set of canonical 21-mers each.
    Genomes,
}

/// A file of every pair from a threshold on, made elsewhere.
#[derive(Debug)]
pub(crate) struct ExactFile {
    pub(crate) file: &'static str,
    pub(crate) threshold: f64,
    /// Sets smaller than this take no part in it.
    pub(crate) least_items: usize,
    /// Whether every pair of the corpus is in it, or only those of one label.
    pub(crate) complete: bool,
    /// Decimals of its similarities.
    pub(crate) decimals: i32,
}

/// What people, or the making of the corpus, say is alike.
#[derive(Debug)]
pub(crate) enum Labels {
    /// A file of all pairs that belong together; no other pair does.
    Pairs { file: &'static str, between_sources: bool },
    /// Records with the same values in these fields belong together.
    SameFields(&'static [&'static str]),
    /// A file of pairs, each labelled yes or no; nothing is known about other pairs. The third column is the label.
    Judged { file: &'static str, yes: &'static [&'static str], contained: bool },
    /// Every line of the corpus is a pair, and its label is among these if both belong together.
    JudgedLines { yes: &'static [&'static str] },
}

const fn exact(file: &'static str, threshold: f64) -> ExactFile {
    ExactFile { file, threshold, least_items: 0, complete: true, decimals: 6 }
}

const fn exact_sets(file: &'static str, threshold: f64, least_items: usize) -> ExactFile {
    ExactFile { file, threshold, least_items, complete: true, decimals: 6 }
}

const fn texts(folder: &'static str, file: &'static str, shingles: &'static str) -> Corpus {
    Corpus { folder, file, form: Form::Texts, shingles, why: "", exact: &[], labels: None }
}

const fn sets(folder: &'static str, exact: &'static [ExactFile]) -> Corpus {
    let (file, form) = ("sets.txt.zst", Form::Sets);
    Corpus { folder, file, form, shingles: "", why: "", exact, labels: None }
}

const fn sentences(folder: &'static str, file: &'static str, shingles: &'static str, labels: Labels) -> Corpus {
    let form = Form::SentencePairs;
    Corpus { folder, file, form, shingles, why: "single sentences", exact: &[], labels: Some(labels) }
}

const fn entities(folder: &'static str, file: &'static str, truth: &'static str, between_sources: bool) -> Corpus {
    Corpus {
        why: "short records with misspellings",
        labels: Some(Labels::Pairs { file: truth, between_sources }),
        ..texts(folder, file, "chars:5")
    }
}

const fn clusters(file: &'static str) -> Corpus {
    Corpus {
        why: "a few words each, already stripped of common ones",
        labels: Some(Labels::SameFields(&["cluster"])),
        ..texts("googlenews-tweets-clusters", file, "words:2")
    }
}

/// All of them, in the order of the report.
pub(crate) const CORPORA: &[Corpus] = &[
    Corpus {
        exact: &[exact("exact-w3-j0.3.tsv", 0.3)],
        labels: Some(Labels::Pairs { file: "truth.tsv", between_sources: false }),
        ..texts("articles-minhash", "docs.jsonl.zst", "words:3")
    },
    Corpus {
        exact: &[exact("exact-c9-j0.6.tsv.zst", 0.6)],
        labels: Some(Labels::SameFields(&["lang", "verse"])),
        ..texts("bible-verses", "verses.jsonl.zst", "chars:9")
    },
    Corpus {
        why: "answers of a few sentences, edited word by word",
        labels: Some(Labels::Judged { file: "truth.tsv", yes: &["cut", "light", "heavy"], contained: false }),
        ..texts("clough-short-answers", "docs.jsonl.zst", "words:3")
    },
    Corpus { exact: &[exact("exact-w3-j0.7.tsv", 0.7)], ..texts("code-aisoco", "docs.jsonl.zst", "words:3") },
    Corpus {
        why: "short programs",
        labels: Some(Labels::Judged { file: "truth.tsv", yes: &["1"], contained: false }),
        ..texts("code-irplag", "docs.jsonl.zst", "words:3")
    },
    Corpus {
        why: "programs",
        labels: Some(Labels::SameFields(&["program"])),
        ..texts("code-variants", "docs.jsonl.zst", "words:3")
    },
    entities("er-abt-buy", "records.jsonl.zst", "truth.tsv", true),
    entities("er-cora", "records.jsonl.zst", "truth.tsv.zst", false),
    entities("er-dblp-acm", "records.jsonl.zst", "truth.tsv", true),
    entities("er-febrl", "febrl1.jsonl.zst", "febrl1.truth.tsv", false),
    entities("er-febrl", "febrl3.jsonl.zst", "febrl3.truth.tsv.zst", false),
    entities("er-restaurants", "records.jsonl.zst", "truth.tsv", true),
    entities("er-tmdb-tvdb", "records.jsonl.zst", "truth.tsv", true),
    Corpus {
        folder: "genomes-sourmash",
        file: ".",
        form: Form::Genomes,
        shingles: "",
        why: "",
        exact: &[ExactFile { file: "exact-k21.tsv", threshold: 0.1, least_items: 0, complete: false, decimals: 6 }],
        labels: None,
    },
    clusters("googlenews-titles-snippets.jsonl.zst"),
    clusters("googlenews-titles.jsonl.zst"),
    clusters("tweets.jsonl.zst"),
    Corpus {
        folder: "images-made-copies",
        file: "visual-words.tsv.zst",
        form: Form::VisualWords,
        shingles: "",
        why: "",
        exact: &[ExactFile { file: "truth.tsv.zst", threshold: 0.5, least_items: 0, complete: false, decimals: 4 }],
        labels: Some(Labels::SameFields(&["photo"])),
    },
    Corpus { exact: &[exact("exact-w3-j0.5.tsv", 0.5)], ..texts("licences-debian", "docs.jsonl.zst", "words:3") },
    Corpus { exact: &[exact("exact-w3-j0.5.tsv.zst", 0.5)], ..texts("licences-spdx", "docs.jsonl.zst", "words:3") },
    Corpus {
        why: "whole books with scanning errors",
        labels: Some(Labels::Pairs { file: "truth.tsv", between_sources: false }),
        ..texts("ocr-books-legal", "docs.jsonl.zst", "words:3")
    },
    sentences("pairs-atec-zh", "pairs.jsonl.zst", "words:2", Labels::JudgedLines { yes: &["1"] }),
    sentences("pairs-jsts-ja", "train.jsonl.zst", "words:2", Labels::JudgedLines { yes: &["4", "5"] }),
    sentences("pairs-korean-questions", "train.jsonl.zst", "chars:2", Labels::JudgedLines { yes: &["1"] }),
    sentences("pairs-mrpc", "train.jsonl.zst", "words:2", Labels::JudgedLines { yes: &["1"] }),
    sentences("pairs-pan-paraphrase", "train.jsonl.zst", "words:2", Labels::JudgedLines { yes: &["1"] }),
    sentences("pairs-paraphraser-ru", "pairs.jsonl.zst", "chars:5", Labels::JudgedLines { yes: &["1", "0"] }),
    sentences("pairs-turku-fi-sv", "fi-opus-parsebank-dev.jsonl.zst", "chars:5", Labels::JudgedLines { yes: &["4"] }),
    Corpus {
        why: "passages taken over word by word",
        labels: Some(Labels::Judged {
            file: "pairs.tsv.zst",
            yes: &["no-obfuscation", "random-obfuscation", "translation-obfuscation", "summary-obfuscation"],
            contained: true,
        }),
        ..texts("pan13-text-alignment", "source.jsonl.zst+suspicious.jsonl.zst", "words:3")
    },
    Corpus { exact: &[exact("exact-w3-j0.5.tsv", 0.5)], ..texts("reuters-21578", "docs.jsonl.zst", "words:3") },
    Corpus { exact: &[exact("exact-c9-j0.5.tsv", 0.5)], ..texts("reuters-21578", "docs.jsonl.zst", "chars:9") },
    sets("sets-groceries", &[exact_sets("exact-j0.5.tsv.zst", 0.5, 4), exact_sets("exact-j0.8.tsv", 0.8, 4)]),
    sets("sets-kosarak25k", &[exact_sets("exact-j0.5.tsv.zst", 0.5, 6), exact_sets("exact-j0.8.tsv", 0.8, 6)]),
    sets("sets-msweb", &[exact_sets("exact-j0.8.tsv", 0.8, 6)]),
    sets("sets-mushroom", &[exact_sets("exact-j0.9.tsv.zst", 0.9, 1)]),
    sets("sets-retail", &[exact_sets("exact-j0.5.tsv.zst", 0.5, 5), exact_sets("exact-j0.8.tsv", 0.8, 5)]),
    sets("sets-t10i4d100k", &[exact_sets("exact-j0.8.tsv.zst", 0.8, 6)]),
    Corpus { exact: &[exact("exact-c9-j0.5.tsv", 0.5)], ..texts("sms-spam", "docs.jsonl.zst", "chars:9") },
    Corpus {
        why: "news articles in two languages",
        labels: Some(Labels::Judged { file: "truth.tsv", yes: &["OK"], contained: false }),
        ..texts("telegram-news-pairs", "docs.jsonl.zst", "words:3")
    },
    Corpus {
        exact: &[exact("exact-w3-j0.5.tsv", 0.5)],
        labels: Some(Labels::SameFields(&["story"])),
        ..texts("uci-news-aggregator", "headlines.jsonl.zst", "words:3")
    },
    Corpus { exact: &[exact("exact-c9-j0.2.tsv", 0.2)], ..texts("udhr", "docs.jsonl.zst", "chars:9") },
    Corpus {
        exact: &[ExactFile { file: "truth.tsv.zst", threshold: 0.5, least_items: 0, complete: false, decimals: 4 }],
        labels: Some(Labels::SameFields(&["page"])),
        ..texts("web-extractor-variants", "docs.jsonl.zst", "words:3")
    },
    Corpus { why: "raw HTML, tags included", ..texts("web-html-pages", "pages.jsonl.zst", "auto") },
];

impl Corpus {
    /// What the report calls it.
    pub(crate) fn name(&self) -> String {
        let shared = CORPORA.iter().filter(|corpus| corpus.folder == self.folder && corpus.file != self.file).count();
        let stem = self.file.split('.').next().unwrap_or_default();
        if shared > 0 { format!("{}/{stem}", self.folder) } else { self.folder.to_string() }
    }

    /// What the report says of its cutting.
    pub(crate) fn cut(&self) -> &'static str {
        if self.shingles.is_empty() { "sets" } else { self.shingles }
    }
}
