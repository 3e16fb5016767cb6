//! What records are called, and where they stand in their inputs.

use std::borrow::Cow;
use std::ops::Range;

use anyhow::{Result, bail};
use lookalike::hash_item;
use lookalike_io::error::name_of;
use lookalike_io::{BadRecord, Format, Ids, Input, Parsed, Place, RawSpan};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::repeated_hashes::RepeatedHashes;

/// Stretches whose ids are hashed at a time, before they are told apart.
const STRETCHES_AT_ONCE: usize = 1024;
/// Stretches that a thread hashes in one go.
const STRETCHES_TOGETHER: usize = 64;

/// The records of one chunk of an input.
#[derive(Debug)]
pub(crate) struct Stretch {
    input: usize,
    ids: Ids,
    raw_lengths: Vec<u32>,
    bad: Vec<BadRecord>,
}

impl Stretch {
    /// Takes out of a parsed chunk what outlives it.
    pub(crate) fn take(input: usize, parsed: &mut Parsed) -> Self {
        // Copies take no more room than they need, and leave the parser its buffers, which have grown to their size.
        Self {
            input,
            ids: parsed.ids.clone(),
            raw_lengths: parsed.raw_lengths.clone(),
            bad: std::mem::take(&mut parsed.bad),
        }
    }

    /// The items of an index, which stands among the inputs.
    pub(crate) fn of_items<'a>(input: usize, ids: impl Iterator<Item = &'a str>) -> Self {
        let mut stretch = Self { input, ids: Ids::default(), raw_lengths: Vec::new(), bad: Vec::new() };
        ids.for_each(|id| stretch.ids.push(Some(id)));
        stretch.raw_lengths.resize(stretch.ids.len(), 0);
        stretch
    }

    pub(crate) fn input(&self) -> usize {
        self.input
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.ids.bytes() + 4 * self.raw_lengths.len() + 200 * self.bad.len() + 200
    }

    fn len(&self) -> usize {
        self.ids.len()
    }

    /// The hashes of the ids that there are, each with the index of its record.
    fn id_hashes(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        (0..self.len()).filter_map(|index| Some((index, hash_item(self.ids.get(index)?.as_bytes()))))
    }

    /// As bytes, for a work file.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let ids = (0..self.len()).map(|index| self.ids.get(index)).collect();
        let bad = self
            .bad
            .iter()
            .map(|bad| StoredBad {
                index_in_chunk: bad.index_in_chunk,
                span: (bad.span.position, bad.span.length),
                message: bad.error.message().to_owned(),
                advice: bad.error.advice().map(str::to_owned),
                place: bad.error.place().map(|place| (place.record, place.byte)),
            })
            .collect();
        let stored = StoredStretch { input: self.input, ids, raw_lengths: &self.raw_lengths, bad };
        Ok(serde_json::to_vec(&stored)?)
    }

    /// What [`Self::to_bytes`] wrote.
    pub(crate) fn from_bytes(bytes: &[u8], inputs: &[Input]) -> Option<Self> {
        let stored: LoadedStretch<'_> = serde_json::from_slice(bytes).ok()?;
        let mut ids = Ids::default();
        stored.ids.iter().for_each(|id| ids.push(id.as_deref()));
        ids.shrink();
        let path = &inputs.get(stored.input)?.name;
        let bad = stored.bad.into_iter().map(|bad| {
            let mut error = lookalike_io::Error::new(bad.message);
            if let Some(advice) = bad.advice {
                error = error.advise(advice);
            }
            if let Some((record, byte)) = bad.place {
                error = error.at(Place { path: path.clone(), record, byte });
            }
            let span = RawSpan { position: bad.span.0, length: bad.span.1 };
            BadRecord { index_in_chunk: bad.index_in_chunk, span, error }
        });
        Some(Self { input: stored.input, ids, raw_lengths: stored.raw_lengths, bad: bad.collect() })
    }
}

/// A stretch in a work file.
#[derive(Serialize)]
struct StoredStretch<'a> {
    input: usize,
    ids: Vec<Option<&'a str>>,
    raw_lengths: &'a [u32],
    bad: Vec<StoredBad>,
}

#[derive(Deserialize)]
struct LoadedStretch<'a> {
    input: usize,
    #[serde(borrow)]
    ids: Vec<Option<Cow<'a, str>>>,
    raw_lengths: Vec<u32>,
    bad: Vec<StoredBad>,
}

/// A bad record in a work file.
#[derive(Serialize, Deserialize)]
struct StoredBad {
    index_in_chunk: u64,
    span: (u64, u64),
    message: String,
    advice: Option<String>,
    place: Option<(Option<u64>, Option<u64>)>,
}

/// All records of a run, called by their indices in input order.
#[derive(Debug)]
pub(crate) struct Records {
    inputs: Vec<Input>,
    /// What the inputs are called in the names of records.
    input_names: Vec<String>,
    /// The first so many inputs are old.
    old_inputs: usize,
    stretches: Vec<Stretch>,
    /// For each stretch: the index of its first record, and how many records of its input precede it.
    starts: Vec<(usize, u64)>,
    len: usize,
}

impl Records {
    /// The records of these stretches, which come in input order.
    pub(crate) fn new(inputs: Vec<Input>, old_inputs: usize, mut stretches: Vec<Stretch>) -> Self {
        let mut starts = Vec::with_capacity(stretches.len());
        let (mut index, mut in_input, mut input) = (0, 0, 0);
        for stretch in &mut stretches {
            if stretch.input != input {
                (input, in_input) = (stretch.input, 0);
            }
            starts.push((index, in_input));
            let number = |bad: BadRecord| {
                let record = in_input + bad.index_in_chunk + 1;
                BadRecord { error: bad.error.number_record(record), ..bad }
            };
            stretch.bad = std::mem::take(&mut stretch.bad).into_iter().map(number).collect();
            index += stretch.len();
            in_input += (stretch.len() + stretch.bad.len()) as u64;
        }
        let input_names = inputs.iter().map(|input| name_of(&input.name)).collect();
        Self { inputs, input_names, old_inputs, stretches, starts, len: index }
    }

    pub(crate) fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The inputs that are not only compared with, with their indices.
    pub(crate) fn new_inputs(&self) -> impl Iterator<Item = (usize, &Input)> {
        self.inputs.iter().enumerate().skip(self.old_inputs)
    }

    /// The records that could not be used.
    pub(crate) fn bad(&self) -> impl Iterator<Item = &BadRecord> {
        self.stretches.iter().flat_map(|stretch| &stretch.bad)
    }

    /// Where the bad records of an input stand, in input order.
    pub(crate) fn bad_of_input(&self, input: usize) -> impl Iterator<Item = RawSpan> + '_ {
        let first = self.stretches.partition_point(|stretch| stretch.input < input);
        let stretches = self.stretches[first..].iter().take_while(move |stretch| stretch.input == input);
        stretches.flat_map(|stretch| stretch.bad.iter().map(|bad| bad.span))
    }

    fn find(&self, record: usize) -> (usize, usize) {
        let stretch = self.starts.partition_point(|(start, _)| *start <= record) - 1;
        (stretch, record - self.starts[stretch].0)
    }

    /// How many raw bytes belong to a record.
    pub(crate) fn raw_length(&self, record: usize) -> u32 {
        let (stretch, index) = self.find(record);
        self.stretches[stretch].raw_lengths[index]
    }

    /// The records of an input, as a range of indices.
    pub(crate) fn of_input(&self, input: usize) -> std::ops::Range<usize> {
        let first = self.stretches.partition_point(|stretch| stretch.input < input);
        let behind = self.stretches.partition_point(|stretch| stretch.input <= input);
        let start = |stretch: usize| self.starts.get(stretch).map_or(self.len, |(start, _)| *start);
        start(first)..start(behind)
    }

    /// What a record is called: its id, or FILE:RECORD.
    pub(crate) fn name(&self, record: usize) -> Cow<'_, str> {
        let (stretch, index) = self.find(record);
        match self.stretches[stretch].ids.get(index) {
            Some(id) => Cow::Borrowed(id),
            None => Cow::Owned(self.place(record)),
        }
    }

    /// Whether a record is called FILE:RECORD, as it has no id: the next file of that name has others that are called so.
    pub(crate) fn is_called_by_place(&self, record: usize) -> bool {
        let (at, index) = self.find(record);
        let stretch = &self.stretches[at];
        let is_file = matches!(self.inputs[stretch.input].format, Format::Text | Format::Html);
        !is_file && stretch.ids.get(index).is_none()
    }

    /// Where a record stands: FILE:RECORD, counted from 1; FILE where a file is a record.
    fn place(&self, record: usize) -> String {
        let (at, index) = self.find(record);
        let stretch = &self.stretches[at];
        let name = &self.input_names[stretch.input];
        if matches!(self.inputs[stretch.input].format, Format::Text | Format::Html) {
            return name.clone();
        }
        // Bad records count too: the number is the one that a person would count.
        let mut ordinal = index as u64;
        for bad in &stretch.bad {
            ordinal += u64::from(bad.index_in_chunk <= ordinal);
        }
        format!("{name}:{}", self.starts[at].1 + ordinal + 1)
    }

    /// Two of these records with the same id: the ones whose second comes first. Most hashes of ids occur once; bits tell, and
    /// only the rest is sorted.
    fn find_twice<'a>(&'a self, records: &Range<usize>) -> Option<(usize, usize)> {
        let first = self.starts.partition_point(|(start, _)| *start < records.start);
        let behind = self.starts.partition_point(|(start, _)| *start < records.end);
        let stretches = || self.stretches[first..behind].par_iter().zip(&self.starts[first..behind]);
        let hashes = |(stretch, (start, _)): (&'a Stretch, &(usize, u64))| {
            let start = *start;
            stretch.id_hashes().map(move |(index, hash)| (hash, (start + index) as u32))
        };
        let mut repeats = RepeatedHashes::among(records.len());
        for stretches in self.stretches[first..behind].chunks(STRETCHES_AT_ONCE) {
            let hashes = |stretches: &'a [Stretch]| stretches.iter().flat_map(Stretch::id_hashes).map(|(_, hash)| hash);
            repeats.see(stretches.par_chunks(STRETCHES_TOGETHER).map(hashes));
        }
        let mut repeated: Vec<(u64, u32)> =
            stretches().flat_map_iter(hashes).filter(|(hash, _)| repeats.may_hold(*hash)).collect();
        repeated.par_sort_unstable();
        repeated
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0)
            .map(|pair| (pair[0].1 as usize, pair[1].1 as usize))
            .filter(|(left, right)| self.name(*left) == self.name(*right))
            .min_by_key(|(_, right)| *right)
    }

    /// How many records there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// An input with fields that has records, but none with an id.
    pub(crate) fn without_ids(&self) -> Option<&Input> {
        let has_fields =
            |input: &Input| matches!(input.format, Format::Jsonl | Format::Csv | Format::Tsv | Format::Parquet);
        let (mut filled, mut named) = (vec![false; self.inputs.len()], vec![false; self.inputs.len()]);
        for stretch in &self.stretches {
            filled[stretch.input] |= stretch.len() > 0;
            named[stretch.input] |= (0..stretch.len()).any(|index| stretch.ids.get(index).is_some());
        }
        let without = |at: &usize| filled[*at] && !named[*at] && has_fields(&self.inputs[*at]);
        (0..self.inputs.len()).find(without).map(|at| &self.inputs[at])
    }

    /// Refuses ids that stand twice: nobody could tell which record an answer speaks of.
    pub(crate) fn check_ids(&self) -> Result<()> {
        let first_new = self.of_input(self.old_inputs).start.min(self.len);
        for records in [0..first_new, first_new..self.len] {
            if let Some((first, second)) = self.find_twice(&records) {
                bail!(
                    "the id \"{}\" stands twice, at {} and {}; name a field with unique ids with --id, or use --id none",
                    self.name(first).escape_default(),
                    self.place(first),
                    self.place(second)
                );
            }
        }
        Ok(())
    }
}
