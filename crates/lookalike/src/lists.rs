//! Many short lists in two flat vectors.

use rayon::prelude::*;

/// For each number from 0 up, a list of values.
#[derive(Clone, Debug)]
pub(crate) struct Lists<T> {
    ends: Vec<usize>,
    values: Vec<T>,
}

impl<T: Copy + Default> Lists<T> {
    /// `count` lists of these (list, value) entries, the values of a list in the order in which they come. Entries are
    /// gone through twice: once to count them, once to place them.
    pub(crate) fn new<I: Iterator<Item = (u32, T)>>(count: usize, entries: impl Fn() -> I) -> Self {
        // Two places ahead at first: summed up, each list's start stands one place ahead, from where it moves to its end.
        let mut ends = vec![0usize; count + 2];
        for (list, _) in entries() {
            ends[list as usize + 2] += 1;
        }
        for list in 2..ends.len() {
            ends[list] += ends[list - 1];
        }
        let mut values = vec![T::default(); ends[count + 1]];
        for (list, value) in entries() {
            let next = &mut ends[list as usize + 1];
            values[*next] = value;
            *next += 1;
        }
        ends.truncate(count + 1);
        Self { ends, values }
    }
}

impl Lists<u32> {
    /// For each of `count` members, the groups that it is in, in ascending order. The members of a group ascend.
    pub(crate) fn of_groups(count: usize, groups: &[&[u32]]) -> Self {
        const PARTS_OF_A_THREAD: usize = 4;
        let in_part = |group: &[u32], end: usize| group.partition_point(|member| (*member as usize) < end);
        let total = groups.iter().map(|group| group.len()).sum();
        let (mut ends, mut values) = (vec![0usize; count + 1], vec![0; total]);
        let members = count.div_ceil(PARTS_OF_A_THREAD * rayon::current_num_threads()).max(1);
        let (mut parts, mut rest, mut placed) = (Vec::new(), values.as_mut_slice(), 0);
        for (part, ends) in ends[1..].chunks_mut(members).enumerate() {
            let first = part * members;
            let before: usize = groups.iter().map(|group| in_part(group, first + ends.len())).sum();
            let (values, behind) = rest.split_at_mut(before - placed);
            parts.push((first, placed, ends, values));
            (rest, placed) = (behind, before);
        }
        parts.into_par_iter().for_each(|(first, placed, ends, values)| {
            // Memory that is new and read before it is written has the kernel map it twice, and stop the other threads for it.
            ends.fill(0);
            let here = |group: &'_ &[u32]| in_part(group, first)..in_part(group, first + ends.len());
            let ranges: Vec<_> = groups.iter().map(here).collect();
            let entries = || {
                (0u32..).zip(groups.iter().zip(&ranges)).map(|(number, (group, range))| (number, &group[range.clone()]))
            };
            for member in entries().flat_map(|(_, members)| members) {
                ends[*member as usize - first] += 1;
            }
            // Each list's start, from where it moves to its end.
            let mut start = placed;
            for end in ends.iter_mut() {
                start += std::mem::replace(end, start);
            }
            for (number, members) in entries() {
                for member in members {
                    let next = &mut ends[*member as usize - first];
                    values[*next - placed] = number;
                    *next += 1;
                }
            }
        });
        Self { ends, values }
    }
}

impl<T> Lists<T> {
    /// How many lists there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// What they take.
    pub(crate) fn bytes(&self) -> u64 {
        (size_of_val(&self.ends[..]) + size_of_val(&self.values[..])) as u64
    }

    /// The values of one list.
    #[inline]
    pub(crate) fn of(&self, list: u32) -> &[T] {
        &self.values[self.ends[list as usize]..self.ends[list as usize + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn members_know_their_groups() {
        let mut random = SplitMix(11);
        for (count, groups) in [(0u64, 0), (1, 1), (5, 3), (100, 40), (70_000, 9)] {
            let groups: Vec<Vec<u32>> = (0..groups)
                .map(|_| {
                    let mut members: Vec<u32> =
                        (0..random.below(count + 1)).map(|_| random.below(count) as u32).collect();
                    members.sort_unstable();
                    members.dedup();
                    members
                })
                .collect();
            let slices: Vec<&[u32]> = groups.iter().map(Vec::as_slice).collect();
            let lists = Lists::of_groups(count as usize, &slices);
            let entries =
                || (0u32..).zip(&groups).flat_map(|(number, group)| group.iter().map(move |member| (*member, number)));
            let expected = Lists::new(count as usize, entries);
            assert_eq!((lists.ends, lists.values), (expected.ends, expected.values), "{count} members");
        }
    }
}
