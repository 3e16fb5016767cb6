//! `lookalike sources`: which parts of a document come from where.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use lookalike::{Content, Document, Explanation, Normalize, Passage, Settings, Snapshot, Stage, Watch};
use lookalike_io::{Chunk, Inputs, Parsed, Reader, read_all};
use rayon::prelude::*;

use crate::answer::SourcesAnswer;
use crate::arguments::{GlobalArguments, ReadArguments, ResourceArguments};
use crate::exit::Exit;
use crate::intake::read_one_text;
use crate::interrupt;
use crate::names::{Records, Stretch};
use crate::progress::Progress;
use crate::skipped;
use crate::stdin::Stdin;

/// What `sources` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
The first source explains most of the document, the second most of the rest, and so on. Passages are found verbatim or
reworded. The exit status is 1 if no part of the document is found anywhere.")]
pub(crate) struct SourcesArguments {
    /// The document, or - for standard input
    document: PathBuf,
    /// Where it may come from: files, folders, globs, or an index that stores texts
    #[arg(long, value_name = "FILES|INDEX", required = true, num_args = 1, action = clap::ArgAction::Append)]
    against: Vec<PathBuf>,
    /// Leave out what the document has from this file: a template, a licence
    #[arg(long, value_name = "FILE", num_args = 1, action = clap::ArgAction::Append)]
    ignore: Vec<PathBuf>,
    /// The most sources to show
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// What is made equal: a list of nfc, nfkc, lower, accents, digits, punct, space, or none [default: nfc,lower]
    #[arg(long, value_name = "LIST")]
    normalize: Option<Normalize>,
    #[command(flatten)]
    read: ReadArguments,
    #[command(flatten)]
    resources: ResourceArguments,
}

/// A reference that shares passages with the document.
struct Reference {
    /// Its place among all references.
    place: usize,
    name: String,
    text: String,
    passages: Vec<Passage>,
}

pub(crate) fn run(arguments: &SourcesArguments, global: &GlobalArguments) -> Result<Exit> {
    let progress = Progress::new(global);
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    if is_stdin(&arguments.document) && arguments.against.iter().any(is_stdin) {
        bail!("standard input cannot be both the document and its sources; name a file for one of them");
    }
    arguments.resources.limit_threads()?;
    let plan = Settings { normalize: arguments.normalize, ..Settings::default() }.plan()?;
    let (options, tmp) = (arguments.read.options(), arguments.resources.tmp());
    let text = read_one_text(&arguments.document, &options, &tmp, "sources")?;
    let mut document = plan.document(&text);
    for template in &arguments.ignore {
        document.ignore(&read_one_text(template, &options, &tmp, "sources")?);
    }
    let (references, count) = match arguments.against.as_slice() {
        [path] if lookalike::index::is_index(path) => in_index(path, &document, &progress)?,
        _ => in_files(arguments, &document, &progress, global.quiet)?,
    };
    progress.finish();
    let found = references.iter().map(|reference| (reference.place, reference.passages.clone())).collect();
    let mut explanation = document.explain(found);
    let sources = explanation.sources.len();
    explanation.sources.truncate(arguments.limit.unwrap_or(usize::MAX));
    let of = |place: usize| &references[references.partition_point(|reference| reference.place < place)];
    let mut out = anstream::stdout().lock();
    if global.json {
        let answer = SourcesAnswer::new(&explanation, &text, count, |source| {
            let reference = of(source.reference);
            (&reference.name, &reference.text)
        });
        writeln!(out, "{}", serde_json::to_value(answer)?)?;
    } else {
        write_words(&mut out, &explanation, &text, (sources, count), |place| &of(place).name)?;
    }
    Ok(if explanation.sources.is_empty() { Exit::No } else { Exit::Done })
}

/// The references among the items of an index, and how many items it has.
fn in_index(path: &Path, document: &Document<'_>, progress: &Progress) -> Result<(Vec<Reference>, usize)> {
    let snapshot = Snapshot::open(path)?;
    if !snapshot.info().stores_text {
        bail!(
            "the index {} stores no texts, so passages cannot be shown; build it with --store-text, or name files",
            lookalike_io::error::Shown(path)
        );
    }
    progress.begin(Stage::Read, Some(snapshot.len()));
    let items = snapshot.items().par_bridge().map(|item| {
        let item = item?;
        progress.advance(1);
        let text = item.text.unwrap_or_default();
        let passages = document.passages_from(&text);
        Ok((!passages.is_empty()).then_some((item.sequence, item.id, text, passages)))
    });
    let mut items: Vec<_> = items.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    // Older items first, whatever the segments that they are in.
    items.sort_by_key(|(sequence, ..)| *sequence);
    let references = items.into_iter().enumerate();
    let references = references.map(|(place, (_, name, text, passages))| Reference { place, name, text, passages });
    Ok((references.collect(), snapshot.len() as usize))
}

/// What one chunk of an input gave.
struct Compared {
    order: u64,
    stretch: Stretch,
    records: usize,
    /// Records of the chunk that share passages: index, text, passages.
    found: Vec<(usize, String, Vec<Passage>)>,
}

/// The references among the records of files, and how many records there are.
fn in_files(
    arguments: &SourcesArguments,
    document: &Document<'_>,
    progress: &Progress,
    is_quiet: bool,
) -> Result<(Vec<Reference>, usize)> {
    let (format, tmp) = (arguments.read.input_format, arguments.resources.tmp());
    let inputs = Inputs::resolve_with(&arguments.against, format, &tmp, &mut Stdin::default())?;
    progress.begin(Stage::Read, Some(inputs.iter().map(|input| input.size).sum()));
    let reader = Reader::open(inputs, arguments.read.options())?;
    let compare = |compared: &mut Vec<Compared>, chunk: &Chunk, parsed: &mut Parsed| {
        let mut found = Vec::new();
        for record in 0..parsed.batch.len() {
            let Content::Text(text) = parsed.batch.content(record) else {
                bail!("a reference is a set, and sources compares texts; name the field with the text with --text");
            };
            let passages = document.passages_from(text);
            if !passages.is_empty() {
                found.push((record, text.to_owned(), passages));
            }
        }
        let records = parsed.batch.len();
        progress.count_records(records as u64);
        progress.advance(chunk.file_bytes);
        let stretch = Stretch::take(chunk.input, parsed);
        compared.push(Compared { order: chunk.order, stretch, records, found });
        Ok(())
    };
    let threads = arguments.resources.threads();
    let mut compared: Vec<Compared> =
        read_all(&reader, threads, interrupt::flag(), Vec::new, compare)?.into_iter().flatten().collect();
    compared.sort_by_key(|compared| compared.order);
    let (mut places, mut stretches, mut first) = (Vec::new(), Vec::new(), 0);
    for compared in compared {
        places.extend(compared.found.into_iter().map(|(record, text, passages)| (first + record, text, passages)));
        stretches.push(compared.stretch);
        first += compared.records;
    }
    let records = Records::new(reader.inputs().to_vec(), 0, stretches);
    skipped::refuse_if_all(&records, first == 0)?;
    if !is_quiet {
        skipped::list(&skipped::skipped(&records), "", progress);
    }
    let named = places.into_iter().map(|(place, text, passages)| {
        let name = records.name(place).into_owned();
        Reference { place, name, text, passages }
    });
    Ok((named.collect(), first))
}

fn write_words<'a>(
    out: &mut impl Write,
    explanation: &Explanation,
    document: &str,
    (sources, references): (usize, usize),
    name: impl Fn(usize) -> &'a String,
) -> Result<()> {
    let percent = |characters: usize| 100.0 * characters as f64 / explanation.characters.max(1) as f64;
    writeln!(
        out,
        "covered    {:.1} % of {} characters, by {sources} of {references} references",
        percent(explanation.covered),
        explanation.characters
    )?;
    for source in &explanation.sources {
        write!(out, "source     ")?;
        crate::results::write_escaped(out, name(source.reference))?;
        writeln!(out, "  explains {:.1} %, has {:.1} %", percent(source.explained), percent(source.covered))?;
        for passage in &source.passages {
            let same = 100.0 * passage.similarity;
            write!(out, "passage    {} tokens, {:.0} % the same: ", passage.tokens, same.floor())?;
            let text = document[passage.left.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
            crate::results::write_escaped(out, &text)?;
            writeln!(out)?;
        }
    }
    Ok(())
}
