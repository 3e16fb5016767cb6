//! Verified pairs of a component → who is kept for whom.

use std::collections::HashMap;

use crate::classes::Classes;
use crate::components::Components;
use crate::error::{Error, ErrorKind, Result};
use crate::group::anchored;
use crate::plan::Plan;
use crate::verify::Edge;

/// Two records that stand for their classes and are alike, by their ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedEdge {
    /// The one record.
    pub left: u64,
    /// The other; for containment, the one that contains the left one.
    pub right: u64,
    /// How alike they are.
    pub similarity: f64,
}

/// A record that is dropped, by its rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropped {
    /// The record.
    pub rank: u64,
    /// The record that is kept for it.
    pub keeper: u64,
    /// How alike they are.
    pub similarity: f64,
}

impl Plan {
    /// Groups records by the greedy pass in keep order. `members` are all records that take part, each with the record that
    /// stands for its class (itself, if it is the first with its set); `edges` are all pairs of those that are alike. What
    /// comes out does not depend on the order in which they come in, nor on whether components come together or one by one.
    pub fn group_ranked(&self, members: &mut [(u64, u64)], edges: &[RankedEdge]) -> Result<Vec<Dropped>> {
        members.sort_unstable();
        let mut firsts: Vec<u64> = Vec::new();
        let mut class_of = Vec::with_capacity(members.len());
        for (rank, first) in members.iter() {
            if rank == first {
                firsts.push(*first);
            }
            class_of.push(class_of_first(&firsts, *first)?);
        }
        let edges = edges
            .iter()
            .map(|edge| {
                let (left, right) = (class_of_first(&firsts, edge.left)?, class_of_first(&firsts, edge.right)?);
                Ok(Edge { left, right, similarity: edge.similarity })
            })
            .collect::<Result<Vec<Edge>>>()?;
        let assignment = anchored(&Classes::in_keep_order(class_of), &edges, self.settings().measure);
        let dropped = members.iter().enumerate().filter_map(|(record, (rank, _))| {
            let keeper = members[assignment.keeper_of[record] as usize].0;
            (keeper != *rank).then(|| Dropped { rank: *rank, keeper, similarity: assignment.similarity[record] })
        });
        Ok(dropped.collect())
    }
}

/// The class that a record stands for. Classes are numbered in keep order.
fn class_of_first(firsts: &[u64], first: u64) -> Result<u32> {
    firsts.binary_search(&first).map(|class| class as u32).map_err(|_| {
        Error::new(ErrorKind::Supply, "a record of a group was not supplied")
            .advise("make sure that the input gives the same records each time it is read")
    })
}

/// For every record of these edges, the least one of its component.
pub fn least_of_components(edges: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut numbers: HashMap<u64, u32> = HashMap::new();
    let mut ranks: Vec<u64> = Vec::new();
    let mut number_of = |rank: u64| {
        *numbers.entry(rank).or_insert_with(|| {
            ranks.push(rank);
            ranks.len() as u32 - 1
        })
    };
    let edges: Vec<(u32, u32)> = edges.map(|(left, right)| (number_of(left), number_of(right))).collect();
    let mut components = Components::new(ranks.len());
    edges.into_iter().for_each(|(left, right)| components.join(left, right));
    let mut least = ranks.clone();
    for number in 0..ranks.len() as u32 {
        let of_component = &mut least[components.least(number) as usize];
        *of_component = ranks[number as usize].min(*of_component);
    }
    (0..ranks.len() as u32)
        .map(|number| (ranks[number as usize], least[components.least(number) as usize]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn edge(left: u64, right: u64, similarity: f64) -> RankedEdge {
        RankedEdge { left, right, similarity }
    }

    #[test]
    fn copies_join_the_keeper_that_is_best_when_they_come() {
        // 20 is alike to 10 and, more, to 30; 40 is a copy of 20 and comes after 30.
        let plan = Settings::new(0.5).plan().unwrap();
        let mut members = [(40, 20), (10, 10), (30, 30), (20, 20), (50, 50), (60, 50)];
        let dropped = plan.group_ranked(&mut members, &[edge(20, 30, 0.9), edge(10, 20, 0.6)]).unwrap();
        let expected = [(20, 10, 0.6), (40, 30, 0.9), (60, 50, 1.0)];
        assert_eq!(
            dropped.iter().map(|dropped| (dropped.rank, dropped.keeper, dropped.similarity)).collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn a_member_that_is_missing_is_an_error() {
        let plan = Settings::new(0.5).plan().unwrap();
        assert!(plan.group_ranked(&mut [(1, 1)], &[edge(1, 2, 0.9)]).is_err());
        assert!(plan.group_ranked(&mut [(2, 1)], &[]).is_err());
    }

    #[test]
    fn components_are_called_by_their_least_member() {
        let edges = [(9, 4), (4, 7), (8, 2), (1, 8), (6, 5)];
        let mut least = least_of_components(edges.into_iter());
        least.sort_unstable();
        assert_eq!(least, [(1, 1), (2, 1), (4, 4), (5, 5), (6, 5), (7, 4), (8, 1), (9, 4)]);
    }
}
