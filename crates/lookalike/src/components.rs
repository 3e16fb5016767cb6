//! Union-find.

/// Components, in which the least member stands for all.
pub(crate) struct Components(Vec<u32>);

impl Components {
    /// Everybody alone.
    pub(crate) fn new(members: usize) -> Self {
        Self((0..members as u32).collect())
    }

    /// The least member of a member's component.
    pub(crate) fn least(&mut self, mut member: u32) -> u32 {
        while self.0[member as usize] != member {
            // Every second link is shortened on the way: paths stay short without recursion.
            self.0[member as usize] = self.0[self.0[member as usize] as usize];
            member = self.0[member as usize];
        }
        member
    }

    /// Makes two components one.
    pub(crate) fn join(&mut self, left: u32, right: u32) {
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
