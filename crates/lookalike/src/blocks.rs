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
        let mut block_of = vec![NONE; classes];
        let mut total = 0;
        for_each_link(&mut |link| {
            for class in link {
                if std::mem::take(&mut block_of[*class as usize]) == NONE {
                    total += weight(*class);
                }
            }
        })?;
        if total <= room {
            return Ok(Self { block_of, tasks: vec![(0, 0)] });
        }
        let mut components = Components::new(classes);
        for_each_link(&mut |link| link.iter().for_each(|class| components.join(link[0], *class)))?;
        let mut weights = vec![0u64; classes];
        for class in (0..classes as u32).filter(|class| block_of[*class as usize] != NONE) {
            weights[components.least(class) as usize] += weight(class);
        }
        let mut tasks = Vec::new();
        let (mut blocks, mut open, mut filled) = (0, None, 0);
        let mut cut: HashMap<u32, (Vec<u32>, u64)> = HashMap::new();
        for class in 0..classes as u32 {
            if block_of[class as usize] == NONE {
                continue;
            }
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
        Ok(Self { block_of, tasks })
    }

    /// The blocks that are loaded together, one after another.
    pub(crate) fn tasks(&self) -> &[(u32, u32)] {
        &self.tasks
    }

    /// The classes that are loaded for a task.
    pub(crate) fn loaded(&self, task: (u32, u32)) -> impl Iterator<Item = u32> + Clone + '_ {
        (0u32..)
            .zip(&self.block_of)
            .filter(move |(_, block)| **block == task.0 || **block == task.1)
            .map(|(class, _)| class)
    }

    /// The task in which two classes are compared.
    pub(crate) fn task_of(&self, left: u32, right: u32) -> (u32, u32) {
        let (left, right) = (self.block_of[left as usize], self.block_of[right as usize]);
        (left.min(right), left.max(right))
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
