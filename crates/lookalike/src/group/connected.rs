//! Connected groups: every member is alike to some other member, and the first in keep order is the keeper. Chains can
//! join what is not alike; the similarity to the keeper says how much.

use super::Assignment;
use crate::classes::Classes;
use crate::verify::Edge;

/// Groups records by these edges. `similarity` tells how alike two classes are, the first being the dropped one.
pub(crate) fn connected(classes: &Classes, edges: &[Edge], similarity: impl Fn(u32, u32) -> f64) -> Assignment {
    let (records, old) = classes.records();
    let mut assignment = Assignment::alone(records);
    let mut components = Components::new(classes.len());
    for edge in edges {
        components.join(edge.left, edge.right);
    }
    for class in 0..classes.len() as u32 {
        // Classes are numbered in keep order, so the least of a component is its keeper's.
        let keeping = components.least(class);
        let keeper = classes.representative(keeping);
        let alike = if keeping == class { 1.0 } else { similarity(class, keeping) };
        for record in classes.members(class).iter().filter(|record| **record != keeper && **record as usize >= old) {
            assignment.keeper_of[*record as usize] = keeper;
            assignment.similarity[*record as usize] = alike;
        }
    }
    assignment
}

/// Union-find, in which the least member stands for its component.
struct Components(Vec<u32>);

impl Components {
    fn new(members: usize) -> Self {
        Self((0..members as u32).collect())
    }

    fn least(&mut self, mut member: u32) -> u32 {
        while self.0[member as usize] != member {
            // Every second link is shortened on the way: paths stay short without recursion.
            self.0[member as usize] = self.0[self.0[member as usize] as usize];
            member = self.0[member as usize];
        }
        member
    }

    fn join(&mut self, left: u32, right: u32) {
        let (left, right) = (self.least(left), self.least(right));
        self.0[left.max(right) as usize] = left.min(right);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_chain_is_one_component() {
        let mut components = Components::new(100_000);
        for member in (1..100_000).rev() {
            components.join(member, member - 1);
        }
        assert!((0..100_000).all(|member| components.least(member) == 0));
    }
}
