//! The words of the exact files, which are not quite ours: why similarities can differ.
//!
//! The files take as a word what Python's `\w+` matches in the lower-cased text. Ours differ in two ways: combining
//! marks belong to the word they stand in, and in scripts written without spaces every character is a word.

use std::collections::BTreeSet;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// The Jaccard similarity of two texts by the files' rule, for shingles of `k` words.
pub(crate) fn similarity(k: usize, left: &str, right: &str) -> f64 {
    let (left, right) = (shingles(k, left), shingles(k, right));
    let shared = left.intersection(&right).count();
    shared as f64 / (left.len() + right.len() - shared).max(1) as f64
}

fn shingles(k: usize, text: &str) -> BTreeSet<Vec<String>> {
    let is_word = |character: char| {
        let group = character.general_category_group();
        character == '_' || matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
    };
    let lowered = text.to_lowercase();
    let words: Vec<String> =
        lowered.split(|character| !is_word(character)).filter(|word| !word.is_empty()).map(str::to_string).collect();
    match words.len() {
        0 => BTreeSet::new(),
        count if count < k => BTreeSet::from([words]),
        _ => words.windows(k).map(<[String]>::to_vec).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_files() {
        assert_eq!(shingles(1, "It's snake_case, 2²!").len(), 4);
        assert_eq!(shingles(1, "東京都").len(), 1, "a run of characters without spaces is one word");
        assert_eq!(shingles(1, "हिन्दी").len(), 3, "a mark ends a word");
        assert_eq!(shingles(3, "a b").len(), 1);
        assert_eq!(similarity(3, "a b c d", "a b c e"), 1.0 / 3.0);
    }
}
