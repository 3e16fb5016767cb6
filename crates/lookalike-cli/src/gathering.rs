//! What threads that read gather, within the memory that is allowed: sketches go to work files as they pile up, and what the
//! run will take is told as soon as it can be.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Result, bail};
use lookalike::{Plan, Segment, Shard, Sketched, Sketcher, Watch};
use lookalike_io::{Chunk, Compression, Input, Parsed};

use crate::estimate::{COMPRESSION_RATIO, check_disk, duration, work_bytes};
use crate::intake::{KeepShingles, Part};
use crate::memory::{Budget, Bytes};
use crate::names::Stretch;
use crate::progress::Progress;
use crate::work::{Work, WorkPlace};

/// Inputs of so many bytes take so long that work files are left from the beginning, so that an interruption costs little.
pub(crate) const LONG_RUN_BYTES: u64 = 4 << 30;
/// The share of the inputs from which the whole can be told.
const ENOUGH_TO_LOOK_AHEAD: f64 = 0.01;
/// How much longer than the reading everything takes.
const AFTER_READING: f64 = 1.7;
/// A run that takes so long says so beforehand.
const WORTH_TELLING_SECONDS: f64 = 30.0;

const NOT_SKETCHED: &str = "not all parts of the inputs have been sketched yet with these inputs, output and settings; run \
                            `lookalike stage sketch` for each of them first, with the same ones";

/// About how many bytes the inputs have once they are decompressed.
pub(crate) fn decompressed_bytes(inputs: &[Input]) -> u64 {
    let bytes = |input: &Input| match input.compression {
        Compression::None => input.size,
        _ => COMPRESSION_RATIO * input.size,
    };
    inputs.iter().map(bytes).sum()
}

/// A chunk that was read: its order, and what is kept of it.
pub(crate) type Taken = (u64, Sketched, Stretch);

/// What all threads that read know of each other.
pub(crate) struct Gathering<'a> {
    pub(crate) budget: Budget,
    pub(crate) place: WorkPlace,
    pub(crate) part: Part,
    pub(crate) plan: &'a Plan,
    pub(crate) shingles: KeepShingles,
    /// Bytes that the outputs may take beside the work files.
    pub(crate) output_bytes: u64,
    /// Bytes of all inputs.
    pub(crate) total: u64,
    pub(crate) progress: &'a Progress,
    pub(crate) state: GatheringState,
}

/// How far the threads are.
pub(crate) struct GatheringState {
    began: Instant,
    has_looked_ahead: AtomicBool,
    /// Whether sketches go to work files.
    is_spilling: AtomicBool,
    work: Mutex<Option<Arc<Work>>>,
    /// Bytes of the inputs that have been read.
    read: AtomicU64,
    records: AtomicU64,
    name_bytes: AtomicU64,
    /// Bytes of sketches in memory.
    sketch_bytes: AtomicU64,
}

impl GatheringState {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            has_looked_ahead: AtomicBool::new(false),
            is_spilling: AtomicBool::new(false),
            work: Mutex::new(None),
            read: AtomicU64::new(0),
            records: AtomicU64::new(0),
            name_bytes: AtomicU64::new(0),
            sketch_bytes: AtomicU64::new(0),
        }
    }

    /// The work folder, if there is one.
    pub(crate) fn into_work(self) -> Option<Arc<Work>> {
        self.work.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gathering<'_> {
    /// What an earlier attempt has read, and whether that is all.
    pub(crate) fn start(&self, inputs: &[Input]) -> Result<(Vec<Taken>, bool)> {
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
        self.state.is_spilling.store(true, Ordering::Relaxed);
        let (mut taken, mut orders) = (Vec::new(), HashSet::new());
        let (mut read, mut is_whole) = (0, true);
        for (sketched, attached) in work.load(self.progress)? {
            // Attached are the chunk's order, how much of the file it is, and its records' names.
            // What another build wrote may be sound and still not be understood; then it is read again.
            let Some((numbers, names)) = attached.split_first_chunk::<16>() else {
                is_whole = false;
                continue;
            };
            let (order, file_bytes) = numbers.split_at(8);
            let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
            let Some(stretch) = Stretch::from_bytes(names, inputs) else {
                is_whole = false;
                continue;
            };
            // Two programs may have read the same chunk at the same time: a queue that tries again, say.
            if !orders.insert(number(order)) {
                continue;
            }
            self.count(&sketched, &stretch, number(file_bytes));
            read += number(file_bytes);
            taken.push((number(order), sketched, stretch));
        }
        if !taken.is_empty() {
            self.state.has_looked_ahead.store(true, Ordering::Relaxed);
            self.progress.count_reused(taken.len() as u64);
            let share = 100.0 * read as f64 / self.total.max(1) as f64;
            if !is_stage {
                self.progress.note(&format!("going on with an interrupted run, of which {share:.0} % were read"));
            }
        }
        let is_all = is_whole && work.has_read_all()?;
        if self.part == Part::AfterSketching && !is_all {
            bail!(NOT_SKETCHED);
        }
        Ok((taken, is_all))
    }

    /// Notes that all was read that was to be read, if that is of use to anybody.
    pub(crate) fn mark_read(&self) -> Result<()> {
        let shard = if let Part::Sketching(shard) = self.part { shard } else { Shard::ALL };
        if self.state.is_spilling.load(Ordering::Relaxed) {
            self.work()?.mark_read(shard)?;
        }
        Ok(())
    }

    fn count(&self, sketched: &Sketched, stretch: &Stretch, file_bytes: u64) {
        self.state.records.fetch_add(sketched.len() as u64, Ordering::Relaxed);
        self.state.name_bytes.fetch_add(stretch.bytes() as u64, Ordering::Relaxed);
        self.state.read.fetch_add(file_bytes, Ordering::Relaxed);
        self.progress.count_records(sketched.len() as u64);
        self.progress.advance(file_bytes);
    }

    /// The work folder, opened when it is first needed.
    fn work(&self) -> Result<Arc<Work>> {
        let mut work = self.state.work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(work) = &*work {
            return Ok(Arc::clone(work));
        }
        Ok(Arc::clone(work.insert(Arc::new(self.place.open(self.progress)?))))
    }

    /// Sees to it that what is in memory stays below what is allowed.
    fn keep_within_budget(&self, sketched: &Sketched) -> Result<()> {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let share = load(&self.state.read) as f64 / self.total.max(1) as f64;
        self.budget.check(load(&self.state.records), load(&self.state.name_bytes), share)?;
        let bytes = (sketched.storable_bytes() + sketched.shingle_bytes()) as u64;
        let sketches = self.state.sketch_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if sketches > self.budget.sketches() {
            if self.shingles == KeepShingles::Yes {
                bail!(
                    "{} of memory are too little to compare without sketches: all sets are kept; allow {} with --memory, or \
                     use sketches, which need much less",
                    Bytes(self.budget.bytes),
                    Bytes(self.budget.least(0, 0) + (5.0 * sketches as f64 / share.clamp(1e-3, 1.0)) as u64)
                );
            }
            self.state.is_spilling.store(true, Ordering::Relaxed);
        }
        if share >= ENOUGH_TO_LOOK_AHEAD && !self.state.has_looked_ahead.swap(true, Ordering::Relaxed) {
            self.look_ahead(share)?;
        }
        Ok(())
    }

    /// Says what the run will take, as far as can be told from the share of it that was read, and refuses it if its work
    /// files will not fit.
    fn look_ahead(&self, share: f64) -> Result<()> {
        let expected = |counter: &AtomicU64| (counter.load(Ordering::Relaxed) as f64 / share) as u64;
        let (records, ids, sketches) =
            (expected(&self.state.records), expected(&self.state.name_bytes), expected(&self.state.sketch_bytes));
        let spills = self.state.is_spilling.load(Ordering::Relaxed) || sketches > self.budget.sketches();
        let mut files = String::new();
        if spills && self.shingles != KeepShingles::Yes {
            let bytes = work_bytes(self.plan, records, ids);
            let advice = "name another place for work files with --tmp, or allow more --memory";
            let what = if self.output_bytes > 0 { "work files and output" } else { "work files" };
            check_disk(&self.place.path, bytes + self.output_bytes, what, advice)?;
            files = format!(", {} of work files", Bytes(bytes));
        }
        let seconds = self.state.began.elapsed().as_secs_f64() / share * AFTER_READING;
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

    pub(crate) fn room(&self) -> u64 {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.budget.room(load(&self.state.records), load(&self.state.name_bytes), load(&self.state.sketch_bytes))
    }
}

/// What one thread has read.
pub(crate) struct Gatherer<'a> {
    gathering: &'a Gathering<'a>,
    sketcher: Sketcher,
    /// What has not been put away yet.
    open: Vec<(u64, Sketched, Stretch, u64)>,
    open_bytes: usize,
    taken: Vec<Taken>,
}

impl<'a> Gatherer<'a> {
    pub(crate) fn new(plan: &Plan, gathering: &'a Gathering<'a>) -> Self {
        let sketcher = plan.sketcher();
        let keeps = gathering.shingles != KeepShingles::No;
        let sketcher = if keeps { sketcher } else { sketcher.forget_shingles() };
        Self { gathering, sketcher, open: Vec::new(), open_bytes: 0, taken: Vec::new() }
    }

    pub(crate) fn take(&mut self, chunk: &Chunk, parsed: &mut Parsed) -> Result<()> {
        let sketched = self.sketcher.sketch(&parsed.batch);
        let stretch = Stretch::take(chunk.input, parsed);
        self.gathering.count(&sketched, &stretch, chunk.file_bytes);
        self.gathering.keep_within_budget(&sketched)?;
        self.open_bytes += sketched.storable_bytes() + sketched.shingle_bytes();
        self.open.push((chunk.order, sketched, stretch, chunk.file_bytes));
        let is_full = self.open_bytes >= self.gathering.budget.segment();
        if is_full && self.gathering.state.is_spilling.load(Ordering::Relaxed) {
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
        self.gathering.state.sketch_bytes.fetch_sub(self.open_bytes as u64, Ordering::Relaxed);
        self.open_bytes = 0;
        self.taken.extend(named.into_iter().zip(stored).map(|((order, stretch), sketched)| (order, sketched, stretch)));
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<Vec<Taken>> {
        if self.gathering.state.is_spilling.load(Ordering::Relaxed) {
            self.put_away()?;
        }
        self.taken.extend(self.open.into_iter().map(|(order, sketched, stretch, _)| (order, sketched, stretch)));
        Ok(self.taken)
    }
}
