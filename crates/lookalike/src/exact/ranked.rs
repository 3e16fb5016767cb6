//! Sets whose elements are numbered from the rarest to the most common.

use rayon::prelude::*;

use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::{Error, ErrorKind, Result};
use crate::hash::hash_within;
use crate::lists::Lists;
use crate::verify::DistinctSets;

/// The sets of all classes. Elements that occur in one set only can pair nothing: they count for a set's size and are
/// not listed.
#[derive(Debug)]
pub(super) struct RankedSets {
    /// The listed elements of all sets, one set after another, each ascending: rarest first.
    elements: Vec<u32>,
    ends: Vec<usize>,
    /// Elements of each set, listed or not.
    sizes: Vec<u32>,
    /// How many different elements are listed.
    ranks: usize,
}

impl RankedSets {
    pub(super) fn new(collection: &Collection<'_>, classes: &Classes) -> Result<Self> {
        let all: Vec<u32> = (0..classes.len() as u32).collect();
        let sets = DistinctSets::of(collection, classes, all.iter().copied())?;
        let elements_of = |class: u32| {
            let within = collection.within(classes.representative(class));
            // Where only equal values of a field may meet, the same element under another value is another element.
            sets.set(class)
                .iter()
                .map(move |element| if within == 0 { *element } else { hash_within(*element, within) })
        };

        let mut occurrences: Vec<u64> = all.par_iter().flat_map_iter(|class| elements_of(*class)).collect();
        occurrences.par_sort_unstable();
        let mut counted: Vec<(u32, u64)> = occurrences
            .chunk_by(|left, right| left == right)
            .filter(|run| run.len() > 1)
            .map(|run| (run.len() as u32, run[0]))
            .collect();
        drop(occurrences);
        if u32::try_from(counted.len()).is_err() {
            let message = format!("{} different elements are shared, more than {}", counted.len(), u32::MAX);
            return Err(Error::new(ErrorKind::TooLarge, message).advise("split the input, or use sketches"));
        }
        counted.par_sort_unstable();
        let mut rank_of: Vec<(u64, u32)> =
            (0u32..).zip(&counted).map(|(rank, (_, element))| (*element, rank)).collect();
        rank_of.par_sort_unstable();
        let lookup = Lookup::new(&rank_of);

        let ranked: Vec<Vec<u32>> = all
            .par_iter()
            .map(|class| {
                let mut ranks: Vec<u32> = elements_of(*class).filter_map(|element| lookup.rank(element)).collect();
                ranks.sort_unstable();
                ranks
            })
            .collect();
        let mut ends = Vec::with_capacity(ranked.len() + 1);
        ends.push(0);
        for set in &ranked {
            ends.push(ends[ends.len() - 1] + set.len());
        }
        let sizes = all.iter().map(|class| sets.set(*class).len() as u32).collect();
        Ok(Self { elements: ranked.concat(), ends, sizes, ranks: counted.len() })
    }

    pub(super) fn len(&self) -> usize {
        self.sizes.len()
    }

    pub(super) fn size(&self, set: u32) -> usize {
        self.sizes[set as usize] as usize
    }

    /// The listed elements of a set.
    pub(super) fn listed(&self, set: u32) -> &[u32] {
        &self.elements[self.ends[set as usize]..self.ends[set as usize + 1]]
    }

    /// The listed ones among the first `length` elements of a set, counted from its rarest. The elements that are not
    /// listed are the rarest of all.
    pub(super) fn prefix(&self, set: u32, length: usize) -> &[u32] {
        let listed = self.listed(set);
        let unlisted = self.size(set) - listed.len();
        &listed[..length.saturating_sub(unlisted).min(listed.len())]
    }

    /// For each rank, the places in `order` of the sets in whose `elements_of` it is, ascending.
    pub(super) fn invert<'a>(&'a self, order: &[u32], elements_of: impl Fn(u32) -> &'a [u32]) -> Lists<u32> {
        Lists::new(self.ranks, || {
            (0u32..).zip(order).flat_map(|(place, set)| elements_of(*set).iter().map(move |rank| (*rank, place)))
        })
    }
}

/// Finds ranks by element: elements are hashes, so their top bits say nearly where to look.
struct Lookup<'a> {
    sorted: &'a [(u64, u32)],
    starts: Vec<u32>,
    shift: u32,
}

impl<'a> Lookup<'a> {
    fn new(sorted: &'a [(u64, u32)]) -> Self {
        let bits = sorted.len().next_power_of_two().trailing_zeros().clamp(1, 26);
        let shift = 64 - bits;
        let mut starts = vec![0u32; (1 << bits) + 1];
        for (element, _) in sorted {
            starts[(element >> shift) as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        Self { sorted, starts, shift }
    }

    fn rank(&self, element: u64) -> Option<u32> {
        let bucket = (element >> self.shift) as usize;
        let near = &self.sorted[self.starts[bucket] as usize..self.starts[bucket + 1] as usize];
        near.iter().find(|(known, _)| *known == element).map(|(_, rank)| *rank)
    }
}
