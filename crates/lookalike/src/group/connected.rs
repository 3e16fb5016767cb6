//! Connected groups: every member is alike to some other member, and the first in keep order is the keeper. Chains can
//! join what is not alike; the similarity to the keeper says how much.

use super::Assignment;
use crate::classes::Classes;
use crate::components::Components;
use crate::error::Result;
use crate::verify::Edge;

/// Groups records by these edges. `similarities` tells how alike classes are to others, the dropped one of each pair
/// first.
pub(crate) fn connected(
    classes: &Classes,
    edges: &[Edge],
    similarities: impl Fn(&[(u32, u32)]) -> Result<Vec<f64>>,
) -> Result<Assignment> {
    let (records, old) = classes.records();
    let mut assignment = Assignment::alone(records);
    let mut components = Components::new(classes.len());
    for edge in edges {
        components.join(edge.left, edge.right);
    }
    // Classes are numbered in keep order, so the least of a component is its keeper's.
    let kept_for: Vec<(u32, u32)> = (0..classes.len() as u32).map(|class| (class, components.least(class))).collect();
    let dropped: Vec<(u32, u32)> = kept_for.iter().copied().filter(|(class, keeping)| class != keeping).collect();
    let mut alike = similarities(&dropped)?.into_iter();
    for (class, keeping) in kept_for {
        let keeper = classes.representative(keeping);
        let alike = if class == keeping { 1.0 } else { alike.next().unwrap_or(0.0) };
        for record in classes.members(class).iter().filter(|record| **record != keeper && **record as usize >= old) {
            assignment.keeper_of[*record as usize] = keeper;
            assignment.similarity[*record as usize] = alike;
        }
    }
    Ok(assignment)
}
