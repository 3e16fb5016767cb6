//! Which classes are loaded together, where not all that are compared fit into memory at once.

use std::collections::HashMap;

use crate::components::Components;
use crate::error::Result;

/// The block of a class that is compared with nobody.
const NONE: u32 = u32::MAX;

/// Classes in blocks that fit. Whatever is compared is in one block, as long as what hangs together fits into one; a
/// component that does not is cut into several, which are loaded two by two.
#[derive(Debug)]
pub(crate) struct Blocks {
    compared: Compared,
    /// For each class, its block; empty if there is only one.
    block_of: Vec<u32>,
    /// The blocks that are loaded together, one after another; the first is never behind the second.
    tasks: Vec<(u32, u32)>,
}

impl Blocks {
    /// Blocks for classes of which those in a link may be compared. `weight` is what a class takes when it is loaded,
    /// and `room` what all that are loaded together may take.
    pub(crate) fn of(
        classes: usize,
        for_each_link: impl Fn(&mut dyn FnMut(&[u32])) -> Result<()>,
        weight: impl Fn(u32) -> u64,
        room: u64,
    ) -> Result<Self> {
        let mut compared = Compared(vec![0; classes.div_ceil(64)]);
        let mut total = 0;
        for_each_link(&mut |link| {
            for class in link {
                if compared.insert(*class) {
                    total += weight(*class);
                }
            }
        })?;
        if total <= room {
            return Ok(Self { compared, block_of: Vec::new(), tasks: vec![(0, 0)] });
        }
        let mut block_of = vec![NONE; classes];
        let mut components = Components::new(classes);
        for_each_link(&mut |link| link.iter().for_each(|class| components.join(link[0], *class)))?;
        let mut weights = vec![0u64; classes];
        for class in compared.iter() {
            weights[components.least(class) as usize] += weight(class);
        }
        let mut tasks = Vec::new();
        let (mut blocks, mut open, mut filled) = (0, None, 0);
        let mut cut: HashMap<u32, (Vec<u32>, u64)> = HashMap::new();
        for class in compared.iter() {
            let least = components.least(class);
            let component_weight = weights[least as usize];
            block_of[class as usize] = if component_weight > room {
                // Two of its blocks are loaded at a time.
                let (pieces, filled) = cut.entry(least).or_insert((Vec::new(), u64::MAX));
                if filled.saturating_add(weight(class)) > room / 2 {
                    pieces.push(blocks);
                    tasks.extend(pieces.iter().map(|piece| (*piece, blocks)));
                    blocks += 1;
                    *filled = 0;
                }
                *filled += weight(class);
                pieces[pieces.len() - 1]
            } else if least != class {
                block_of[least as usize]
            } else {
                let block = match open.filter(|_| filled + component_weight <= room) {
                    Some(block) => block,
                    None => {
                        tasks.push((blocks, blocks));
                        blocks += 1;
                        filled = 0;
                        blocks - 1
                    }
                };
                open = Some(block);
                filled += component_weight;
                block
            };
        }
        Ok(Self { compared, block_of, tasks })
    }

    /// The blocks that are loaded together, one after another.
    pub(crate) fn tasks(&self) -> &[(u32, u32)] {
        &self.tasks
    }

    /// The classes that are loaded for a task.
    pub(crate) fn loaded(&self, task: (u32, u32)) -> impl Iterator<Item = u32> + Clone + '_ {
        let is_in_task = move |block: &u32| *block == task.0 || *block == task.1;
        self.compared.iter().filter(move |class| self.block_of.get(*class as usize).is_none_or(is_in_task))
    }

    /// The task in which two classes are compared.
    pub(crate) fn task_of(&self, left: u32, right: u32) -> (u32, u32) {
        let block_of = |class: u32| self.block_of.get(class as usize).copied().unwrap_or(0);
        let (left, right) = (block_of(left), block_of(right));
        (left.min(right), left.max(right))
    }
}

/// Which classes are compared with any, a bit for each: mostly they are few, and all in one block.
#[derive(Debug)]
struct Compared(Vec<u64>);

impl Compared {
    /// Notes a class; tells whether it is new.
    fn insert(&mut self, class: u32) -> bool {
        let (word, bit) = (&mut self.0[class as usize / 64], 1u64 << (class % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// The classes, in ascending order.
    fn iter(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        self.0.iter().enumerate().filter(|(_, word)| **word > 0).flat_map(|(at, word)| {
            let rest = |bits: &u64| Some(bits & (bits - 1)).filter(|rest| *rest > 0);
            std::iter::successors(Some(*word), rest).map(move |bits| at as u32 * 64 + bits.trailing_zeros())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn whatever_is_linked_is_loaded_together_and_fits() {
        let mut random = SplitMix(17);
        for (classes, links, room) in [(50, 10, 1000), (50, 30, 60), (200, 150, 40), (200, 190, 30), (10, 0, 5)] {
            let links: Vec<Vec<u32>> =
                (0..links).map(|_| (0..2 + random.below(4)).map(|_| random.below(classes) as u32).collect()).collect();
            let weight = |class: u32| u64::from(class % 7 + 1);
            let for_each_link = |show: &mut dyn FnMut(&[u32])| {
                links.iter().for_each(|link| show(link));
                Ok(())
            };
            let blocks = Blocks::of(classes as usize, for_each_link, weight, room).unwrap();
            let mut tasks = blocks.tasks().to_vec();
            tasks.sort_unstable();
            tasks.dedup();
            assert_eq!(tasks.len(), blocks.tasks().len(), "every task once");
            for task in &tasks {
                let loaded: u64 = blocks.loaded(*task).map(weight).sum();
                assert!(loaded <= room.max(14), "{loaded} of {room}");
            }
            for link in &links {
                for (left, right) in link.iter().flat_map(|left| link.iter().map(move |right| (*left, *right))) {
                    let task = blocks.task_of(left, right);
                    assert!(tasks.contains(&task));
                    assert!(
                        blocks.loaded(task).any(|class| class == left)
                            && blocks.loaded(task).any(|class| class == right)
                    );
                }
            }
        }
    }
}
