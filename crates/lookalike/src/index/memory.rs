//! Segments in memory: one for each commit, merged as they pile up, so that a query looks at few.

use std::path::Path;
use std::sync::Arc;

use super::failure::unwritable;
use super::live::Live;
use super::merge::merge;
use super::segment::{MAGIC, Segment};
use crate::columns::ColumnWriter;
use crate::error::Result;

/// So many segments of like size become one.
const FEWEST: usize = 4;
/// Larger ones wait to be written to disk: a commit must not take long.
const MOST_ITEMS: usize = 1024;

/// Merges the last segments in memory if there are several of like size, of those that `may_go`.
pub(super) fn tidy(
    lives: &mut Vec<Live>,
    path: &Path,
    stamp: u128,
    slots: usize,
    may_go: impl Fn(&Segment) -> bool,
) -> Result<()> {
    let is_open =
        |live: &Live| live.segment.name().is_none() && live.segment.len() <= MOST_ITEMS && may_go(&live.segment);
    let (mut first, mut items) = (lives.len(), 0);
    while first > 0 && is_open(&lives[first - 1]) && (items == 0 || lives[first - 1].segment.len() <= items) {
        first -= 1;
        items += lives[first].segment.len();
    }
    if lives.len() - first < FEWEST {
        return Ok(());
    }
    let merged = in_memory(&lives[first..], path, stamp, slots)?;
    lives.truncate(first);
    lives.extend(merged);
    Ok(())
}

/// One segment in memory with what these hold; none if all of that is deleted.
fn in_memory(sources: &[Live], path: &Path, stamp: u128, slots: usize) -> Result<Option<Live>> {
    if sources.iter().all(|live| live.len() == 0) {
        return Ok(None);
    }
    let failed = |error: std::io::Error| unwritable(path, &error);
    let mut writer = ColumnWriter::new(Vec::new(), MAGIC, stamp).map_err(failed)?;
    merge(sources, &mut writer, path)?;
    let (bytes, _) = writer.finish().map_err(failed)?;
    Ok(Some(Live::new(Arc::new(Segment::of_bytes(path, &bytes, stamp, slots)?))))
}
