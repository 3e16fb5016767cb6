//! The order in which records are preferred.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::batch::KeepValue;
use crate::collection::Collection;
use crate::settings::Keep;

/// All records, the most preferred first: old ones before new ones, then by the keep order, ties by input order.
pub(crate) fn keep_order(collection: &Collection<'_>, keep: &Keep) -> Vec<u32> {
    // By all threads: memory that is touched for the first time is dear.
    let mut order: Vec<u32> = (0..collection.len() as u32).into_par_iter().collect();
    let (old, new) = order.split_at_mut(collection.old());
    for records in [old, new] {
        match keep {
            Keep::First => {}
            Keep::Last => records.reverse(),
            Keep::Longest => records.par_sort_by_key(|record| std::cmp::Reverse(collection.length(*record))),
            Keep::Shortest => records.par_sort_by_key(|record| collection.length(*record)),
            Keep::Max(_) => {
                records.par_sort_by(|a, b| compare(collection.keep(*a), collection.keep(*b), Ordering::reverse))
            }
            Keep::Min(_) => {
                records.par_sort_by(|a, b| compare(collection.keep(*a), collection.keep(*b), |order| order))
            }
        }
    }
    order
}

/// Numbers by value and strings by bytes, in the direction given. Whatever the direction, strings come behind all numbers ("N/A" is
/// not the best of scores), and those without the field last.
fn compare(left: &KeepValue, right: &KeepValue, direct: impl Fn(Ordering) -> Ordering) -> Ordering {
    use KeepValue::{Integer, Missing, Number, Text};
    match (left, right) {
        (Missing, Missing) => Ordering::Equal,
        (Missing, _) => Ordering::Greater,
        (_, Missing) => Ordering::Less,
        // Both zeros are the same.
        (Number(left), Number(right)) => direct((left + 0.0).total_cmp(&(right + 0.0))),
        (Integer(left), Integer(right)) => direct(left.cmp(right)),
        (Integer(left), Number(right)) => direct(compare_mixed(*left, *right)),
        (Number(left), Integer(right)) => direct(compare_mixed(*right, *left).reverse()),
        (Text(left), Text(right)) => direct(left.as_bytes().cmp(right.as_bytes())),
        (Number(_) | Integer(_), Text(_)) => Ordering::Less,
        (Text(_), Number(_) | Integer(_)) => Ordering::Greater,
    }
}

/// A large integer against a float: as floats, and where those are equal, as integers.
fn compare_mixed(integer: i128, float: f64) -> Ordering {
    (integer as f64).total_cmp(&float).then_with(|| integer.cmp(&(float as i128)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_integers_compare_exactly() {
        let value = |text: &str| KeepValue::parse_number(text).unwrap();
        let ascending = [
            "-9223372036854775809",
            "-9223372036854775808",
            "-9007199254740993",
            "3",
            "9007199254740992",
            "9007199254740993",
            "9007199254740994",
            "1e17",
            "18446744073709551614",
            "18446744073709551615",
            "18446744073709551616",
            "1e300",
        ];
        for pair in ascending.windows(2) {
            assert_eq!(compare(&value(pair[0]), &value(pair[1]), |order| order), Ordering::Less, "{pair:?}");
            assert_eq!(compare(&value(pair[1]), &value(pair[0]), |order| order), Ordering::Greater, "{pair:?}");
        }
    }

    #[test]
    fn fields_compare_as_numbers_or_bytes_and_missing_ones_come_last() {
        let (missing, two, ten, text) =
            (KeepValue::Missing, KeepValue::Number(2.0), KeepValue::Number(10.0), KeepValue::Text("10".into()));
        assert_eq!(compare(&two, &ten, |order| order), Ordering::Less);
        assert_eq!(compare(&ten, &two, Ordering::reverse), Ordering::Less);
        assert_eq!(compare(&text, &ten, |order| order), Ordering::Greater);
        for direction in [(|order| order) as fn(Ordering) -> Ordering, Ordering::reverse] {
            assert_eq!(compare(&missing, &two, direction), Ordering::Greater);
            assert_eq!(compare(&text, &missing, direction), Ordering::Less);
            assert_eq!(compare(&text, &ten, direction), Ordering::Greater, "no word is the best of numbers");
            let (zero, below_zero) = (KeepValue::Number(0.0), KeepValue::Number(-0.0));
            assert_eq!(compare(&zero, &below_zero, direction), Ordering::Equal);
        }
    }
}
