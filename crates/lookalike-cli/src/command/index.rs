//! `lookalike index`: makes, changes and looks after an index.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use lookalike::index::is_index;
use lookalike::{Index, IndexOptions, Info, Snapshot};
use lookalike_io::Reader;
use lookalike_io::error::Shown;
use serde_json::json;

use crate::arguments::{GlobalArguments, MatchArguments, ReadArguments, ResourceArguments};
use crate::exit::Exit;
use crate::load::{load, settle};
use crate::memory::{Budget, Bytes};
use crate::progress::Progress;
use crate::skipped;

/// What `index` takes.
#[derive(Debug, Args)]
pub(crate) struct IndexArguments {
    #[command(subcommand)]
    command: IndexCommand,
}

/// What can be done with an index.
#[derive(Debug, Subcommand)]
enum IndexCommand {
    /// Make an index of these records
    Build(BuildArguments),
    /// Put records into an index, in place of those with the same ids
    Add(AddArguments),
    /// Take records out of an index
    Remove(RemoveArguments),
    /// Say what an index consists of
    Info(OneIndex),
    /// Look at every byte of an index
    Check(OneIndex),
    /// Make one segment of all, without what was removed
    Compact(OneIndex),
}

/// Which index.
#[derive(Debug, Args)]
struct OneIndex {
    /// The folder of the index
    index: PathBuf,
}

/// Records for an index.
#[derive(Debug, Args)]
struct IndexInput {
    /// The folder of the index
    index: PathBuf,
    /// Files, folders, globs, or - for standard input
    #[arg(value_name = "INPUT", help_heading = "Input")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArguments,
    #[command(flatten)]
    resources: ResourceArguments,
}

/// What `index build` takes.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |argument| argument.hide(true)),
    mut_arg("keep", |argument| argument.hide(true)),
    mut_arg("verify", |argument| argument.hide(true)),
    mut_arg("restart", |argument| argument.hide(true))
)]
struct BuildArguments {
    #[command(flatten)]
    input: IndexInput,
    #[command(flatten)]
    matching: MatchArguments,
    /// Keep the texts too, so that shared passages can be shown
    #[arg(long, help_heading = "Output")]
    store_text: bool,
}

/// What `index add` takes.
#[derive(Debug, Args)]
#[command(mut_arg("restart", |argument| argument.hide(true)))]
struct AddArguments {
    #[command(flatten)]
    input: IndexInput,
}

/// What `index remove` takes.
#[derive(Debug, Args)]
struct RemoveArguments {
    /// The folder of the index
    index: PathBuf,
    /// The id of a record; may be given several times
    #[arg(long, value_name = "ID", num_args = 1, action = clap::ArgAction::Append, required_unless_present = "older_than")]
    id: Vec<String>,
    /// Everything that was put in longer ago than this: 90s, 15m, 12h, 30d, 8w
    #[arg(long, value_name = "AGE", value_parser = parse_age, required_unless_present = "id")]
    older_than: Option<Duration>,
}

pub(crate) fn run(arguments: &IndexArguments, global: &GlobalArguments) -> Result<Exit> {
    match &arguments.command {
        IndexCommand::Build(arguments) => build(arguments, global),
        IndexCommand::Add(arguments) => add(&arguments.input, global),
        IndexCommand::Remove(arguments) => remove(arguments, global),
        IndexCommand::Info(arguments) => info(&arguments.index, global),
        IndexCommand::Check(arguments) => check(&arguments.index, global),
        IndexCommand::Compact(arguments) => compact(&arguments.index, global),
    }
}

/// Builds beside the place where the index will be, and moves it there when it is whole.
fn build(arguments: &BuildArguments, global: &GlobalArguments) -> Result<Exit> {
    let progress = Progress::new(global);
    let path = &arguments.input.index;
    let plan = arguments.matching.plan()?;
    if is_index(path) {
        bail!("{} is an index already; add to it with `lookalike index add`, or name another folder", Shown(path));
    }
    if path.exists() && !path.read_dir().is_ok_and(|mut entries| entries.next().is_none()) {
        bail!("{} is there already and no empty folder; name another folder for the index", Shown(path));
    }
    let unfinished = unfinished(path)?;
    if is_index(&unfinished) {
        // Nobody else may be at it; and what a killed program left is of no use.
        drop(Index::open(&unfinished)?);
    }
    let removed = fs::remove_dir_all(&unfinished);
    if let Err(error) = removed.or_else(|error| if unfinished.exists() { Err(error) } else { Ok(()) }) {
        bail!("cannot remove {}, which another run left ({error})", Shown(&unfinished));
    }
    let made = Index::create_with(&unfinished, &plan, &IndexOptions { store_text: arguments.store_text })
        .map_err(anyhow::Error::from)
        .and_then(|mut index| fill(&mut index, &arguments.input, global, &progress))
        .and_then(|()| {
            fs::rename(&unfinished, path)
                .and_then(|()| fs::File::open(parent_of(path))?.sync_all())
                .with_context(|| format!("cannot give the index its name {}", Shown(path)))
        });
    if made.is_err() {
        let _ = fs::remove_dir_all(&unfinished);
    }
    made.map(|()| Exit::Done)
}

fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Where an index is while it is built.
fn unfinished(path: &Path) -> Result<PathBuf> {
    let Some(name) = path.file_name() else { bail!("{} cannot be the name of an index", Shown(path)) };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".building");
    Ok(parent_of(path).join(hidden))
}

fn add(arguments: &IndexInput, global: &GlobalArguments) -> Result<Exit> {
    let progress = Progress::new(global);
    let mut index = Index::open(&arguments.index)?;
    fill(&mut index, arguments, global, &progress)?;
    Ok(Exit::Done)
}

/// Puts records into an index, and says so.
fn fill(index: &mut Index, arguments: &IndexInput, global: &GlobalArguments, progress: &Progress) -> Result<()> {
    if global.verbose {
        progress.say(&index.plan().to_string());
    }
    let resources = &arguments.resources;
    resources.limit_threads()?;
    let budget = Budget::new(resources.memory, resources.threads())?;
    let inputs = arguments.read.resolve(&arguments.inputs, &resources.tmp())?;
    let bytes: u64 = inputs.iter().map(|input| input.size).sum();
    let reader = Reader::open(inputs, arguments.read.options())?;
    let before = index.snapshot().len();
    let loaded = load(index, &reader, &budget, progress)?;
    progress.finish();
    let info = index.snapshot().info();
    let added = info.items - before + loaded.replaced;
    let skipped = skipped::skipped(&loaded.records);
    let bad = skipped.len();
    if global.json {
        let report = json!({
            "added": added, "replaced": loaded.replaced, "bad": bad, "skipped": skipped, "bytes_read": bytes,
            "seconds": progress.seconds(), "index": info_as_json(&info),
        });
        progress.say(&report.to_string());
    } else if !global.quiet {
        skipped::list(&skipped, " (--json lists all)", progress);
        let seconds = progress.seconds();
        progress.say(&format!(
            "{added} added, {} of them in place of others, {bad} bad; {} items in {}; {seconds:.2} s, {:.0} MB/s",
            loaded.replaced,
            info.items,
            Bytes(info.bytes),
            bytes as f64 / 1e6 / seconds.max(1e-9),
        ));
    }
    Ok(())
}

fn remove(arguments: &RemoveArguments, global: &GlobalArguments) -> Result<Exit> {
    let mut index = Index::open(&arguments.index)?;
    let mut removed = 0;
    for id in &arguments.id {
        if !index.remove(id)? {
            bail!(
                "the index {} holds no record with the id \"{}\"; nothing was removed",
                Shown(&arguments.index),
                id.escape_default()
            );
        }
        removed += 1;
    }
    if let Some(age) = arguments.older_than {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        removed += index.remove_older_than(now.saturating_sub(age).as_millis() as u64)?;
    }
    index.commit()?;
    settle(&mut index, &Progress::new(global));
    say(global, &json!({ "removed": removed }), || format!("{removed} removed, {} items left", index.snapshot().len()));
    Ok(Exit::Done)
}

fn info(path: &Path, global: &GlobalArguments) -> Result<Exit> {
    let snapshot = Snapshot::open(path)?;
    let info = snapshot.info();
    let mut out = anstream::stdout().lock();
    if global.json {
        let mut answer = info_as_json(&info);
        answer["settings"] = serde_json::to_value(snapshot.plan().settings())?;
        writeln!(out, "{answer}")?;
        return Ok(Exit::Done);
    }
    writeln!(out, "{}", snapshot.plan())?;
    writeln!(out, "items      {} ({} removed ones still take room)", info.items, info.deleted)?;
    writeln!(out, "texts      {}", if info.stores_text { "stored" } else { "not stored" })?;
    writeln!(out, "segments   {}", info.segments)?;
    let each = info.bytes / info.items.max(1);
    writeln!(
        out,
        "size       {} ({each} bytes an item), {} of it in the log",
        Bytes(info.bytes),
        Bytes(info.log_bytes)
    )?;
    writeln!(out, "sequence   {}", info.sequence)?;
    Ok(Exit::Done)
}

pub(crate) fn info_as_json(info: &Info) -> serde_json::Value {
    json!({
        "items": info.items, "deleted": info.deleted, "segments": info.segments, "bytes": info.bytes,
        "log_bytes": info.log_bytes, "sequence": info.sequence, "stores_text": info.stores_text,
    })
}

fn check(path: &Path, global: &GlobalArguments) -> Result<Exit> {
    let items = Snapshot::open(path)?.check()?;
    say(global, &json!({ "items": items }), || format!("{items} items, all as they were written"));
    Ok(Exit::Done)
}

fn compact(path: &Path, global: &GlobalArguments) -> Result<Exit> {
    let mut index = Index::open(path)?;
    let before = index.snapshot().info().bytes;
    index.compact()?;
    let info = index.snapshot().info();
    say(global, &info_as_json(&info), || {
        format!("{} items in one segment, {} instead of {}", info.items, Bytes(info.bytes), Bytes(before))
    });
    Ok(Exit::Done)
}

fn say(global: &GlobalArguments, as_json: &serde_json::Value, in_words: impl FnOnce() -> String) {
    let progress = Progress::new(global);
    if global.json {
        progress.say(&as_json.to_string());
    } else if !global.quiet {
        progress.say(&in_words());
    }
}

/// An age as people write it.
fn parse_age(text: &str) -> Result<Duration, String> {
    let wrong = || "it is no age such as 90s, 15m, 12h, 30d or 8w".to_owned();
    let (number, unit) = text.split_at(text.len() - text.chars().next_back().map_or(0, char::len_utf8));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}
