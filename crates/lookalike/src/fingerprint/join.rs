//! All pairs in which one text is contained in another, among those that share a selected shingle.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::Selection;
use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::Result;
use crate::hash::hash_within;
use crate::plan::BucketRule;
use crate::shingle::sort_distinct;
use crate::verify::{Edge, Likeness, similarities};
use crate::watch::{Watch, check_cancelled};

/// About so many pairs are held at the most until they are compared. Fewer of them in memory means that more texts are read several
/// times.
const PAIRS_AT_ONCE: u64 = if cfg!(test) { 1 << 11 } else { 1 << 24 };

/// What was found, and what it took.
#[derive(Default)]
pub(crate) struct Contained {
    /// The pairs that are alike: the left one is contained in the right one. In ascending order.
    pub(crate) edges: Vec<Edge>,
    /// Pairs whose sets were compared.
    pub(crate) candidates: u64,
    /// Selected shingles with more classes than are looked at, and the comparisons that were left out for them.
    pub(crate) bounded_lists: u64,
    pub(crate) bounded_comparisons: u64,
}

/// Every pair of classes of which one is contained in the other to at least `threshold`, if one of them has a shingle that
/// is selected in the other.
pub(crate) fn find_contained(
    collection: &Collection<'_>,
    classes: &Classes,
    selection: Selection,
    rule: BucketRule,
    threshold: f64,
    watch: &dyn Watch,
) -> Result<Contained> {
    let inverted = Inverted::new(collection, classes, selection, watch)?;
    check_cancelled(watch)?;
    let mut contained = Contained { bounded_lists: inverted.bounded_lists(rule), ..Contained::default() };
    let parts = inverted.parts(rule, PAIRS_AT_ONCE);
    for part in &parts {
        let found = inverted.candidates(collection, classes, part.clone(), rule, threshold, watch)?;
        let alike = similarities(collection, classes, &found.pairs, Likeness::Containment, watch)?;
        let edges = found.pairs.iter().zip(alike).filter(|(_, similarity)| *similarity >= threshold);
        contained.edges.extend(edges.map(|((left, right), similarity)| Edge {
            left: *left,
            right: *right,
            similarity,
        }));
        contained.candidates += found.pairs.len() as u64;
        contained.bounded_comparisons += found.bounded;
    }
    if parts.len() > 1 {
        // Two classes may meet in two parts, if each has shingles that are selected only in the other.
        contained.edges.par_sort_unstable_by_key(|edge| (edge.left, edge.right));
        contained.edges.dedup_by_key(|edge| (edge.left, edge.right));
    }
    Ok(contained)
}

/// For each selected shingle, the classes that have it.
struct Inverted {
    /// By shingle, then class, which is keep order.
    entries: Vec<(u64, u32)>,
    /// Different shingles of each class.
    sizes: Vec<u32>,
    /// Where the entries begin whose shingles have these top bits.
    starts: Vec<usize>,
    shift: u32,
}

/// Selected shingles with their classes, and the sizes of classes.
type Selected = (Vec<(u64, u32)>, Vec<(u32, u32)>);

/// Pairs that share a selected shingle, and comparisons that were left out.
#[derive(Default)]
struct Candidates {
    pairs: Vec<(u32, u32)>,
    bounded: u64,
}

impl Inverted {
    fn new(collection: &Collection<'_>, classes: &Classes, selection: Selection, watch: &dyn Watch) -> Result<Self> {
        let mut sizes = vec![0; classes.len()];
        let mut entries = Vec::new();
        let pieces = for_each_class(
            collection,
            classes,
            0..classes.len() as u32,
            watch,
            |class, shingles, (selected, sizes): &mut Selected| {
                let mut buffer = Vec::new();
                selection.append(shingles, &mut buffer);
                buffer.sort_unstable();
                buffer.dedup();
                selected.extend(buffer.iter().map(|shingle| (*shingle, class)));
                buffer.clear();
                buffer.extend_from_slice(shingles);
                sizes.push((class, sort_distinct(&mut buffer) as u32));
            },
        )?;
        for (mut selected, counted) in pieces {
            entries.append(&mut selected);
            counted.into_iter().for_each(|(class, size)| sizes[class as usize] = size);
        }
        entries.par_sort_unstable();
        let bits = entries.len().next_power_of_two().trailing_zeros().clamp(1, 26);
        let shift = 64 - bits;
        let mut starts = vec![0; (1 << bits) + 1];
        for (shingle, _) in &entries {
            starts[(shingle >> shift) as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        Ok(Self { entries, sizes, starts, shift })
    }

    fn with(&self, shingle: u64) -> &[(u64, u32)] {
        let bucket = (shingle >> self.shift) as usize;
        let near = &self.entries[self.starts[bucket]..self.starts[bucket + 1]];
        let from = near.partition_point(|(other, _)| *other < shingle);
        let count = near[from..].partition_point(|(other, _)| *other == shingle);
        &near[from..from + count]
    }

    fn bounded_lists(&self, rule: BucketRule) -> u64 {
        let lists = self.entries.chunk_by(|left, right| left.0 == right.0);
        lists.filter(|list| rule.lefts(list.len()) < list.len()).count() as u64
    }

    /// All classes in parts, each of which meets others in about as many pairs as are held at once.
    fn parts(&self, rule: BucketRule, pairs_at_once: u64) -> Vec<Range<u32>> {
        let classes = self.sizes.len() as u64;
        let mut meets = vec![0; self.sizes.len()];
        for list in self.entries.chunk_by(|left, right| left.0 == right.0) {
            let looked_at = rule.lefts(list.len()) as u64;
            list.iter().for_each(|(_, class)| meets[*class as usize] += looked_at);
        }
        let (mut parts, mut start, mut pairs) = (Vec::new(), 0, 0);
        for (class, others) in (0..).zip(meets) {
            // A pair is looked at both ways.
            let more = 2 * others.min(classes);
            if pairs + more > pairs_at_once && class > start {
                parts.push(start..class);
                (start, pairs) = (class, 0);
            }
            pairs += more;
        }
        parts.push(start..classes as u32);
        parts
    }

    /// The pairs of one of these classes and another one that has one of its shingles selected, in ascending order, as far as
    /// the right one is large enough to hold the left one.
    fn candidates(
        &self,
        collection: &Collection<'_>,
        classes: &Classes,
        part: Range<u32>,
        rule: BucketRule,
        threshold: f64,
        watch: &dyn Watch,
    ) -> Result<Candidates> {
        let pieces =
            for_each_class(collection, classes, part.clone(), watch, |class, shingles, found: &mut Candidates| {
                watch.advance(1);
                let mut shingles = shingles.to_vec();
                let distinct = sort_distinct(&mut shingles);
                shingles.truncate(distinct);
                let (mut others, mut met): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
                for shingle in shingles {
                    let list = self.with(shingle);
                    let looked_at = rule.lefts(list.len());
                    found.bounded += (list.len() - looked_at) as u64;
                    let list = &list[..looked_at];
                    others.extend(list.iter().map(|(_, other)| *other));
                    // In an earlier part, those who have this shingle selected have met this class by it.
                    if list.first().is_some_and(|(_, first)| *first < part.start)
                        && list.binary_search_by_key(&class, |(_, other)| *other).is_ok()
                    {
                        met.extend(list.iter().map(|(_, other)| *other).take_while(|other| *other < part.start));
                    }
                }
                for classes in [&mut others, &mut met] {
                    classes.sort_unstable();
                    classes.dedup();
                }
                let is_new = |other: u32| other != class && met.binary_search(&other).is_err();
                others.retain(|other| is_new(*other) && classes.may_pair(class, *other));
                let both_ways = others.into_iter().flat_map(|other| [(class, other), (other, class)]);
                let could_hold = |(left, right): &(u32, u32)| {
                    let size = |class: u32| f64::from(self.sizes[class as usize]);
                    size(*right) >= (threshold * size(*left)).floor()
                };
                found.pairs.extend(both_ways.filter(could_hold));
            })?;
        check_cancelled(watch)?;
        let mut all = Candidates::default();
        for mut piece in pieces {
            all.pairs.append(&mut piece.pairs);
            all.bounded += piece.bounded;
        }
        all.pairs.par_sort_unstable();
        all.pairs.dedup();
        check_cancelled(watch)?;
        Ok(all)
    }
}

/// Shows each of these classes with its shingles, in the order of the text; what is made of each run of records comes back.
fn for_each_class<T: Default + Send>(
    collection: &Collection<'_>,
    classes: &Classes,
    shown: Range<u32>,
    watch: &dyn Watch,
    show: impl Fn(u32, &[u64], &mut T) + Sync,
) -> Result<Vec<T>> {
    let (records, order) = classes.by_representative(shown);
    let made: Mutex<Vec<T>> = Mutex::default();
    collection.supply(&records, &|first, lists| {
        let mut one = T::default();
        let mut keyed: Vec<u64> = Vec::new();
        for index in 0..lists.len() {
            check_cancelled(watch)?;
            let within = collection.within(records[first + index]);
            keyed.clear();
            // Where only equal values of a field may meet, the same shingle under another value is another one.
            let key = |shingle: &u64| if within == 0 { *shingle } else { hash_within(*shingle, within) };
            keyed.extend(lists.get(index).iter().map(key));
            show(order[first + index], &keyed, &mut one);
        }
        made.lock().unwrap_or_else(PoisonError::into_inner).push(one);
        Ok(())
    })?;
    Ok(made.into_inner().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use crate::fingerprint::Selection;
    use crate::hash::SplitMix;
    use crate::settings::{Measure, Settings};

    /// Letters of one form, each with words of its own at the end, and some with only the beginning.
    #[test]
    fn pairs_are_the_same_if_they_are_found_in_parts() {
        let mut random = SplitMix(7);
        let form: Vec<String> = (0..40).map(|at| format!("form{at}")).collect();
        let letters: Vec<String> = (0..150)
            .map(|letter| {
                let common = form.len() - random.next() as usize % 20;
                let own: Vec<String> = (0..random.next() % 12).map(|at| format!("own{letter}x{at}")).collect();
                format!("{} {}", form[..common].join(" "), own.join(" "))
            })
            .collect();
        let settings = Settings::new(0.8).measure(Measure::Containment);
        let pairs = |settings: Settings| settings.plan().unwrap().run(&letters).unwrap().pairs().collect::<Vec<_>>();
        let found = pairs(settings.clone().fingerprints(Selection::Modulo(1)));
        assert!(found.len() > 1_000);
        assert_eq!(found, pairs(settings.exact(true)));
    }
}
