//! The shingles of the few records whose sets are compared: their texts are read a second time, which is cheaper than
//! keeping the shingles of all.

use lookalike::{Asked, Error, ErrorKind, Plan, ShingleLists, Supply, Take};
use lookalike_io::{Compression, Format, Input, Reader, Run, Wanted, read_again};

use crate::interrupt;
use crate::names::Records;

/// Supplies shingles by reading records again.
pub(crate) struct SecondRead<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) records: &'a Records,
    pub(crate) plan: &'a Plan,
    pub(crate) threads: usize,
}

/// What can go wrong: reading, or what is done with what was read.
enum Failure {
    Reading(lookalike_io::Error),
    Taking(Error),
}

impl From<lookalike_io::Error> for Failure {
    fn from(error: lookalike_io::Error) -> Self {
        Self::Reading(error)
    }
}

impl Supply for SecondRead<'_> {
    fn supply(&self, asked: &[Asked], take: &Take<'_>) -> Result<(), Error> {
        let wanted: Vec<Wanted> = asked
            .iter()
            .map(|asked| Wanted { number: asked.number, length: self.records.raw_length(asked.record as usize) })
            .collect();
        let start = || (self.plan.supplier(), ShingleLists::default());
        let read =
            read_again(self.reader, &wanted, self.threads, interrupt::flag(), start, |(shingler, lists), run| {
                let Run { first, batch, indices } = run;
                lists.clear();
                for index in indices {
                    lists.push_with(|shingles| shingler.append(batch.content(*index as usize), shingles));
                }
                take(first, lists).map_err(|error| match error.kind() {
                    ErrorKind::Changed => {
                        let input = &self.reader.inputs()[wanted[first].number.input()];
                        Failure::Reading(input.changed())
                    }
                    _ => Failure::Taking(error),
                })
            });
        read.map_err(|failure| match failure {
            Failure::Taking(error) => error,
            Failure::Reading(error) if error.is_cancelled() => Error::cancelled(),
            Failure::Reading(error) => Error::supply(error.to_string()),
        })
    }

    fn goes_through_all(&self) -> bool {
        // Of Parquet, whole row groups are read.
        let is_packed = |input: &Input| input.compression != Compression::None || input.format == Format::Parquet;
        self.reader.inputs().iter().any(is_packed)
    }
}
