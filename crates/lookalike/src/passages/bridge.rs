//! Runs with a small edit between them are one passage: a word put in, left out or replaced.

use super::runs::Run;

/// An edit of more tokens always parts two passages.
const LONGEST_EDIT: usize = 8;
/// Passages whose end is remembered, so that one can go on after another was quoted in between.
const OPEN: usize = 4;

/// Joins runs into chains, in the order of the left text. Inside a chain runs follow one another in both texts, without
/// overlap.
pub(super) fn bridge(runs: &[Run]) -> Vec<Vec<Run>> {
    let mut chains: Vec<Vec<Run>> = Vec::new();
    for run in runs {
        let open = chains.len().saturating_sub(OPEN);
        let goes_on = chains[open..].iter_mut().rev().find_map(|chain| {
            let continued = continuing(chain[chain.len() - 1], *run)?;
            Some((chain, continued))
        });
        match goes_on {
            Some((chain, continued)) => chain.push(continued),
            None => chains.push(vec![*run]),
        }
    }
    without_inner(chains)
}

/// Drops chains that lie inside an earlier one on both sides: they pair its words in another way.
fn without_inner(chains: Vec<Vec<Run>>) -> Vec<Vec<Run>> {
    let mut kept: Vec<Vec<Run>> = Vec::new();
    for chain in chains {
        let (first, last) = (chain[0], chain[chain.len() - 1]);
        let is_inside = |other: &Vec<Run>| {
            let end = other[other.len() - 1];
            other[0].left <= first.left
                && last.left_end() <= end.left_end()
                && other[0].right <= first.right
                && last.right_end() <= end.right_end()
        };
        if !kept.iter().rev().take(OPEN).any(is_inside) {
            kept.push(chain);
        }
    }
    kept
}

/// The run as it goes on after `last`, if only a small edit lies between them. What overlaps is cut off.
fn continuing(last: Run, run: Run) -> Option<Run> {
    let overlap = last.left_end().saturating_sub(run.left).max(last.right_end().saturating_sub(run.right));
    if run.left < last.left || run.right < last.right || overlap >= run.length {
        return None;
    }
    let rest = Run { left: run.left + overlap, right: run.right + overlap, length: run.length - overlap };
    let edit = (rest.left - last.left_end()).max(rest.right - last.right_end());
    // Short runs are common phrases as often as not; they hold nothing together.
    let bridged = (last.length.min(run.length) / 2).min(LONGEST_EDIT);
    (edit <= bridged).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(left: usize, right: usize, length: usize) -> Run {
        Run { left, right, length }
    }

    #[test]
    fn small_edits_are_bridged_and_large_ones_are_not() {
        let replaced = [run(0, 10, 6), run(7, 17, 6)];
        assert_eq!(bridge(&replaced), [replaced.to_vec()]);
        let far = [run(0, 10, 6), run(10, 17, 6)];
        assert_eq!(bridge(&far).len(), 2);
        let long = [run(0, 10, 20), run(28, 30, 20)];
        assert_eq!(bridge(&long).len(), 1);
        let longer = [run(0, 10, 200), run(209, 210, 200)];
        assert_eq!(bridge(&longer).len(), 2, "an edit of nine tokens parts");
    }

    #[test]
    fn what_overlaps_counts_once() {
        // A word was put in on the right, and what stands before and after it repeats.
        assert_eq!(bridge(&[run(0, 0, 6), run(4, 7, 6)]), [vec![run(0, 0, 6), run(6, 9, 4)]]);
        assert_eq!(bridge(&[run(0, 0, 6), run(1, 0, 6)]).len(), 2, "the same words paired in two ways");
        assert_eq!(bridge(&[run(0, 0, 20), run(21, 21, 20), run(25, 2, 6)]).len(), 1, "inside on both sides");
    }

    #[test]
    fn moved_passages_stay_apart() {
        assert_eq!(bridge(&[run(0, 50, 10), run(11, 20, 10), run(22, 61, 10)]).len(), 3);
        // A quotation in between does not part what goes on behind it.
        assert_eq!(bridge(&[run(0, 0, 10), run(10, 90, 5), run(15, 11, 12)]).len(), 2);
    }
}
