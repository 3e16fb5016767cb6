//! The reader: hands out the inputs stretch by stretch, in input order, to any number of threads.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lookalike::{RecordNumber, Shard};

use crate::chunk::{Chunk, Context};
use crate::compression::{Compression, open_counted, open_decompressed, read_error};
use crate::csv::{self, Columns};
use crate::error::{Error, Result};
use crate::fields::Fields;
use crate::input::Input;
use crate::line_records::Stretch;
use crate::options::{Format, ReadOptions};
use crate::parquet::ParquetFile;
use crate::parsed::Parsed;
use crate::positioned::read_part;
use crate::read_ahead::{BYTES_AHEAD, read_ahead};
use crate::stream::{Cut, RecordStream};
use crate::turns::Turns;
use crate::warc::WarcChunks;
use crate::{html, jsonl, lines, warc};

/// Bytes of a stretch: enough to make handing out cheap, little enough to keep in a core's cache.
const CHUNK_BYTES: usize = 512 << 10;

/// Reads inputs in stretches of whole records. One reader serves many threads: each asks for the
/// [next chunk](Reader::next_chunk) and [parses](Reader::parse) it on its own.
///
/// Plain files of one record a line are read from the middle, by all threads at once. Others are read from front to back
/// by one thread at a time, while the other threads parse what was read before or read other inputs: no more inputs are
/// open than threads read.
pub struct Reader {
    inputs: Vec<Input>,
    options: ReadOptions,
    fields: Fields,
    chunk_bytes: usize,
    turns: Turns<Reading>,
    /// Stretches that are passed over.
    done: HashSet<u64>,
    shard: Shard,
}

/// How far an input was read.
#[derive(Default)]
struct Reading {
    /// Stretches that were handed out.
    stretches: u64,
    /// None before the first.
    open: Option<Open>,
}

/// An input that is being handed out.
enum Open {
    /// A plain file of lines, part by part.
    Parts {
        file: Arc<File>,
        next: u64,
        count: u64,
        cut: Cut,
    },
    Records {
        stream: RecordStream,
        context: Context,
        progress: Progress,
    },
    Warc {
        pieces: WarcChunks,
        position: u64,
        progress: Progress,
    },
    RowGroups {
        file: Arc<ParquetFile>,
        next: usize,
    },
    /// A file that is a record; not opened yet.
    Whole {
        taken: bool,
    },
}

/// How much of a file has been read, and how much of that was told.
struct Progress {
    read: Arc<AtomicU64>,
    told: u64,
}

/// What is left to do for a chunk once another thread can have the input.
enum Rest {
    Nothing,
    Part { file: Arc<File>, index: u64, cut: Cut },
    Whole,
}

impl Reader {
    /// A reader of these inputs.
    pub fn open(inputs: Vec<Input>, options: ReadOptions) -> Result<Self> {
        let has_fields =
            |input: &Input| !matches!(input.format, Format::Lines | Format::Sets | Format::Text | Format::Html);
        if let (Some(field), Some(input)) = (&options.within, inputs.iter().find(|input| !has_fields(input))) {
            let what = format!("its records, of the format {}, have no fields, and --within asks for", input.format);
            return Err(Error::new(format!("{what} {:?}", field.as_str()))
                .at_file(&input.name)
                .advise("leave this input out, or make it JSONL"));
        }
        let fields = Fields::new(&options);
        let turns = Turns::new(inputs.len());
        Ok(Self { inputs, options, fields, chunk_bytes: CHUNK_BYTES, turns, done: HashSet::new(), shard: Shard::ALL })
    }

    /// Reads in stretches of about this many bytes instead. The records are the same.
    pub fn with_chunk_bytes(mut self, chunk_bytes: usize) -> Self {
        self.chunk_bytes = chunk_bytes.max(1);
        self
    }

    /// Passes over the stretches with these [orders](Chunk::order), which somebody has read before.
    pub fn without(mut self, done: HashSet<u64>) -> Self {
        self.done = done;
        self
    }

    /// Reads only one part of the inputs. Those that can be read from the middle are divided; others belong to one part.
    pub fn only(mut self, shard: Shard) -> Self {
        self.shard = shard;
        self
    }

    /// The inputs, in order.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// What the reader was asked to do.
    pub fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// Fills `chunk` with the next stretch; false if there is none. A stretch can be without records.
    ///
    /// To one thread the stretches come in input order; those of each input do so always. On an error `chunk.order`
    /// says which stretch it was, and where the error makes what follows unreadable, only what comes before is still
    /// handed out.
    pub fn next_chunk(&self, chunk: &mut Chunk) -> Result<bool> {
        let rest = loop {
            let Some(rest) = self.hand_out(chunk)? else {
                return Ok(false);
            };
            let is_wanted = !can_be_divided(&self.inputs[chunk.input]) || self.shard.has(chunk.order);
            if is_wanted && !self.done.contains(&chunk.order) {
                break rest;
            }
        };
        let input = &self.inputs[chunk.input];
        match rest {
            Rest::Nothing => {}
            Rest::Part { file, index, cut } => {
                // Of a part of the inputs, what follows is somebody else's.
                if self.shard == Shard::ALL {
                    self.ask_ahead(&file, index);
                }
                read_part(&file, input.size, index, self.chunk_bytes, cut, chunk).map_err(|error| {
                    match error.kind() {
                        std::io::ErrorKind::UnexpectedEof => input.changed(),
                        _ => Error::io("cannot read", &input.name, error),
                    }
                })?;
            }
            Rest::Whole => {
                chunk.buffer.clear();
                open_decompressed(&input.path, input.compression)?
                    .read_to_end(&mut chunk.buffer)
                    .map_err(|error| read_error(&input.name, input.compression, chunk.buffer.len() as u64, error))?;
                chunk.range = 0..chunk.buffer.len();
                chunk.file_bytes = input.size;
            }
        }
        if chunk.position + chunk.range.len() as u64 > RecordNumber::MAX_POSITION {
            return Err(Error::new("the input is longer than a terabyte").at_file(&input.name).advise("split it"));
        }
        Ok(true)
    }

    /// Has the kernel read what follows a part. Parts are read in order, so each asks for as much as it uses up.
    fn ask_ahead(&self, file: &File, index: u64) {
        let part_bytes = self.chunk_bytes as u64;
        if index == 0 {
            read_ahead(file, 0, BYTES_AHEAD);
        }
        read_ahead(file, index * part_bytes + BYTES_AHEAD, part_bytes);
    }

    /// Takes a chunk's records. `parsed` is cleared first.
    pub fn parse(&self, chunk: &Chunk, parsed: &mut Parsed) -> Result<()> {
        parsed.clear();
        parsed.bytes = chunk.range.len() as u64 + chunk.trailing;
        let input = &self.inputs[chunk.input];
        let stretch = Stretch {
            bytes: chunk.bytes(),
            position: chunk.position,
            input: chunk.input,
            name: &input.name,
            trailing: chunk.trailing,
            on_error: self.options.on_error,
        };
        let result = match (input.format, &chunk.context) {
            (Format::Jsonl, _) => jsonl::parse(stretch, &self.fields, parsed),
            (Format::Lines, _) => lines::parse_texts(stretch, parsed),
            (Format::Sets, _) => lines::parse_sets(stretch, parsed),
            (Format::Text, _) => lines::parse_file(stretch, parsed),
            (Format::Html, _) => lines::parse_page(stretch, html::visible_text, parsed),
            (Format::Csv | Format::Tsv, Context::Columns(columns)) => csv::parse(stretch, columns, parsed),
            (Format::Warc, _) => {
                warc::parse_piece(stretch.bytes, stretch.position, stretch.input, stretch.name, &self.options, parsed)
            }
            (Format::Parquet, Context::RowGroup(file, index)) => {
                file.parse_row_group(*index, chunk.input, &self.options, parsed)
            }
            (Format::Csv | Format::Tsv | Format::Parquet, _) => Ok(()),
        };
        result.map_err(|error| number_record(input, error))
    }

    /// Hands out nothing more of an input, nor of those behind it.
    pub(crate) fn end_before(&self, input: usize) {
        self.turns.end_before(input);
    }

    /// The part of [`Self::next_chunk`] that one thread at a time can do for an input.
    fn hand_out(&self, chunk: &mut Chunk) -> Result<Option<Rest>> {
        while let Some(mut turn) = self.turns.take() {
            let input = &self.inputs[turn.input];
            if !can_be_divided(input) && !self.shard.has(turn.input as u64) {
                continue;
            }
            chunk.begin(turn.input, turn.reading.stretches);
            match self.advance(input, &mut turn.reading.open, chunk) {
                Ok(Some(rest)) => {
                    turn.reading.stretches += 1;
                    turn.give_back();
                    return Ok(Some(rest));
                }
                // The input has ended, and with it its turns.
                Ok(None) => {}
                Err(error) => {
                    self.end_before(turn.input);
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    fn open_input(&self, input: &Input) -> Result<Open> {
        match input.format {
            Format::Text | Format::Html => return Ok(Open::Whole { taken: false }),
            Format::Parquet => {
                let file = ParquetFile::open(&input.path).map_err(|error| error.at_file(&input.name))?;
                return Ok(Open::RowGroups { file: Arc::new(file), next: 0 });
            }
            _ => {}
        }
        let cut = cut(input.format);
        if can_be_divided(input) {
            let file = File::open(&input.path).map_err(|error| Error::io("cannot open", &input.name, error))?;
            let count = input.size.div_ceil(self.chunk_bytes as u64);
            return Ok(Open::Parts { file: Arc::new(file), next: 0, count, cut });
        }
        let (reader, read) = open_counted(&input.path, input.compression)?;
        let progress = Progress { read, told: 0 };
        if input.format == Format::Warc {
            return Ok(Open::Warc { pieces: WarcChunks::new(reader), position: 0, progress });
        }
        let mut stream = RecordStream::new(reader, cut);
        let mut context = Context::None;
        if let Cut::Rows { delimiter } = cut {
            let header = stream
                .take_header(delimiter)
                .map_err(|error| read_error(&input.name, input.compression, stream.position(), error))?;
            if let Some(header) = header {
                let columns =
                    Columns::find(&header, delimiter, &self.options).map_err(|error| error.at_file(&input.name))?;
                context = Context::Columns(Arc::new(columns));
            }
        }
        Ok(Open::Records { stream, context, progress })
    }

    /// Takes the next stretch of an input, opened with the first; `None` at its end.
    fn advance(&self, input: &Input, open: &mut Option<Open>, chunk: &mut Chunk) -> Result<Option<Rest>> {
        let open = match open {
            Some(open) => open,
            None => open.insert(self.open_input(input)?),
        };
        Ok(match open {
            Open::Parts { file, next, count, cut } => (*next < *count).then(|| {
                *next += 1;
                Rest::Part { file: Arc::clone(file), index: *next - 1, cut: *cut }
            }),
            Open::Records { stream, context, progress } => {
                chunk.position = stream.position();
                let more = stream
                    .next_piece(self.chunk_bytes, &mut chunk.buffer)
                    .map_err(|error| read_error(&input.name, input.compression, stream.position(), error))?;
                chunk.context = context.clone();
                chunk.range = 0..chunk.buffer.len();
                chunk.file_bytes = progress.tell();
                more.then_some(Rest::Nothing)
            }
            Open::Warc { pieces, position, progress } => {
                chunk.buffer.clear();
                let more = pieces
                    .next_piece(self.chunk_bytes, &mut chunk.buffer)
                    .map_err(|error| read_error(&input.name, input.compression, *position, error))?;
                chunk.position = *position;
                chunk.range = 0..chunk.buffer.len();
                *position += chunk.buffer.len() as u64;
                chunk.file_bytes = progress.tell();
                more.then_some(Rest::Nothing)
            }
            Open::RowGroups { file, next } => (*next < file.row_groups()).then(|| {
                chunk.context = Context::RowGroup(Arc::clone(file), *next);
                let count = file.row_groups() as u64;
                chunk.file_bytes = input.size * (*next as u64 + 1) / count - input.size * *next as u64 / count;
                *next += 1;
                Rest::Nothing
            }),
            Open::Whole { taken } => (!std::mem::replace(taken, true)).then_some(Rest::Whole),
        })
    }
}

impl Progress {
    fn tell(&mut self) -> u64 {
        let read = self.read.load(Ordering::Relaxed);
        let new = read - self.told;
        self.told = read;
        new
    }
}

/// Whether an input can be read from the middle: plain files of lines, and Parquet.
fn can_be_divided(input: &Input) -> bool {
    match input.format {
        Format::Parquet => true,
        Format::Jsonl | Format::Lines | Format::Sets => input.compression == Compression::None,
        _ => false,
    }
}

/// Where the records of a format begin.
fn cut(format: Format) -> Cut {
    match format {
        Format::Jsonl => Cut::FilledLines,
        Format::Csv | Format::Tsv => Cut::Rows { delimiter: csv::delimiter(format) },
        _ => Cut::Lines,
    }
}

/// Adds to an error which record of its file it is about. Nobody counts while all goes well, so the file is read again.
#[cold]
fn number_record(input: &Input, error: Error) -> Error {
    let position = match error.place() {
        Some(place) if place.record.is_none() => place.byte,
        _ => None,
    };
    match position.map(|position| count_records_before(input, position)) {
        Some(Ok(Some(count))) => error.number_record(count + 1),
        _ => error,
    }
}

fn count_records_before(input: &Input, position: u64) -> Result<Option<u64>> {
    if matches!(input.format, Format::Warc | Format::Parquet) {
        return Ok(None);
    }
    let cut = cut(input.format);
    let reader = open_decompressed(&input.path, input.compression)?;
    let mut stream = RecordStream::new(reader, cut);
    let failed = |error| read_error(&input.name, input.compression, position, error);
    if let Cut::Rows { delimiter } = cut {
        stream.take_header(delimiter).map_err(failed)?;
    }
    let (mut count, mut piece) = (0, Vec::new());
    while stream.position() < position {
        let start = stream.position();
        if !stream.next_piece(CHUNK_BYTES, &mut piece).map_err(failed)? {
            break;
        }
        let mark = if start == 0 && piece.starts_with(crate::BOM) { crate::BOM.len() } else { 0 };
        let limit = (position - start).min(piece.len() as u64) as usize;
        count += cut.count_starts(&piece[mark..], limit.saturating_sub(mark));
    }
    Ok(Some(count))
}
