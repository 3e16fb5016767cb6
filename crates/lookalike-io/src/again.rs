//! Reads some records a second time: those whose positions and lengths are known from the first.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lookalike::{Batch, RecordNumber};

use crate::chunk::{Chunk, Context};
use crate::compression::Compression;
use crate::csv::{self, Columns};
use crate::drive::on_threads;
use crate::error::Error;
use crate::input::Input;
use crate::options::Format;
use crate::parquet::ParquetFile;
use crate::parsed::{Parsed, RawSpan};
use crate::source::Reader;
use crate::spans::SpanReader;
use crate::stream::{Cut, RecordStream};

/// Records that are parsed in one go, and about how many bytes of them.
const RECORDS_IN_A_RUN: usize = 128;
const BYTES_IN_A_RUN: u64 = 512 << 10;
/// Bytes between two records that are rather read along than passed over with a call of their own.
const GAP_BYTES: u64 = 4 << 10;

/// A record to be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its number.
    pub number: RecordNumber,
    /// How many raw bytes belong to it.
    pub length: u32,
}

impl Wanted {
    fn span(&self) -> RawSpan {
        RawSpan { position: self.number.position(), length: self.length.into() }
    }
}

/// Records that were read again: neighbours in the list of those wanted.
#[derive(Debug)]
pub struct Run<'a> {
    /// Where in the list of those wanted the first of them stands.
    pub first: usize,
    /// Holds their contents, and perhaps those of others.
    pub batch: &'a Batch,
    /// Where in the batch they are.
    pub indices: &'a [u32],
}

/// What one thread does in one go.
enum Task {
    /// Parts of a plain file, or whole files, which anybody can read at any time.
    Run(Range<usize>),
    /// All that is wanted of an input that can only be read from front to back.
    Stream(Range<usize>),
    /// What is wanted of one row group.
    RowGroup(Range<usize>, Arc<ParquetFile>, usize),
}

/// Reads the wanted records, which come in input order, with `threads` threads, each with a state of its own. Runs of
/// them come to `take` in any order.
///
/// An input that changed in the meantime is an error; so is a record that no longer can be parsed. That a record's
/// content is the same is for the caller to check.
pub fn read_again<S, E, M, T>(
    reader: &Reader,
    wanted: &[Wanted],
    threads: usize,
    cancel: &AtomicBool,
    make_state: M,
    take: T,
) -> Result<(), E>
where
    E: From<Error> + Send,
    M: Fn() -> S + Sync,
    T: Fn(&mut S, Run<'_>) -> Result<(), E> + Sync,
{
    let tasks = tasks(reader, wanted)?;
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<E>> = Mutex::new(None);
    let stop = AtomicBool::new(false);
    let work = || {
        let mut state = make_state();
        let mut worker = Worker { reader, wanted, chunk: Chunk::default(), parsed: Parsed::default(), file: None };
        while !stop.load(Ordering::Relaxed) && !cancel.load(Ordering::Relaxed) {
            let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            if let Err(error) = worker.work(task, &mut |run| take(&mut state, run)) {
                stop.store(true, Ordering::Relaxed);
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
    };
    on_threads(threads.min(tasks.len()), work);
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None if cancel.load(Ordering::Relaxed) => Err(Error::cancelled().into()),
        None => Ok(()),
    }
}

fn tasks(reader: &Reader, wanted: &[Wanted]) -> Result<Vec<Task>, Error> {
    let mut tasks = Vec::new();
    let mut start = 0;
    for of_input in wanted.chunk_by(|left, right| left.number.input() == right.number.input()) {
        let range = start..start + of_input.len();
        start = range.end;
        let input = &reader.inputs()[of_input[0].number.input()];
        input.check_unchanged()?;
        match input.format {
            Format::Parquet => {
                let file = Arc::new(ParquetFile::open(&input.path).map_err(|error| error.at_file(&input.name))?);
                let mut at = range.start;
                for group in 0..file.row_groups() {
                    let end = file.first_row(group + 1);
                    let count = wanted[at..range.end].partition_point(|wanted| wanted.number.position() < end);
                    if count > 0 {
                        tasks.push(Task::RowGroup(at..at + count, Arc::clone(&file), group));
                    }
                    at += count;
                }
            }
            _ if input.compression == Compression::None => tasks.extend(runs(wanted, range).map(Task::Run)),
            _ => tasks.push(Task::Stream(range)),
        }
    }
    Ok(tasks)
}

/// Cuts a range of the wanted records into runs.
fn runs(wanted: &[Wanted], mut range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let has_room = |wanted: &&Wanted| {
            let has_room = bytes < BYTES_IN_A_RUN;
            bytes += u64::from(wanted.length);
            has_room
        };
        let count = wanted[range.clone()].iter().take(RECORDS_IN_A_RUN).take_while(has_room).count();
        let run = range.start..range.start + count;
        range.start += count;
        (count > 0).then_some(run)
    })
}

/// One thread's buffers.
struct Worker<'a> {
    reader: &'a Reader,
    wanted: &'a [Wanted],
    chunk: Chunk,
    parsed: Parsed,
    /// The plain file that was read last.
    file: Option<(usize, File, Context)>,
}

impl Worker<'_> {
    fn work<E: From<Error>>(&mut self, task: &Task, take: &mut impl FnMut(Run<'_>) -> Result<(), E>) -> Result<(), E> {
        match task {
            Task::Run(range) => {
                self.fill_from_plain(&self.wanted[range.clone()])?;
                self.parse_run(range.clone(), take)
            }
            Task::Stream(range) => {
                let input = &self.reader.inputs()[self.wanted[range.start].number.input()];
                let context = context(self.reader, input)?;
                let mut source = SpanReader::open(input)?;
                let mut record = Vec::new();
                for run in runs(self.wanted, range.clone()) {
                    self.start_chunk(self.wanted[run.start].number, context.clone());
                    for wanted in &self.wanted[run.clone()] {
                        source.seek(wanted.number.position())?;
                        source.read(wanted.length.into(), &mut record)?;
                        self.chunk.buffer.extend_from_slice(&record);
                    }
                    self.chunk.range = 0..self.chunk.buffer.len();
                    self.parse_run(run, take)?;
                }
                Ok(())
            }
            Task::RowGroup(range, file, group) => {
                let wanted = &self.wanted[range.clone()];
                let input = wanted[0].number.input();
                self.parsed.clear();
                file.parse_row_group(*group, input, self.reader.options(), &mut self.parsed)?;
                let numbers = self.parsed.batch.numbers();
                let find = |wanted: &Wanted| numbers.binary_search(&wanted.number).ok().map(|index| index as u32);
                let indices: Option<Vec<u32>> = wanted.iter().map(find).collect();
                let indices = indices.ok_or_else(|| self.reader.inputs()[input].changed())?;
                take(Run { first: range.start, batch: &self.parsed.batch, indices: &indices })
            }
        }
    }

    fn start_chunk(&mut self, first: RecordNumber, context: Context) {
        self.chunk.begin(first.input(), 0);
        self.chunk.buffer.clear();
        self.chunk.position = first.position();
        self.chunk.context = context;
    }

    /// Fills the chunk with the raw bytes of records of one plain file, which need not be neighbours there.
    fn fill_from_plain(&mut self, wanted: &[Wanted]) -> Result<(), Error> {
        let index = wanted[0].number.input();
        let input = &self.reader.inputs()[index];
        if self.file.as_ref().is_none_or(|(open, ..)| *open != index) {
            let file = File::open(&input.path).map_err(|error| Error::io("cannot open", &input.name, error))?;
            self.file = Some((index, file, context(self.reader, input)?));
        }
        let Some((_, file, context)) = &self.file else { return Ok(()) };
        let context = context.clone();
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => input.changed(),
            _ => Error::io("cannot read", &input.name, error),
        };
        let mut at = 0;
        let chunk = &mut self.chunk;
        chunk.begin(index, 0);
        chunk.position = wanted[0].number.position();
        chunk.context = context;
        let buffer = &mut chunk.buffer;
        buffer.clear();
        while at < wanted.len() {
            // Neighbours are read with one call; what lies between them is taken out again.
            let from = wanted[at].span().position;
            let start = buffer.len();
            let mut end = from;
            let near = wanted[at..].iter().take_while(|next| {
                let span = next.span();
                let is_near = span.position <= end + GAP_BYTES;
                if is_near {
                    end = span.position + span.length;
                }
                is_near
            });
            let count = near.count();
            buffer.resize(start + (end - from) as usize, 0);
            file.read_exact_at(&mut buffer[start..], from).map_err(failed)?;
            let mut filled = start;
            for span in wanted[at..at + count].iter().map(Wanted::span) {
                let source = start + (span.position - from) as usize;
                buffer.copy_within(source..source + span.length as usize, filled);
                filled += span.length as usize;
            }
            buffer.truncate(filled);
            at += count;
        }
        chunk.range = 0..chunk.buffer.len();
        Ok(())
    }

    /// Parses the chunk, which holds the records of a run and nothing else.
    fn parse_run<E: From<Error>>(
        &mut self,
        run: Range<usize>,
        take: &mut impl FnMut(Run<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let changed = || self.reader.inputs()[self.chunk.input].changed();
        self.reader.parse(&self.chunk, &mut self.parsed).map_err(|_| changed())?;
        if self.parsed.batch.len() != run.len() {
            return Err(changed().into());
        }
        let indices: Vec<u32> = (0..run.len() as u32).collect();
        take(Run { first: run.start, batch: &self.parsed.batch, indices: &indices })
    }
}

/// What a parser has to know about an input besides its records: the columns of a table.
fn context(reader: &Reader, input: &Input) -> Result<Context, Error> {
    if !matches!(input.format, Format::Csv | Format::Tsv) {
        return Ok(Context::None);
    }
    let delimiter = csv::delimiter(input.format);
    let source = crate::compression::open_decompressed(&input.path, input.compression)?;
    let header = RecordStream::new(source, Cut::Rows { delimiter })
        .take_header(delimiter)
        .map_err(|error| crate::compression::read_error(&input.name, input.compression, 0, error))?;
    let columns = Columns::find(&header.unwrap_or_default(), delimiter, reader.options())
        .map_err(|error| error.at_file(&input.name))?;
    Ok(Context::Columns(Arc::new(columns)))
}
