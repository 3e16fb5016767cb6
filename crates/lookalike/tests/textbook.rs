//! The worked examples of the textbooks on shingling, MinHash and locality-sensitive hashing, by the engine's own
//! functions.

use std::collections::BTreeSet;

use lookalike::sketch::{EMPTY_SLOT, agreement, merge};
use lookalike::verify::jaccard;
use lookalike::{Bands, Method, Scheme, Settings, Shingler, Shingles};

/// MinHash as it is done by hand: rows are numbered, and explicit functions or permutations give their order.
mod by_hand {
    use super::*;

    /// One pass over the rows of a column: every slot is lowered to what its function says of the row.
    pub(crate) fn signature(column: &[u32], functions: &[&dyn Fn(u32) -> u32]) -> Vec<u32> {
        let mut signature = vec![EMPTY_SLOT; functions.len()];
        for row in column {
            let values: Vec<u32> = functions.iter().map(|function| function(*row)).collect();
            merge(&mut signature, &values);
        }
        signature
    }

    /// h(x) = ax + b mod p.
    pub(crate) fn linear(a: u32, b: u32, p: u32) -> impl Fn(u32) -> u32 {
        move |x| (a * x + b) % p
    }

    /// A permutation, written as the place that it gives to each of the rows 1, 2, ….
    pub(crate) fn permutation(places: &[u32]) -> impl Fn(u32) -> u32 {
        move |row| places[row as usize - 1]
    }
}

/// The shingle hashes of a text, in its order.
fn shingles(kind: Shingles, text: &str) -> Vec<u64> {
    let mut hashes = Vec::new();
    Shingler::new(kind, kind.default_normalize(), false).append_text(text, &mut hashes);
    hashes
}

fn distinct(kind: Shingles, text: &str) -> BTreeSet<u64> {
    shingles(kind, text).into_iter().collect()
}

/// The rows (from 1) in which a column of zeros and ones has a one.
fn rows(column: &str) -> Vec<u32> {
    (1..).zip(column.chars()).filter(|(_, bit)| *bit == '1').map(|(row, _)| row).collect()
}

#[test]
fn abcab_has_the_shingles_ab_bc_ca() {
    let pairs = Shingles::chars(2);
    let expected: BTreeSet<u64> = ["ab", "bc", "ca"].iter().flat_map(|text| shingles(pairs, text)).collect();
    assert_eq!(expected.len(), 3);
    assert_eq!(distinct(pairs, "abcab"), expected);
    assert_eq!(shingles(pairs, "abcab").len(), 4, "ab comes twice");
}

#[test]
fn this_is_a_test_by_characters_and_by_words() {
    let text = "This is a test";
    assert_eq!(shingles(Shingles::chars(3), text).len(), 12);
    assert_eq!(distinct(Shingles::chars(3), text).len(), 11, "\"is \" comes twice");
    assert_eq!(distinct(Shingles::words(3), text).len(), 2);
}

#[test]
fn a_rose_is_a_rose_has_three_shingles_of_four_words() {
    let text = "a rose is a rose is a rose";
    assert_eq!(shingles(Shingles::words(4), text).len(), 5);
    assert_eq!(distinct(Shingles::words(4), text).len(), 3);
}

#[test]
fn two_columns_are_three_quarters_alike() {
    let (left, right) = (rows("10111"), rows("10011"));
    assert_eq!(jaccard(&left, &right), 0.75);
    let hashed = |column: &[u32]| column.iter().map(|row| lookalike::hash_item(&row.to_le_bytes())).collect::<Vec<_>>();
    let found = Settings::new(0.75).exact(true).plan().unwrap().run_sets([hashed(&left), hashed(&right)]).unwrap();
    assert_eq!(found.pairs().map(|pair| pair.similarity).collect::<Vec<_>>(), [0.75]);
}

#[test]
fn one_pass_with_two_functions() {
    let (h, g) = (by_hand::linear(1, 0, 5), by_hand::linear(2, 1, 5));
    assert_eq!(by_hand::signature(&[1, 3, 4], &[&h, &g]), [1, 2]);
    assert_eq!(by_hand::signature(&[2, 3, 5], &[&h, &g]), [0, 0]);
}

#[test]
fn three_permutations_of_seven_rows() {
    let matrix = ["1010", "1001", "0101", "0101", "0101", "1010", "1010"];
    let first = by_hand::permutation(&[2, 3, 7, 6, 1, 5, 4]);
    let second = by_hand::permutation(&[4, 2, 1, 3, 6, 7, 5]);
    let third = by_hand::permutation(&[3, 4, 7, 2, 6, 1, 5]);
    let columns: Vec<Vec<u32>> =
        (0..4).map(|column| rows(&matrix.iter().map(|row| &row[column..=column]).collect::<String>())).collect();
    let signatures: Vec<Vec<u32>> =
        columns.iter().map(|column| by_hand::signature(column, &[&first, &second, &third])).collect();

    let row = |slot: usize| signatures.iter().map(|signature| signature[slot].to_string()).collect::<String>();
    assert_eq!([row(0), row(1), row(2)], ["2121", "2141", "1212"]);

    // Which columns are alike, and how alike their signatures say they are.
    for (left, right, alike, agreeing) in [(0, 2, 0.75, 2), (1, 3, 0.75, 3), (0, 1, 0.0, 0), (2, 3, 0.0, 0)] {
        assert_eq!(jaccard(&columns[left], &columns[right]), alike);
        assert_eq!(agreement(&signatures[left], &signatures[right]), agreeing);
    }
}

fn twenty_bands_of_five() -> Scheme {
    let plan = Settings::new(0.8).bands(Bands::Disjoint { bands: 20, rows: 5 }).plan().unwrap();
    let Method::Sketches(scheme) = plan.method() else { panic!("a plan with bands uses sketches") };
    scheme
}

#[test]
fn the_curve_of_twenty_bands_of_five_rows() {
    let scheme = twenty_bands_of_five();
    let printed = ["0.006", "0.047", "0.186", "0.470", "0.802", "0.975", "0.9996"];
    for (tenths, printed) in (2..).zip(printed) {
        let digits = printed.len() - 2;
        assert_eq!(format!("{:.digits$}", scheme.meets(f64::from(tenths) / 10.0)), printed);
    }
}

#[test]
fn the_curve_rises_near_its_threshold() {
    let scheme = twenty_bands_of_five();
    let threshold = 0.05f64.powf(0.2);
    let rise = |hundredths: &u32| {
        let similarity = f64::from(*hundredths) / 100.0;
        scheme.meets(similarity + 0.005) - scheme.meets(similarity - 0.005)
    };
    let steepest = (1..100).max_by(|left, right| rise(left).total_cmp(&rise(right))).unwrap();
    assert!((f64::from(steepest) / 100.0 - threshold).abs() < 0.03, "steepest at {steepest}/100, not at {threshold}");
    assert!((scheme.meets(threshold) - (1.0 - 0.95f64.powi(20))).abs() < 1e-9);
}
