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
    let company = Company::of(classes, edges);
    let neighbours = company.stands_for(classes, edges, measure);
    let mut assignment = Assignment::alone(records);
    // The best keeper so far of every class. Keepers announce themselves to their neighbours when they become keepers,
    // and a class hears them in keep order: so among equals the earlier stays.
    let mut best: Vec<(u32, f64)> = vec![(NONE, 0.0); company.len()];
    let mut is_anchored = vec![false; company.len()];
    for record in classes.order() {
        let Some(place) = classes.class_of(*record).and_then(|class| company.place(class)) else { continue };
        let (keeper, similarity) = best[place];
        let is_old = (*record as usize) < old;
        if keeper != NONE && !is_old {
            assignment.keeper_of[*record as usize] = keeper;
            assignment.similarity[*record as usize] = similarity;
        } else if !is_anchored[place] {
            is_anchored[place] = true;
            // An old record is a keeper even where an earlier one contains all of it; that one then stays the best.
            if best[place].1 < 1.0 {
                best[place] = (*record, 1.0);
            }
            for (neighbour, similarity) in neighbours.of(place as u32) {
                let best = &mut best[*neighbour as usize];
                if best.0 == NONE || *similarity > best.1 {
                    *best = (*record, *similarity);
                }
            }
        }
    }
    assignment
}

/// The classes whose records are not alone, which are few among many: those with edges, and those of several records.
struct Company {
    /// For each class, its place among them, counted from 1; 0 if its record is alone.
    places: Vec<u32>,
    len: u32,
}

impl Company {
    fn of(classes: &Classes, edges: &[Edge]) -> Self {
        let mut places = vec![0; classes.len()];
        edges.iter().flat_map(|edge| [edge.left, edge.right]).for_each(|class| places[class as usize] = 1);
        let mut len = 0;
        for (class, place) in (0u32..).zip(&mut places) {
            if *place > 0 || classes.members(class).len() > 1 {
                len += 1;
                *place = len;
            }
        }
        Self { places, len }
    }

    fn len(&self) -> usize {
        self.len as usize
    }

    fn place(&self, class: u32) -> Option<usize> {
        (self.places[class as usize] as usize).checked_sub(1)
    }

    /// For each of them, those whose records it may stand for, and how alike those are to it: both ways for a symmetric measure; a
    /// container may stand for what it contains. Whoever is decided before is left out.
    fn stands_for(&self, classes: &Classes, edges: &[Edge], measure: Measure) -> Lists<(u32, f64)> {
        // Classes come in keep order by their first records, which a later class does not stand for; it may for their copies.
        let is_heard = |keeper: u32, other: u32| keeper < other || classes.members(other).len() > 1;
        let place = |class: u32| self.places[class as usize] - 1;
        let entry = |keeper: u32, other: u32, similarity: f64| {
            is_heard(keeper, other).then(|| (place(keeper), (place(other), similarity)))
        };
        Lists::new(self.len(), || {
            edges.iter().flat_map(|Edge { left, right, similarity }| {
                let left_for_right = (measure == Measure::Jaccard).then(|| entry(*left, *right, *similarity));
                [entry(*right, *left, *similarity), left_for_right.flatten()].into_iter().flatten()
            })
        })
    }
}
