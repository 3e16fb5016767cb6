//! How datasketch chooses bands and rows: the least weighted sum of the areas of both errors. The areas are integrals of
//! smooth curves; datasketch takes them with QUADPACK, and here the same rule (Gauss and Kronrod, 21 points) is applied to
//! halves of the interval until it is as sure. Choices agree unless two schemes are alike to nine digits.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The points of the rule on the right half of [-1, 1], the greatest first, with their weights.
const POINTS: [(f64, f64); 11] = [
    (0.995_657_163_025_808_1, 0.011_694_638_867_371_874),
    (0.973_906_528_517_171_7, 0.032_558_162_307_964_725),
    (0.930_157_491_355_708_2, 0.054_755_896_574_351_995),
    (0.865_063_366_688_984_5, 0.075_039_674_810_919_96),
    (0.780_817_726_586_416_9, 0.093_125_454_583_697_6),
    (0.679_409_568_299_024_4, 0.109_387_158_802_297_64),
    (0.562_757_134_668_604_7, 0.123_491_976_262_065_84),
    (0.433_395_394_129_247_2, 0.134_709_217_311_473_34),
    (0.294_392_862_701_460_2, 0.142_775_938_577_060_09),
    (0.148_874_338_981_631_22, 0.147_739_104_901_338_49),
    (0.0, 0.149_445_554_002_916_9),
];
/// The weights of the ten points among them that are Gauss's alone; the difference of both sums tells how sure they are.
const GAUSS: [f64; 5] = [
    0.066_671_344_308_688_14,
    0.149_451_349_150_580_6,
    0.219_086_362_515_982_04,
    0.269_266_719_309_996_36,
    0.295_524_224_714_752_87,
];
/// How far an integral may be off, as in the defaults of QUADPACK's callers.
const TOLERANCE: f64 = 1.49e-8;
/// So often is an interval halved at most.
const MOST_HALVINGS: u32 = 40;

/// The area under a curve.
fn area(curve: &impl Fn(f64) -> f64, from: f64, to: f64) -> f64 {
    if from >= to { 0.0 } else { area_within(curve, from, to, TOLERANCE, MOST_HALVINGS) }
}

fn area_within(curve: &impl Fn(f64) -> f64, from: f64, to: f64, tolerance: f64, halvings: u32) -> f64 {
    let (center, half) = (0.5 * (from + to), 0.5 * (to - from));
    let mut kronrod = curve(center) * POINTS[10].1;
    let mut gauss = 0.0;
    for (at, (point, weight)) in POINTS[..10].iter().enumerate() {
        let both = curve(center - half * point) + curve(center + half * point);
        kronrod += weight * both;
        if at % 2 == 1 {
            gauss += GAUSS[at / 2] * both;
        }
    }
    let (found, difference) = (kronrod * half, ((kronrod - gauss) * half).abs());
    // The sums differ far more than the better one is off: by a power of 1.5, says QUADPACK.
    let error = difference.min((200.0 * difference).powf(1.5));
    // What is no number does not become one in smaller parts.
    if error.is_nan() || error <= tolerance.max(TOLERANCE * found.abs()) || halvings == 0 {
        return found;
    }
    area_within(curve, from, center, tolerance / 2.0, halvings - 1)
        + area_within(curve, center, to, tolerance / 2.0, halvings - 1)
}

/// How likely a pair becomes a candidate.
fn found(similarity: f64, bands: f64, rows: f64) -> f64 {
    1.0 - (1.0 - similarity.powf(rows)).powf(bands)
}

/// The weighted sum of the areas of both errors for a threshold of similarity.
fn jaccard_error(threshold: f64, bands: f64, rows: f64, weights: (f64, f64)) -> f64 {
    let positives = area(&|s| found(s, bands, rows), 0.0, threshold);
    let negatives = area(&|s| 1.0 - found(s, bands, rows), threshold, 1.0);
    positives * weights.0 + negatives * weights.1
}

/// The same for a threshold of containment, where the sets of the index are `ratio` times as large as that of the query.
fn containment_error(threshold: f64, bands: f64, rows: f64, ratio: f64, weights: (f64, f64)) -> f64 {
    let similarity = |containment: f64| containment / (1.0 + ratio - containment);
    let positives = area(&|c| found(similarity(c), bands, rows), 0.0, threshold.min(ratio));
    // More than the ratio of both sizes cannot be contained.
    let negatives = area(&|c| 1.0 - found(similarity(c), bands, rows), threshold, ratio.min(1.0));
    positives * weights.0 + negatives * weights.1
}

/// The bands and rows, of at most `most_rows`, with the least error; for containment, if a ratio of sizes is given. Among
/// equals, the fewest bands, then the fewest rows.
#[pyfunction]
#[pyo3(signature = (threshold, length, most_rows, ratio, false_positive_weight, false_negative_weight))]
pub(super) fn best_bands(
    py: Python<'_>,
    threshold: f64,
    length: usize,
    most_rows: usize,
    ratio: Option<f64>,
    false_positive_weight: f64,
    false_negative_weight: f64,
) -> (usize, usize) {
    let weights = (false_positive_weight, false_negative_weight);
    py.detach(|| {
        let (mut least, mut best) = (f64::INFINITY, (0, 0));
        for bands in 1..=length {
            for rows in 1..=most_rows.min(length / bands) {
                let (b, r) = (bands as f64, rows as f64);
                let error = match ratio {
                    None => jaccard_error(threshold, b, r, weights),
                    Some(ratio) => containment_error(threshold, b, r, ratio, weights),
                };
                if error < least {
                    (least, best) = (error, (bands, rows));
                }
            }
        }
        best
    })
}

/// Where to cut the sizes of sets, in ascending order, into parts such that treating all sets of a part as large as its
/// largest gives few false positives: the index of the last size of each part.
///
/// It is datasketch's walk through the table of costs, which on its way back looks at those of one part too many. The cut is
/// then not always the best; but the same sets are found for the same query.
#[pyfunction]
pub(super) fn best_partitions(py: Python<'_>, sizes: Vec<i64>, counts: Vec<i64>, parts: usize) -> PyResult<Vec<usize>> {
    if sizes.len() != counts.len() || parts < 2 || parts >= sizes.len() {
        return Err(PyValueError::new_err("there must be a count for each size, and from 2 parts to less than sizes"));
    }
    Ok(py.detach(|| {
        let alone = part_costs(&sizes, &counts);
        let last = sizes.len() - 1;
        // costs[p][u]: the least cost of the sizes up to u in p + 1 parts; nothing where there are too few sizes.
        let mut costs: Vec<Vec<f64>> = vec![alone[0].clone()];
        for part in 1..parts - 1 {
            let before = &costs[part - 1];
            let row =
                (0..=last).map(|to| if to < part { 0.0 } else { least_cost(before, &alone, part - 1, to).0 }).collect();
            costs.push(row);
        }
        let mut ends = vec![last, least_cost(&costs[parts - 2], &alone, parts - 2, last).1];
        for part in (1..parts - 1).rev() {
            ends.push(least_cost(&costs[part], &alone, part - 1, ends[ends.len() - 1]).1);
        }
        ends.reverse();
        ends
    }))
}

/// The least cost of the sizes up to `to`, if the part before the last ends at `from` or later; and where it ends. Among
/// equals, the first.
fn least_cost(before: &[f64], alone: &[Vec<f64>], from: usize, to: usize) -> (f64, usize) {
    let mut least = (f64::INFINITY, from);
    for end in from..to {
        let cost = before[end] + alone[end + 1][to];
        if cost < least.0 {
            least = (cost, end);
        }
    }
    least
}

/// The false positives that are expected of a part from each size to each size.
fn part_costs(sizes: &[i64], counts: &[i64]) -> Vec<Vec<f64>> {
    let mut costs = vec![vec![0.0; sizes.len()]; sizes.len()];
    let mut terms = Vec::with_capacity(sizes.len());
    for to in 0..sizes.len() {
        let largest = sizes[to] as f64;
        terms.clear();
        terms.extend((0..=to).map(|at| (largest - sizes[at] as f64) / largest * counts[at] as f64));
        for from in 0..=to {
            costs[from][to] = pairwise_sum(&terms[from..]);
        }
    }
    costs
}

/// A sum in the order that numpy takes it in, so that what is a tie there is one here.
fn pairwise_sum(terms: &[f64]) -> f64 {
    const LANES: usize = 8;
    const BLOCK: usize = 128;
    if terms.len() < LANES {
        return terms.iter().sum();
    }
    if terms.len() <= BLOCK {
        let (whole, rest) = terms.as_chunks::<LANES>();
        let mut sums = whole[0];
        for lanes in &whole[1..] {
            sums.iter_mut().zip(lanes).for_each(|(sum, term)| *sum += term);
        }
        let sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
        return rest.iter().fold(sum, |sum, term| sum + term);
    }
    let half = terms.len() / 2;
    let (left, right) = terms.split_at(half - half % LANES);
    pairwise_sum(left) + pairwise_sum(right)
}
