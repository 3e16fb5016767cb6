//! The records of a corpus in memory, with whatever its labels need.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use lookalike::{Outcome, Plan, hash_item};
use lookalike_io::Compression;
use lookalike_io::compression::open_decompressed;
use serde_json::Value;

use crate::corpora::{Corpus, Form};

/// All records of a corpus, in the order of its file.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) ids: Vec<String>,
    pub(crate) contents: Contents,
    /// The other fields of each record.
    pub(crate) fields: Vec<HashMap<String, String>>,
}

/// What the records are.
#[derive(Debug)]
pub(crate) enum Contents {
    Texts(Vec<String>),
    Sets(Vec<Vec<u64>>),
}

impl Default for Contents {
    fn default() -> Self {
        Self::Texts(Vec::new())
    }
}

impl Records {
    /// Reads a corpus under `data`.
    pub(crate) fn read(data: &Path, corpus: &Corpus) -> Result<Self> {
        let folder = data.join(corpus.folder);
        let mut records = Self::default();
        if corpus.form == Form::Genomes {
            records.contents = Contents::Sets(Vec::new());
            records.read_genomes(&folder)?;
            return Ok(records);
        }
        for file in corpus.file.split('+') {
            let text = read_text(&folder.join(file))?;
            match corpus.form {
                Form::Texts => records.push_jsonl(&text, &[("", "text")])?,
                Form::SentencePairs => records.push_jsonl(&text, &[("/a", "a"), ("/b", "b")])?,
                Form::Sets => {
                    let sets = text.lines().enumerate().map(|(number, line)| (number.to_string(), None, line));
                    records.push_sets(sets);
                }
                Form::VisualWords => {
                    let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
                        let mut columns = line.splitn(3, '\t');
                        let mut column = || columns.next().unwrap_or_default();
                        (column().to_string(), Some(column()), column())
                    });
                    records.push_sets(rows);
                }
                Form::Genomes => {}
            }
        }
        Ok(records)
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Runs a plan on the records at these indices.
    pub(crate) fn run(&self, plan: &Plan, indices: &[usize]) -> lookalike::Result<Outcome> {
        match &self.contents {
            Contents::Texts(texts) => plan.run(indices.iter().map(|index| &texts[*index])),
            Contents::Sets(sets) => plan.run_sets(indices.iter().map(|index| sets[*index].iter().copied())),
        }
    }

    /// How many items a record has; texts have any number.
    pub(crate) fn items(&self, index: usize) -> usize {
        match &self.contents {
            Contents::Texts(_) => usize::MAX,
            Contents::Sets(sets) => sets[index].len(),
        }
    }

    /// Where each id stands.
    pub(crate) fn by_id(&self) -> HashMap<&str, usize> {
        self.ids.iter().enumerate().map(|(index, id)| (id.as_str(), index)).collect()
    }

    fn push_jsonl(&mut self, lines: &str, texts: &[(&str, &str)]) -> Result<()> {
        let Contents::Texts(contents) = &mut self.contents else { bail!("a corpus is of texts or of sets") };
        for line in lines.lines() {
            let object: HashMap<String, Value> = serde_json::from_str(line).context("a line is no JSON object")?;
            let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
            let id = object.get("id").map(plain).context("a record has no id")?;
            for (suffix, field) in texts {
                let text = object.get(*field).and_then(Value::as_str).context("a record has no text")?;
                self.ids.push(format!("{id}{suffix}"));
                contents.push(text.to_string());
                let others = object.iter().filter(|(name, _)| *name != field && *name != "id");
                self.fields.push(others.map(|(name, value)| (name.clone(), plain(value))).collect());
            }
        }
        Ok(())
    }

    fn push_sets<'a>(&mut self, rows: impl Iterator<Item = (String, Option<&'a str>, &'a str)>) {
        let mut sets = Vec::new();
        for (id, photo, items) in rows {
            self.ids.push(id);
            self.fields.push(photo.map(|photo| ("photo".to_string(), photo.to_string())).into_iter().collect());
            sets.push(items.split_ascii_whitespace().map(|item| hash_item(item.as_bytes())).collect());
        }
        self.contents = Contents::Sets(sets);
    }

    fn read_genomes(&mut self, folder: &Path) -> Result<()> {
        let Contents::Sets(sets) = &mut self.contents else { bail!("genomes are sets") };
        let mut paths: Vec<_> =
            folder.read_dir()?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        paths.sort();
        for path in paths {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some(id) = name.strip_suffix(".fa.gz") else { continue };
            sets.push(canonical_mers(&read_text(&path)?));
            self.ids.push(id.to_string());
            self.fields.push(HashMap::new());
        }
        Ok(())
    }
}

/// A whole file, decompressed.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let mut start = Vec::new();
    std::fs::File::open(path)
        .with_context(|| format!("cannot read {}", path.display()))?
        .take(4)
        .read_to_end(&mut start)?;
    let mut text = String::new();
    open_decompressed(path, Compression::detect(&start))?.read_to_string(&mut text)?;
    Ok(text)
}

/// The rows of a file of tab-separated values; the first line is a comment.
pub(crate) fn read_rows(path: &Path) -> Result<Vec<Vec<String>>> {
    let rows = read_text(path)?;
    Ok(rows
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split('\t').map(str::to_string).collect())
        .collect())
}

/// The 21-mers of a FASTA file, each as the lesser of itself and its reverse complement.
fn canonical_mers(fasta: &str) -> Vec<u64> {
    const K: usize = 21;
    let mut mers = Vec::new();
    for sequence in fasta.split('>') {
        let bases: Vec<u8> = sequence.lines().skip(1).flat_map(|line| line.trim().bytes()).collect();
        let complement: Vec<u8> = bases
            .iter()
            .map(|base| match base.to_ascii_uppercase() {
                b'A' => b'T',
                b'C' => b'G',
                b'G' => b'C',
                b'T' => b'A',
                _ => b'N',
            })
            .collect();
        for (mer, pairing) in bases.windows(K).zip(complement.windows(K)) {
            let forth: Vec<u8> = mer.iter().map(u8::to_ascii_uppercase).collect();
            let back: Vec<u8> = pairing.iter().rev().copied().collect();
            if !back.contains(&b'N') {
                mers.push(hash_item(if forth < back { &forth } else { &back }));
            }
        }
    }
    mers.sort_unstable();
    mers.dedup();
    mers
}
