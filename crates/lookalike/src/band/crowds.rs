//! Crowded buckets: where only who is kept is asked for, their pairs are not listed, since most of them cannot matter. They
//! are looked at in keep order instead, once it is known who is still there (`verify/crowds.rs`).

use super::buckets::Buckets;
use super::candidates::Rows;
use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::Result;
use crate::lists::Lists;
use crate::plan::BucketRule;

/// Buckets with more members are crowded: listing all pairs of fewer costs less than asking who is still there.
pub(super) const MOST_LISTED: usize = 8;

/// The crowded buckets of all bands.
#[derive(Debug)]
pub(crate) struct Crowds {
    buckets: Buckets,
    /// For each class, the buckets it is in.
    of_class: Lists<u32>,
    rows: Rows,
    rule: BucketRule,
    least_agreement: u32,
}

impl Crowds {
    /// What has to be known of these buckets once the sketches are gone. `least_agreement`: in how many slots a candidate agrees.
    pub(super) fn new(
        collection: &Collection<'_>,
        classes: &Classes,
        buckets: Buckets,
        rule: BucketRule,
        least_agreement: u32,
    ) -> Result<Self> {
        let of_class = Lists::new(classes.len(), || {
            (0u32..).zip(buckets.iter()).flat_map(|(bucket, members)| members.iter().map(move |class| (*class, bucket)))
        });
        let crowded = (0..classes.len() as u32).filter(|class| !of_class.of(*class).is_empty());
        let rows = Rows::load(collection, classes, crowded)?;
        Ok(Self { buckets, of_class, rows, rule, least_agreement })
    }

    /// How many buckets there are.
    pub(crate) fn len(&self) -> usize {
        self.buckets.len()
    }

    /// The buckets of a class.
    pub(crate) fn of(&self, class: u32) -> &[u32] {
        self.of_class.of(class)
    }

    /// The members of a bucket with which later ones are compared, by the bucket rule.
    pub(crate) fn lefts(&self, bucket: u32) -> &[u32] {
        let members = self.buckets.get(bucket as usize);
        &members[..self.rule.lefts(members.len())]
    }

    /// Whether the sketches of two members agree often enough for a closer look.
    pub(crate) fn are_candidates(
        &self,
        collection: &Collection<'_>,
        classes: &Classes,
        (left, right): (u32, u32),
    ) -> bool {
        classes.may_pair(left, right)
            && collection.may_meet(classes.representative(left), classes.representative(right))
            && collection.slot_width().agreement(self.rows.of(left), self.rows.of(right)) >= self.least_agreement
    }
}
