//! Anchored groups: the greedy pass in keep order. A record joins its most similar keeper, or becomes one.
//!
//! No chains: whoever is dropped is alike to the very record that is kept for it.

use super::Assignment;
use crate::classes::Classes;
use crate::lists::Lists;
use crate::settings::Measure;
use crate::verify::Edge;

const NONE: u32 = u32::MAX;

/// Groups records by these edges.
pub(crate) fn anchored(classes: &Classes, edges: &[Edge], measure: Measure) -> Assignment {
    let (records, old) = classes.records();
    let neighbours = stands_for(classes.len(), edges, measure);
    let mut assignment = Assignment::alone(records);
    // The best keeper so far of every class. Keepers announce themselves to their neighbours when they become keepers,
    // and a class hears them in keep order: so among equals the earlier stays.
    let mut best: Vec<(u32, f64)> = vec![(NONE, 0.0); classes.len()];
    let mut is_anchored = vec![false; classes.len()];
    for record in classes.order() {
        let Some(class) = classes.class_of(*record) else { continue };
        let (keeper, similarity) = best[class as usize];
        let is_old = (*record as usize) < old;
        if keeper != NONE && !is_old {
            assignment.keeper_of[*record as usize] = keeper;
            assignment.similarity[*record as usize] = similarity;
        } else if !is_anchored[class as usize] {
            is_anchored[class as usize] = true;
            // An old record is a keeper even where an earlier one contains all of it; that one then stays the best.
            if best[class as usize].1 < 1.0 {
                best[class as usize] = (*record, 1.0);
            }
            for (neighbour, similarity) in neighbours.of(class) {
                if best[*neighbour as usize].0 == NONE || *similarity > best[*neighbour as usize].1 {
                    best[*neighbour as usize] = (*record, *similarity);
                }
            }
        }
    }
    assignment
}

/// For each class, the classes whose records it may stand for, and how alike those are to it: both ways for a symmetric
/// measure; a container may stand for what it contains.
fn stands_for(classes: usize, edges: &[Edge], measure: Measure) -> Lists<(u32, f64)> {
    Lists::new(classes, || {
        edges.iter().flat_map(|edge| {
            let right_for_left = (edge.right, (edge.left, edge.similarity));
            let left_for_right = (edge.left, (edge.right, edge.similarity));
            [Some(right_for_left), (measure == Measure::Jaccard).then_some(left_for_right)].into_iter().flatten()
        })
    })
}
