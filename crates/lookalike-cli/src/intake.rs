//! From inputs to sketched records: reading, shingling and sketching on all threads at once, within the memory that is
//! allowed.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use lookalike::{Method, Plan, Segment, Sketched, Sketcher, Stage, Watch};
use lookalike_io::{Chunk, Compression, Input, Parsed, ReadOptions, Reader, read_all};

use crate::arguments::{InputArguments, ResourceArguments};
use crate::interrupt;
use crate::memory::{Budget, Bytes};
use crate::names::{Records, Stretch};
use crate::progress::Progress;
use crate::stdin::Stdin;
use crate::work::{Identity, Work, WorkPlace};

/// Inputs of so many bytes take so long that work files are left from the beginning, so that an interruption costs little.
const LONG_RUN_BYTES: u64 = 4 << 30;
/// How much larger a compressed input may be than it looks.
const COMPRESSION_RATIO: u64 = 4;

/// Everything that was read: what the engine needs, and what the outputs need.
pub(crate) struct Intake {
    pub(crate) old: Vec<Sketched>,
    pub(crate) new: Vec<Sketched>,
    pub(crate) records: Records,
    pub(crate) reader: Reader,
    /// Where work files are left, if they are.
    pub(crate) work: Option<Arc<Work>>,
    /// Bytes that the sketches or sets may take that are loaded at a time.
    pub(crate) room: u64,
}

/// Whether all shingles are kept, because all of them are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeepShingles {
    Yes,
    No,
}

/// What is read for which command.
pub(crate) struct Request<'a> {
    pub(crate) command: &'static str,
    pub(crate) input: &'a InputArguments,
    pub(crate) output: Option<&'a Path>,
    pub(crate) resources: &'a ResourceArguments,
    pub(crate) shingles: KeepShingles,
}

/// Reads the inputs of a command, once the old and the new ones have passed `check_outputs`.
pub(crate) fn read(
    request: &Request<'_>,
    check_outputs: impl FnOnce(&[Input], &[Input]) -> Result<()>,
    plan: &Plan,
    progress: &Progress,
) -> Result<Intake> {
    let Request { input: arguments, resources, .. } = request;
    let budget = Budget::new(resources.memory, resources.threads())?;
    let (old, new) = arguments.resolve(&resources.tmp())?;
    check_outputs(&old, &new)?;
    let options = ReadOptions {
        keep: plan.settings().keep.field().map(|field| field.parse().map_err(anyhow::Error::msg)).transpose()?,
        within: arguments.within.clone(),
        ..arguments.read.options()
    };
    let old_inputs = old.len();
    let inputs: Vec<Input> = old.into_iter().chain(new).collect();
    let identity = Identity { command: request.command, plan, options: &options, output: request.output };
    let place = WorkPlace::of(&identity, &inputs, resources.tmp.as_deref(), resources.restart)?;
    let gathering = Gathering {
        keeps_shingles: request.shingles == KeepShingles::Yes || plan.method() == Method::InvertedLists,
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
    let mut taken = gathering.start(&inputs)?;
    let done: HashSet<u64> = taken.iter().map(|(order, ..)| *order).collect();
    let reader = Reader::open(inputs, options)?.without(done);
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
    let records = Records::new(reader.inputs().to_vec(), old_inputs, stretches);
    records.check_ids()?;
    let room = gathering.room();
    let work = gathering.work.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Intake { old, new, records, reader, work, room })
}

/// A chunk that was read: its order, and what is kept of it.
type Taken = (u64, Sketched, Stretch);

/// What all threads that read know of each other.
struct Gathering<'a> {
    budget: Budget,
    place: WorkPlace,
    keeps_shingles: bool,
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
    /// What an earlier attempt has read.
    fn start(&self, inputs: &[Input]) -> Result<Vec<Taken>> {
        let weight = |input: &Input| {
            if input.compression == Compression::None { input.size } else { COMPRESSION_RATIO * input.size }
        };
        let is_long = inputs.iter().map(weight).sum::<u64>() >= LONG_RUN_BYTES;
        if self.keeps_shingles || !is_long && !self.place.exists() {
            return Ok(Vec::new());
        }
        let work = self.work()?;
        self.is_spilling.store(true, Ordering::Relaxed);
        let mut taken = Vec::new();
        let mut read = 0;
        for (sketched, attached) in work.load(self.progress)? {
            // Attached are the chunk's order, how much of the file it is, and its records' names.
            let Some((numbers, names)) = attached.split_first_chunk::<16>() else { continue };
            let (order, file_bytes) = numbers.split_at(8);
            let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
            let Some(stretch) = Stretch::from_bytes(names, inputs) else { continue };
            self.count(&sketched, &stretch, number(file_bytes));
            read += number(file_bytes);
            taken.push((number(order), sketched, stretch));
        }
        if !taken.is_empty() {
            let share = 100.0 * read as f64 / self.total.max(1) as f64;
            self.progress.say(&format!("note: going on with an interrupted run, of which {share:.0} % were read"));
        }
        Ok(taken)
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
            if self.keeps_shingles {
                bail!(
                    "{} of memory are too little to compare without sketches: all sets are kept; allow {} with --memory, or \
                     use sketches, which need much less",
                    Bytes(self.budget.bytes),
                    Bytes((5.0 * sketches as f64 / share.clamp(1e-3, 1.0)) as u64)
                );
            }
            self.is_spilling.store(true, Ordering::Relaxed);
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
        let sketcher = if gathering.keeps_shingles { sketcher } else { sketcher.forget_shingles() };
        Self { gathering, sketcher, open: Vec::new(), open_bytes: 0, taken: Vec::new() }
    }

    fn take(&mut self, chunk: &Chunk, parsed: &mut Parsed) -> Result<()> {
        let sketched = self.sketcher.sketch(&parsed.batch);
        let stretch = Stretch::take(chunk.input, parsed);
        self.gathering.count(&sketched, &stretch, chunk.file_bytes);
        self.gathering.keep_within_budget(&sketched)?;
        self.open_bytes += sketched.storable_bytes();
        self.open.push((chunk.order, sketched, stretch, chunk.file_bytes));
        let is_full = self.open_bytes >= self.gathering.budget.segment();
        if is_full && self.gathering.is_spilling.load(Ordering::Relaxed) {
            self.put_away()?;
        }
        Ok(())
    }

    /// Writes what is open to a work file.
    fn put_away(&mut self) -> Result<()> {
        let Some((first, ..)) = self.open.first() else { return Ok(()) };
        let first = *first;
        let mut segment = Segment::default();
        let mut named = Vec::with_capacity(self.open.len());
        for (order, sketched, stretch, file_bytes) in self.open.drain(..) {
            let mut attached = [order.to_le_bytes(), file_bytes.to_le_bytes()].concat();
            attached.append(&mut stretch.to_bytes()?);
            segment.push(sketched, attached);
            named.push((order, stretch));
        }
        let stored = self.gathering.work()?.store(segment, first)?;
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
