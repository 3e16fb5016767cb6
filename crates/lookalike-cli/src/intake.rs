//! From inputs to sketched records: reading, shingling and sketching on all threads at once, within the memory that is
//! allowed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use lookalike::{Method, Plan, Shard, Shingles, Sketched, Stage, Watch};
use lookalike_io::error::Shown;
use lookalike_io::{Compression, Format, Input, PassedOver, ReadOptions, Reader, can_be_taken_back, read_all};

use crate::against::{AgainstIndex, OldItems};
use crate::arguments::{InputArguments, ResourceArguments, leave_outputs_out};
use crate::boilerplate::templates;
use crate::estimate::check_disk;
use crate::gathering::{Gatherer, Gathering, GatheringState, LONG_RUN_BYTES, decompressed_bytes};
use crate::interrupt;
use crate::memory::Budget;
use crate::names::Records;
use crate::progress::Progress;
use crate::skipped;
use crate::stdin::Stdin;
use crate::work::{Identity, Work, WorkPlace, addition_name};

/// Everything that was read: what the engine needs, and what the outputs need.
pub(crate) struct Intake {
    pub(crate) old: Vec<Sketched>,
    pub(crate) new: Vec<Sketched>,
    /// The items of an index that are the old records, if they are.
    pub(crate) items: Option<OldItems>,
    pub(crate) records: Records,
    pub(crate) reader: Reader,
    /// Where work files are left, if they are.
    pub(crate) work: Option<Arc<Work>>,
    /// Bytes that the sketches or sets may take that are loaded at a time.
    pub(crate) room: u64,
    /// What the records are called together if they are added to the index, and can be.
    pub(crate) addition: Option<String>,
}

/// Whether the shingles of all records are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeepShingles {
    /// All of them are needed.
    Yes,
    /// As long as there is room: to read them again would cost more.
    IfHandy,
    No,
}

/// How much of the work is done at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything, in one go.
    Everything,
    /// Only a part of the inputs is read, into work files.
    Sketching(Shard),
    /// Everything was read into work files before.
    AfterSketching,
}

/// What is read for which command.
pub(crate) struct Request<'a> {
    pub(crate) command: &'static str,
    pub(crate) input: &'a InputArguments,
    pub(crate) output: Option<&'a Path>,
    pub(crate) resources: &'a ResourceArguments,
    pub(crate) shingles: KeepShingles,
    pub(crate) part: Part,
    /// Whether what is kept goes into the index that it is compared with.
    pub(crate) adds: bool,
}

/// Reads the inputs of a command, once the old and the new ones have passed `check_outputs`, which says how many bytes of
/// disk the outputs may take.
pub(crate) fn read(
    request: &Request<'_>,
    check_outputs: impl FnOnce(&[Input], &[Input]) -> Result<u64>,
    plan: &Plan,
    progress: &Progress,
) -> Result<Intake> {
    let Request { input: arguments, resources, .. } = request;
    let budget = Budget::new(resources.memory, resources.threads())?;
    let (mut old, mut new) = arguments.resolve(&resources.tmp())?;
    let of_outputs = request.output.map_or(0, |output| leave_outputs_out(&mut new, output));
    if new.is_empty() {
        bail!("all inputs are in the output folder; name another one with -o");
    }
    let mut index = match arguments.against_index() {
        Some(_) if request.part != Part::Everything => {
            bail!("stages compare with files, not with an index; leave that to dedup")
        }
        Some(path) => Some(AgainstIndex::open(path, plan, arguments.within.is_some(), &resources.tmp())?),
        None => None,
    };
    note_passed_over(&arguments.passed_over()?, progress);
    if of_outputs > 0 {
        progress.note(&format!("passed over in folders, as they are in the output folder: {of_outputs}"));
    }
    old.extend(index.as_ref().map(|index| index.input.clone()));
    let read_besides = templates(arguments, &resources.tmp())?.into_iter().chain(old.iter().cloned());
    let output_bytes = check_outputs(&read_besides.collect::<Vec<_>>(), &new)?;
    // A pipe or a device is on no disk.
    if let Some(output) = request.output.filter(|output| can_be_taken_back(output)) {
        let advice = "name one on another disk; if you know that much will be dropped, write to standard output";
        check_disk(output, output_bytes, "the output", advice)?;
    }
    let options = ReadOptions {
        keep: plan.settings().keep.field().map(|field| field.parse().map_err(anyhow::Error::msg)).transpose()?,
        within: arguments.within.clone(),
        ..arguments.read.options()
    };
    let addition = if request.adds { addition_name(plan, &options, &new)? } else { None };
    if let (Some(index), Some(addition)) = (&mut index, &addition) {
        index.leave_out(addition, progress)?;
    }
    let old_inputs = old.len();
    let inputs: Vec<Input> = old.into_iter().chain(new).collect();
    let identity = Identity {
        command: request.command,
        plan,
        options: &options,
        output: request.output,
        old_inputs,
        index: index.as_ref().map(AgainstIndex::state),
    };
    let place = WorkPlace::of(&identity, &inputs, resources.tmp.as_deref(), resources.restart)?;
    let place = if request.part == Part::Everything { place } else { place.share()? };
    let gathering = Gathering {
        shingles: keep_shingles(request, plan, &inputs, &budget, &place),
        plan,
        output_bytes: if resources.tmp.is_some() { 0 } else { output_bytes },
        part: request.part,
        total: inputs.iter().map(|input| input.size).sum(),
        budget,
        place,
        progress,
        state: GatheringState::new(),
    };
    progress.begin(Stage::Read, Some(gathering.total));
    let (mut taken, is_all) = gathering.start(&inputs)?;
    let done: HashSet<u64> = taken.iter().map(|(order, ..)| *order).collect();
    let mut reader = Reader::open(inputs, options)?.without(done);
    if let Part::Sketching(shard) = request.part {
        reader = reader.only(shard);
    }
    if !is_all {
        let states = read_all(
            &reader,
            resources.threads(),
            interrupt::flag(),
            || Gatherer::new(plan, &gathering),
            |gatherer, chunk, parsed| gatherer.take(chunk, parsed),
        )?;
        for gatherer in states {
            taken.append(&mut gatherer.finish()?);
        }
        gathering.mark_read()?;
    }
    taken.sort_unstable_by_key(|(order, ..)| *order);
    let (mut old, mut new, mut stretches) = (Vec::new(), Vec::new(), Vec::new());
    for (_, sketched, stretch) in taken {
        if stretch.input() < old_inputs {
            old.push(sketched)
        } else {
            new.push(sketched)
        }
        stretches.push(stretch);
    }
    let mut items = None;
    if let Some(index) = &index {
        let (mut sketched, stretch, found) = index.old_records(plan, &new, progress)?;
        old.append(&mut sketched);
        stretches.insert(0, stretch);
        items = Some(found);
    }
    let records = Records::new(reader.inputs().to_vec(), old_inputs, stretches);
    // Of one part nothing can be told about all.
    if !matches!(request.part, Part::Sketching(_)) {
        check_records(&records, &new, plan, arguments, progress)?;
    }
    let room = gathering.room();
    let work = gathering.state.into_work();
    Ok(Intake { old, new, items, records, reader, work, room, addition })
}

/// Refuses what can only be a mistake: records of which none is good, or none has a field that was asked for.
fn check_records(
    records: &Records,
    new: &[Sketched],
    plan: &Plan,
    arguments: &InputArguments,
    progress: &Progress,
) -> Result<()> {
    let is_none = new.iter().all(Sketched::is_empty);
    skipped::refuse_if_all(records, is_none)?;
    if let Some(field) = plan.settings().keep.field().filter(|_| !is_none)
        && !new.iter().any(Sketched::has_keep_values)
    {
        bail!("no record has a value in {field:?}, which --keep names; check the spelling, or leave --keep out");
    }
    let id = &arguments.read.id;
    if !["id", "none"].contains(&id.as_str())
        && let Some(input) = records.without_ids()
    {
        bail!(
            "no record of {} has the field {:?}, which --id names; check the spelling, or call records FILE:RECORD with \
             --id none",
            Shown(&input.name),
            id.as_str()
        );
    }
    let settings = plan.settings();
    let is_about_texts = settings.shingles != Shingles::default() || settings.bag || settings.normalize.is_some();
    if is_about_texts && new.iter().any(Sketched::holds_sets) {
        progress.note(
            "sets are compared as they are; --shingles, --bag and --normalize are for texts and do nothing to them",
        );
    }
    if let ([input], 1) = (records.inputs(), records.len())
        && (input.format, arguments.read.input_format) == (Format::Text, None)
    {
        let shown = Shown(&input.name);
        progress
            .note(&format!("{shown} is one record; if every line is one, or a set, say --input-format lines or sets"));
    }
    Ok(())
}

/// Says which files of folders are not read.
fn note_passed_over(over: &PassedOver, progress: &Progress) {
    const SHOWN: usize = 3;
    let listed = |paths: &[PathBuf]| {
        let names: Vec<String> = paths.iter().take(SHOWN).map(|path| Shown(path).to_string()).collect();
        let more = if paths.len() > SHOWN { ", …" } else { "" };
        format!("{} ({}{more})", paths.len(), names.join(", "))
    };
    if !over.unknown.is_empty() {
        progress.note(&format!(
            "passed over in folders, as their names tell no format: {}; name such files or globs of them, or say what all are \
             with --input-format",
            listed(&over.unknown)
        ));
    }
    if !over.links.is_empty() {
        progress.note(&format!(
            "passed over in folders, as links are followed to files only: {}; name such folders themselves",
            listed(&over.links)
        ));
    }
}

/// Whether the shingles of all records are kept. Those of compressed inputs are, if they surely fit: to decompress an input
/// twice costs more.
fn keep_shingles(
    request: &Request<'_>,
    plan: &Plan,
    inputs: &[Input],
    budget: &Budget,
    place: &WorkPlace,
) -> KeepShingles {
    if matches!(plan.method(), Method::InvertedLists | Method::Fingerprints(_)) || request.shingles == KeepShingles::Yes
    {
        return KeepShingles::Yes;
    }
    let is_compressed = inputs.iter().any(|input| input.compression != Compression::None);
    let bytes = decompressed_bytes(inputs);
    // A shingle takes about as much as a word of text.
    let fits = bytes < LONG_RUN_BYTES && 2 * bytes <= budget.sketches();
    let is_handy = is_compressed && fits && request.part == Part::Everything && !place.exists();
    if is_handy { KeepShingles::IfHandy } else { KeepShingles::No }
}

/// The text of the one record that a file holds; `command` is what wants it.
pub(crate) fn read_one_text(path: &Path, options: &ReadOptions, tmp: &Path, command: &str) -> Result<String> {
    use lookalike::Content;

    let inputs = lookalike_io::Inputs::resolve_with(&[path.to_path_buf()], options.format, tmp, &mut Stdin::default())?;
    let shown = lookalike_io::error::Shown(path);
    let reader = Reader::open(inputs, options.clone())?;
    let texts = read_all(&reader, 1, interrupt::flag(), Vec::new, |texts, _, parsed| {
        for record in 0..parsed.batch.len() {
            match parsed.batch.content(record) {
                Content::Text(text) => texts.push(text.to_owned()),
                Content::Set(_) => bail!("{shown} holds a set, and {command} shows texts; use pairs for sets"),
            }
        }
        Ok(())
    })?;
    let mut texts: Vec<String> = texts.into_iter().flatten().collect();
    if texts.len() > 1 {
        bail!(
            "{shown} holds {} records, and {command} takes one document a file; use pairs for collections",
            texts.len()
        );
    }
    match texts.pop() {
        Some(text) => Ok(text),
        None => bail!("{shown} holds no record; name a file with a text"),
    }
}
