//! Seeds that lie close together on both sides become one passage.

use std::ops::Range;

use super::seeds::Seed;

/// Rounds of cutting by left and right in turn; what needs more is left as it is.
const MOST_ROUNDS: usize = 16;

/// Seeds cut into groups in which, on each side, no two neighbours are more than `gap` sentences apart.
pub(crate) fn clusters(seeds: Vec<Seed>, gap: u32) -> Vec<Vec<Seed>> {
    let sides: [fn(&Seed) -> u32; 2] = [|seed| seed.left, |seed| seed.right];
    let mut groups = vec![seeds];
    // Rounds without a cut, one after another: after two, both sides hold.
    let mut unchanged = 0;
    for round in 0..MOST_ROUNDS {
        let side = sides[round % 2];
        let before = groups.len();
        groups = groups.into_iter().flat_map(|group| cut(group, gap, side)).collect();
        unchanged = if groups.len() == before && round > 0 { unchanged + 1 } else { 0 };
        if unchanged == 2 {
            break;
        }
    }
    groups
}

fn cut(mut group: Vec<Seed>, gap: u32, side: fn(&Seed) -> u32) -> Vec<Vec<Seed>> {
    group.sort_unstable_by_key(|seed| (side(seed), *seed));
    group.chunk_by(|one, next| side(next) - side(one) <= gap + 1).map(<[Seed]>::to_vec).collect()
}

/// The sentences from the first to the last of a group, on both sides.
pub(crate) fn extent(group: &[Seed]) -> (Range<usize>, Range<usize>) {
    let range = |side: fn(&Seed) -> u32| {
        let least = group.iter().map(side).min().unwrap_or(0) as usize;
        let most = group.iter().map(side).max().unwrap_or(0) as usize;
        least..most + 1
    };
    (range(|seed| seed.left), range(|seed| seed.right))
}
