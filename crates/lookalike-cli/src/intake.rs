//! From inputs to sketched records: reading, shingling and sketching on all threads at once, within the memory that is
//! allowed.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Result, bail};
use lookalike::index::OldItem;
use lookalike::{Method, Plan, Segment, Shard, Sketched, Sketcher, Stage, Watch};
use lookalike_io::{Chunk, Compression, Input, Parsed, ReadOptions, Reader, read_all};

use crate::against::AgainstIndex;
use crate::arguments::{InputArguments, ResourceArguments};
use crate::estimate::{COMPRESSION_RATIO, check_disk, duration, work_bytes};
use crate::interrupt;
use crate::memory::{Budget, Bytes};
use crate::names::{Records, Stretch};
use crate::progress::Progress;
use crate::stdin::Stdin;
use crate::work::{Identity, Work, WorkPlace};

/// Inputs of so many bytes take so long that work files are left from the beginning, so that an interruption costs little.
const LONG_RUN_BYTES: u64 = 4 << 30;
/// The share of the inputs from which the whole can be told.
const ENOUGH_TO_LOOK_AHEAD: f64 = 0.01;
/// How much longer than the reading everything takes.
const AFTER_READING: f64 = 1.7;
/// A run that takes so long says so beforehand.
const WORTH_TELLING_SECONDS: f64 = 30.0;

const NOT_SKETCHED: &str =
    "not all parts of the inputs have been sketched yet; run `lookalike stage sketch` for each of them first";

/// Everything that was read: what the engine needs, and what the outputs need.
pub(crate) struct Intake {
    pub(crate) old: Vec<Sketched>,
    pub(crate) new: Vec<Sketched>,
    /// The items of an index that are the old records, if they are.
    pub(crate) items: Vec<OldItem>,
    pub(crate) records: Records,
    pub(crate) reader: Reader,
    /// Where work files are left, if they are.
    pub(crate) work: Option<Arc<Work>>,
    /// Bytes that the sketches or sets may take that are loaded at a time.
    pub(crate) room: u64,
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
    let (mut old, new) = arguments.resolve(&resources.tmp())?;
    let index = match arguments.against_index() {
        Some(_) if request.part != Part::Everything => {
            bail!("stages compare with files, not with an index; leave that to dedup")
        }
        Some(path) => Some(AgainstIndex::open(path, plan, arguments.within.is_some(), &resources.tmp())?),
        None => None,
    };
    old.extend(index.as_ref().map(|index| index.input.clone()));
    let output_bytes = check_outputs(&old, &new)?;
    if let Some(output) = request.output {
        let advice = "name one on another disk; if you know that much will be dropped, write to standard output";
        check_disk(output, output_bytes, "the output", advice)?;
    }
    let options = ReadOptions {
        keep: plan.settings().keep.field().map(|field| field.parse().map_err(anyhow::Error::msg)).transpose()?,
        within: arguments.within.clone(),
        ..arguments.read.options()
    };
    let old_inputs = old.len();
    let inputs: Vec<Input> = old.into_iter().chain(new).collect();
    let identity = Identity {
        command: request.command,
        plan,
        options: &options,
        output: request.output,
        index: index.as_ref().map(AgainstIndex::sequence),
    };
    let place = WorkPlace::of(&identity, &inputs, resources.tmp.as_deref(), resources.restart)?;
    let place = if request.part == Part::Everything { place } else { place.share()? };
    let gathering = Gathering {
        shingles: keep_shingles(request, plan, &inputs, &budget, &place),
        plan,
        output_bytes: if resources.tmp.is_some() { 0 } else { output_bytes },
        began: Instant::now(),
        has_looked_ahead: AtomicBool::new(false),
        part: request.part,
        is_spilling: AtomicBool::new(false),
        work: Mutex::new(None),
        total: inputs.iter().map(|input| input.size).sum(),
        read: AtomicU64::new(0),
        records: AtomicU64::new(0),
        name_bytes: AtomicU64::new(0),
        sketch_bytes: AtomicU64::new(0),
        budget,
        place,
        progress,
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
    let mut items = Vec::new();
    if let Some(index) = &index {
        let (sketched, stretch, found) = index.old_records(plan, &new)?;
        old.push(sketched);
        stretches.insert(0, stretch);
        items = found;
    }
    let records = Records::new(reader.inputs().to_vec(), old_inputs, stretches);
    records.check_ids()?;
    let room = gathering.room();
    let work = gathering.work.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Intake { old, new, items, records, reader, work, room })
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
    if plan.method() == Method::InvertedLists || request.shingles == KeepShingles::Yes {
        return KeepShingles::Yes;
    }
    let is_compressed = inputs.iter().any(|input| input.compression != Compression::None);
    let bytes = decompressed_bytes(inputs);
    // A shingle takes about as much as a word of text.
    let fits = bytes < LONG_RUN_BYTES && 2 * bytes <= budget.sketches();
    let is_handy = is_compressed && fits && request.part == Part::Everything && !place.exists();
    if is_handy { KeepShingles::IfHandy } else { KeepShingles::No }
}

/// About how many bytes the inputs have once they are decompressed.
fn decompressed_bytes(inputs: &[Input]) -> u64 {
    let bytes = |input: &Input| match input.compression {
        Compression::None => input.size,
        _ => COMPRESSION_RATIO * input.size,
    };
    inputs.iter().map(bytes).sum()
}

/// A chunk that was read: its order, and what is kept of it.
type Taken = (u64, Sketched, Stretch);

/// What all threads that read know of each other.
struct Gathering<'a> {
    budget: Budget,
    place: WorkPlace,
    part: Part,
    plan: &'a Plan,
    shingles: KeepShingles,
    /// Bytes that the outputs may take beside the work files.
    output_bytes: u64,
    began: Instant,
    has_looked_ahead: AtomicBool,
    /// Whether sketches go to work files.
    is_spilling: AtomicBool,
    work: Mutex<Option<Arc<Work>>>,
    /// Bytes of all inputs, and how many of them have been read.
    total: u64,
    read: AtomicU64,
    records: AtomicU64,
    name_bytes: AtomicU64,
    /// Bytes of sketches in memory.
    sketch_bytes: AtomicU64,
    progress: &'a Progress,
}

impl Gathering<'_> {
    /// What an earlier attempt has read, and whether that is all.
    fn start(&self, inputs: &[Input]) -> Result<(Vec<Taken>, bool)> {
        let is_long = decompressed_bytes(inputs) >= LONG_RUN_BYTES;
        let needs_shingles = self.shingles == KeepShingles::Yes;
        let is_stage = self.part != Part::Everything;
        if is_stage && needs_shingles {
            bail!("without sketches nothing can be done in stages; leave --exact and --measure containment to dedup");
        }
        if self.part == Part::AfterSketching && !self.place.exists() {
            bail!(NOT_SKETCHED);
        }
        if needs_shingles || (!is_long && !is_stage && !self.place.exists()) {
            return Ok((Vec::new(), false));
        }
        let work = self.work()?;
        self.is_spilling.store(true, Ordering::Relaxed);
        let (mut taken, mut orders) = (Vec::new(), HashSet::new());
        let mut read = 0;
        for (sketched, attached) in work.load(self.progress)? {
            // Attached are the chunk's order, how much of the file it is, and its records' names.
            let Some((numbers, names)) = attached.split_first_chunk::<16>() else { continue };
            let (order, file_bytes) = numbers.split_at(8);
            let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
            let Some(stretch) = Stretch::from_bytes(names, inputs) else { continue };
            // Two programs may have read the same chunk at the same time: a queue that tries again, say.
            if !orders.insert(number(order)) {
                continue;
            }
            self.count(&sketched, &stretch, number(file_bytes));
            read += number(file_bytes);
            taken.push((number(order), sketched, stretch));
        }
        if !taken.is_empty() {
            self.has_looked_ahead.store(true, Ordering::Relaxed);
            self.progress.count_reused(taken.len() as u64);
            let share = 100.0 * read as f64 / self.total.max(1) as f64;
            if !is_stage {
                self.progress.note(&format!("going on with an interrupted run, of which {share:.0} % were read"));
            }
        }
        let is_all = work.has_read_all()?;
        if self.part == Part::AfterSketching && !is_all {
            bail!(NOT_SKETCHED);
        }
        Ok((taken, is_all))
    }

    /// Notes that all was read that was to be read, if that is of use to anybody.
    fn mark_read(&self) -> Result<()> {
        let shard = if let Part::Sketching(shard) = self.part { shard } else { Shard::ALL };
        if self.is_spilling.load(Ordering::Relaxed) {
            self.work()?.mark_read(shard)?;
        }
        Ok(())
    }

    fn count(&self, sketched: &Sketched, stretch: &Stretch, file_bytes: u64) {
        self.records.fetch_add(sketched.len() as u64, Ordering::Relaxed);
        self.name_bytes.fetch_add(stretch.bytes() as u64, Ordering::Relaxed);
        self.read.fetch_add(file_bytes, Ordering::Relaxed);
        self.progress.count_records(sketched.len() as u64);
        self.progress.advance(file_bytes);
    }

    /// The work folder, opened when it is first needed.
    fn work(&self) -> Result<Arc<Work>> {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(work) = &*work {
            return Ok(Arc::clone(work));
        }
        Ok(Arc::clone(work.insert(Arc::new(self.place.open(self.progress)?))))
    }

    /// Sees to it that what is in memory stays below what is allowed.
    fn keep_within_budget(&self, sketched: &Sketched) -> Result<()> {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let share = load(&self.read) as f64 / self.total.max(1) as f64;
        self.budget.check(load(&self.records), load(&self.name_bytes), share)?;
        let bytes = (sketched.storable_bytes() + sketched.shingle_bytes()) as u64;
        let sketches = self.sketch_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if sketches > self.budget.sketches() {
            if self.shingles == KeepShingles::Yes {
                bail!(
                    "{} of memory are too little to compare without sketches: all sets are kept; allow {} with --memory, or \
                     use sketches, which need much less",
                    Bytes(self.budget.bytes),
                    Bytes((5.0 * sketches as f64 / share.clamp(1e-3, 1.0)) as u64)
                );
            }
            self.is_spilling.store(true, Ordering::Relaxed);
        }
        if share >= ENOUGH_TO_LOOK_AHEAD && !self.has_looked_ahead.swap(true, Ordering::Relaxed) {
            self.look_ahead(share)?;
        }
        Ok(())
    }

    /// Says what the run will take, as far as can be told from the share of it that was read, and refuses it if its work
    /// files will not fit.
    fn look_ahead(&self, share: f64) -> Result<()> {
        let expected = |counter: &AtomicU64| (counter.load(Ordering::Relaxed) as f64 / share) as u64;
        let (records, ids, sketches) =
            (expected(&self.records), expected(&self.name_bytes), expected(&self.sketch_bytes));
        let spills = self.is_spilling.load(Ordering::Relaxed) || sketches > self.budget.sketches();
        let mut files = String::new();
        if spills && self.shingles != KeepShingles::Yes {
            let bytes = work_bytes(self.plan, records, ids);
            let advice = "name another place for work files with --tmp, or allow more --memory";
            let what = if self.output_bytes > 0 { "work files and output" } else { "work files" };
            check_disk(&self.place.path, bytes + self.output_bytes, what, advice)?;
            files = format!(", {} of work files", Bytes(bytes));
        }
        let seconds = self.began.elapsed().as_secs_f64() / share * AFTER_READING;
        if seconds >= WORTH_TELLING_SECONDS {
            let memory = (self.budget.least(records, ids) + sketches * 3 / 2).min(self.budget.bytes);
            self.progress.note(&format!(
                "about {records} records; expect {} of memory{files} and {}",
                Bytes(memory),
                duration(seconds)
            ));
        }
        Ok(())
    }

    fn room(&self) -> u64 {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.budget.room(load(&self.records), load(&self.name_bytes), load(&self.sketch_bytes))
    }
}

/// What one thread has read.
struct Gatherer<'a> {
    gathering: &'a Gathering<'a>,
    sketcher: Sketcher,
    /// What has not been put away yet.
    open: Vec<(u64, Sketched, Stretch, u64)>,
    open_bytes: usize,
    taken: Vec<Taken>,
}

impl<'a> Gatherer<'a> {
    fn new(plan: &Plan, gathering: &'a Gathering<'a>) -> Self {
        let sketcher = plan.sketcher();
        let keeps = gathering.shingles != KeepShingles::No;
        let sketcher = if keeps { sketcher } else { sketcher.forget_shingles() };
        Self { gathering, sketcher, open: Vec::new(), open_bytes: 0, taken: Vec::new() }
    }

    fn take(&mut self, chunk: &Chunk, parsed: &mut Parsed) -> Result<()> {
        let sketched = self.sketcher.sketch(&parsed.batch);
        let stretch = Stretch::take(chunk.input, parsed);
        self.gathering.count(&sketched, &stretch, chunk.file_bytes);
        self.gathering.keep_within_budget(&sketched)?;
        self.open_bytes += sketched.storable_bytes() + sketched.shingle_bytes();
        self.open.push((chunk.order, sketched, stretch, chunk.file_bytes));
        let is_full = self.open_bytes >= self.gathering.budget.segment();
        if is_full && self.gathering.is_spilling.load(Ordering::Relaxed) {
            self.put_away()?;
        }
        Ok(())
    }

    /// Writes what is open to a work file.
    fn put_away(&mut self) -> Result<()> {
        if self.open.is_empty() {
            return Ok(());
        }
        let orders: Vec<u64> = self.open.iter().map(|(order, ..)| *order).collect();
        let mut segment = Segment::default();
        let mut named = Vec::with_capacity(self.open.len());
        for (order, sketched, stretch, file_bytes) in self.open.drain(..) {
            let mut attached = [order.to_le_bytes(), file_bytes.to_le_bytes()].concat();
            attached.append(&mut stretch.to_bytes()?);
            segment.push(sketched, attached);
            named.push((order, stretch));
        }
        let stored = self.gathering.work()?.store(segment, &orders)?;
        self.gathering.sketch_bytes.fetch_sub(self.open_bytes as u64, Ordering::Relaxed);
        self.open_bytes = 0;
        self.taken.extend(named.into_iter().zip(stored).map(|((order, stretch), sketched)| (order, sketched, stretch)));
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Taken>> {
        if self.gathering.is_spilling.load(Ordering::Relaxed) {
            self.put_away()?;
        }
        self.taken.extend(self.open.into_iter().map(|(order, sketched, stretch, _)| (order, sketched, stretch)));
        Ok(self.taken)
    }
}

/// The text of the one record that a file holds.
pub(crate) fn read_one_text(path: &Path, options: &ReadOptions, tmp: &Path) -> Result<String> {
    use lookalike::Content;

    let inputs = lookalike_io::Inputs::resolve_with(&[path.to_path_buf()], options.format, tmp, &mut Stdin::default())?;
    let shown = lookalike_io::error::Shown(path);
    let reader = Reader::open(inputs, options.clone())?;
    let texts = read_all(&reader, 1, interrupt::flag(), Vec::new, |texts, _, parsed| {
        for record in 0..parsed.batch.len() {
            match parsed.batch.content(record) {
                Content::Text(text) => texts.push(text.to_owned()),
                Content::Set(_) => bail!("{shown} holds a set, and compare shows texts; use pairs for sets"),
            }
        }
        Ok(())
    })?;
    let mut texts: Vec<String> = texts.into_iter().flatten().collect();
    if texts.len() > 1 {
        bail!(
            "{shown} holds {} records, and compare takes one document a file; use pairs for collections",
            texts.len()
        );
    }
    match texts.pop() {
        Some(text) => Ok(text),
        None => bail!("{shown} holds no record; name a file with a text"),
    }
}
