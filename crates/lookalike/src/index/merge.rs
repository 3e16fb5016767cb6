//! Several segments become one, without what is deleted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use std::path::Path;

use super::failure::unwritable;
use super::live::Live;
use super::segment::Owners;
use super::table::{Starts, entry, item_of};
use crate::columns::{ColumnWriter, Plain};
use crate::error::Result;

/// The number of an item that is left behind.
const NONE: u32 = u32::MAX;

/// Writes the items of all these segments that are not deleted as the columns of one. `path` is where they go, for errors.
pub(super) fn merge<W: Write>(sources: &[Live], writer: &mut ColumnWriter<W>, path: &Path) -> Result<()> {
    let merging = Merging { order: order_of(sources)?, sources, path };
    merging.copy_lists(writer, true, |live, item| live.segment.set(item))?;
    merging.copy(writer, |live, item| live.segment.slots(item))?;
    merging.merge_keys(writer)?;
    let has_texts = sources.iter().any(|live| live.segment.has_texts());
    merging.copy_lists(writer, has_texts, |live, item| Ok(live.segment.text(item)?.unwrap_or_default().as_bytes()))?;
    let mut owners = Owners::default();
    for (live, item) in merging.items() {
        owners.push(live.segment.id(item)?, live.segment.sequence(item)?, live.segment.time(item)?);
    }
    owners.write(writer).map_err(|error| unwritable(path, &error))
}

/// The items of all sources that are not deleted, by sequence: source and item.
fn order_of(sources: &[Live]) -> Result<Vec<(u32, u32)>> {
    let mut order = Vec::with_capacity(sources.iter().map(Live::len).sum());
    for (source, live) in (0u32..).zip(sources) {
        let sequences = live.segment.sequences()?;
        order.extend(live.items().map(|item| (sequences[item as usize], source, item)));
    }
    // Made of a few ascending runs, most often one behind the other.
    order.sort();
    Ok(order.into_iter().map(|(_, source, item)| (source, item)).collect())
}

struct Merging<'a> {
    sources: &'a [Live],
    order: Vec<(u32, u32)>,
    path: &'a Path,
}

impl<'a> Merging<'a> {
    fn items(&self) -> impl Iterator<Item = (&'a Live, u32)> + '_ {
        self.order.iter().map(|(source, item)| (&self.sources[*source as usize], *item))
    }

    /// Copies a column of which every item has as much.
    fn copy<W: Write, T: Plain + 'a>(
        &self,
        writer: &mut ColumnWriter<W>,
        of: impl Fn(&'a Live, u32) -> Result<&'a [T]>,
    ) -> Result<()> {
        writer.begin_column();
        for (live, item) in self.items() {
            writer.append(of(live, item)?).map_err(|error| unwritable(self.path, &error))?;
        }
        writer.end_column().map_err(|error| unwritable(self.path, &error))
    }

    /// Copies a column with lists, and writes where they end, if there are any.
    fn copy_lists<W: Write, T: Plain + 'a>(
        &self,
        writer: &mut ColumnWriter<W>,
        are_there: bool,
        of: impl Fn(&'a Live, u32) -> Result<&'a [T]>,
    ) -> Result<()> {
        let (mut ends, mut end) = (Vec::with_capacity(self.order.len()), 0);
        writer.begin_column();
        for (live, item) in self.items() {
            let list = of(live, item)?;
            end += list.len() as u64;
            ends.push(end);
            writer.append(list).map_err(|error| unwritable(self.path, &error))?;
        }
        writer
            .end_column()
            .and_then(|()| writer.column(if are_there { &ends[..] } else { &[] }))
            .map_err(|error| unwritable(self.path, &error))
    }

    /// Merges the sorted entries of all sources; items get their new numbers, which ascend as the old ones do.
    fn merge_keys<W: Write>(&self, writer: &mut ColumnWriter<W>) -> Result<()> {
        let mut numbers: Vec<Vec<u32>> = self.sources.iter().map(|live| vec![NONE; live.segment.len()]).collect();
        for (number, (source, item)) in (0u32..).zip(&self.order) {
            numbers[*source as usize][*item as usize] = number;
        }
        let mut streams = Vec::new();
        let mut count = 0;
        for (live, numbers) in self.sources.iter().zip(&numbers) {
            let entries = live.segment.key_entries()?;
            count += entries.len();
            streams.push(entries.iter().filter_map(|old| {
                let number = *numbers.get(item_of(*old) as usize)?;
                (number != NONE).then(|| entry((old >> 32) as u32, number))
            }));
        }
        let mut starts = Starts::new(count);
        let mut heads: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        for (at, stream) in streams.iter_mut().enumerate() {
            heads.extend(stream.next().map(|head| Reverse((head, at))));
        }
        writer.begin_column();
        let mut buffer = Vec::with_capacity(1 << 12);
        while let Some(mut least) = heads.peek_mut() {
            let Reverse((head, at)) = *least;
            starts.push(head);
            buffer.push(head);
            if buffer.len() == buffer.capacity() {
                writer.append(&buffer).map_err(|error| unwritable(self.path, &error))?;
                buffer.clear();
            }
            match streams[at].next() {
                Some(next) => *least = Reverse((next, at)),
                None => {
                    std::collections::binary_heap::PeekMut::pop(least);
                }
            }
        }
        writer
            .append(&buffer)
            .and_then(|()| writer.end_column())
            .and_then(|()| writer.column(&starts.finish()))
            .map_err(|error| unwritable(self.path, &error))
    }
}
