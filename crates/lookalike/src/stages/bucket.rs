//! Members of buckets, one after another → pairs that pass the filter, each once.

use crate::error::Result;
use crate::plan::{Method, Plan};
use crate::sketch::agreeing_bytes;

/// A record in one of its buckets.
#[derive(Clone, Copy, Debug)]
pub struct BucketMember<'a> {
    /// The key of the bucket.
    pub key: u64,
    /// The record.
    pub rank: u64,
    /// What is kept of its sketch: a byte of each slot.
    pub slots: &'a [u8],
    /// The keys of all its buckets that have other members.
    pub keys: &'a [u64],
    /// Those of them in which it is compared with all that follow it, by the plan's bucket rule ([`Plan::bucket_rule`]): all
    /// of a bucket that is not too large, the first ones of another. In the same order in each of its buckets.
    pub leads: &'a [u64],
}

/// Compares the members of buckets by the plan's bucket rule. Of a bucket, only those are held that lead.
///
/// Two records mostly share several buckets. They are told in the first of them that is among those that the earlier one leads,
/// so no pair is told twice and nobody has to remember which were.
#[derive(Clone, Debug)]
pub struct BucketComparer {
    least_agreement: u32,
    width: usize,
    key: Option<u64>,
    held: Vec<Leader>,
    /// The slots of those held, one after another.
    slots: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Leader {
    rank: u64,
    /// The buckets that it leads and that come before this one.
    before: Box<[u64]>,
}

impl Plan {
    /// What compares the members of buckets for this plan.
    pub fn bucket_comparer(&self) -> Result<BucketComparer> {
        // The sketcher knows what to say where there are no sketches.
        let _ = self.row_sketcher()?;
        let (width, least_agreement) = match self.method() {
            Method::Sketches(scheme) => (scheme.slots as usize, scheme.least_agreement),
            Method::InvertedLists | Method::Fingerprints(_) => (0, 0),
        };
        Ok(BucketComparer { least_agreement, width, key: None, held: Vec::new(), slots: Vec::new() })
    }
}

impl BucketComparer {
    /// How many slots a record has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Takes the next member. Members come by key, then by rank; `found` is told the pairs that pass, the earlier in keep
    /// order first.
    pub fn push(&mut self, member: BucketMember<'_>, mut found: impl FnMut(u64, u64)) {
        if self.key != Some(member.key) {
            self.key = Some(member.key);
            self.held.clear();
            self.slots.clear();
        }
        for (leader, slots) in self.held.iter().zip(self.slots.chunks_exact(self.width)) {
            if agreeing_bytes(slots, member.slots) >= self.least_agreement
                && !leader.before.iter().any(|key| member.keys.contains(key))
            {
                found(leader.rank, member.rank);
            }
        }
        if let Some(at) = member.leads.iter().position(|key| *key == member.key) {
            self.held.push(Leader { rank: member.rank, before: member.leads[..at].into() });
            self.slots.extend_from_slice(member.slots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    /// A member: key, rank, slots, keys, leads.
    type Row<'a> = (u64, u64, [u8; 2], &'a [u64], &'a [u64]);

    fn pairs(members: &[Row<'_>]) -> Vec<(u64, u64)> {
        let comparer = Settings::new(0.8).plan().unwrap().bucket_comparer().unwrap();
        let mut comparer = BucketComparer { width: 2, least_agreement: 1, ..comparer };
        let mut found = Vec::new();
        for &(key, rank, ref slots, keys, leads) in members {
            comparer.push(BucketMember { key, rank, slots, keys, leads }, |left, right| found.push((left, right)));
        }
        found
    }

    #[test]
    fn whoever_leads_is_compared_with_all_that_follow() {
        let (key, none): (&[u64], &[u64]) = (&[7], &[]);
        let found = pairs(&[
            (7, 0, [1, 0], key, key),
            (7, 3, [1, 1], key, key),
            (7, 4, [1, 2], key, none),
            (7, 9, [1, 3], key, none),
        ]);
        assert_eq!(found, [(0, 3), (0, 4), (3, 4), (0, 9), (3, 9)]);
    }

    #[test]
    fn buckets_do_not_mix_and_the_filter_holds_back() {
        let (one, two): (&[u64], &[u64]) = (&[1], &[2]);
        let found = pairs(&[
            (1, 0, [1, 1], one, one),
            (1, 5, [1, 2], one, one),
            (2, 1, [1, 1], two, two),
            (2, 3, [3, 4], two, two),
            (2, 9, [3, 1], two, two),
        ]);
        assert_eq!(found, [(0, 5), (1, 9), (3, 9)]);
    }

    #[test]
    fn a_pair_that_shares_several_buckets_is_told_once() {
        let both: &[u64] = &[5, 2];
        let (first, second): (&[u64], &[u64]) = (&[5], &[2]);
        // 0 leads both buckets, 3 only the second: those after it meet it there alone.
        let found = pairs(&[
            (2, 0, [1, 1], both, both),
            (2, 3, [1, 2], both, second),
            (2, 8, [1, 3], both, &[]),
            (5, 0, [1, 1], both, both),
            (5, 3, [1, 2], both, second),
            (5, 8, [1, 3], both, &[]),
            (5, 9, [1, 4], first, &[]),
        ]);
        let mut sorted = found.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [(0, 3), (0, 8), (0, 9), (3, 8)]);
        assert_eq!(found, [(3, 8), (0, 3), (0, 8), (0, 9)], "in the first bucket of the earlier one's list");
    }
}
