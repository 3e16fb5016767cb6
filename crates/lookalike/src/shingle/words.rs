//! The words of a canonical text, in any script: the reference that the quick way (`word_bytes.rs`) must equal.

use std::ops::Range;

use crate::characters::{Kind, kind};

/// Calls `found` with the byte range of every word, in order.
///
/// A word is a run of letters, digits, marks and connectors; in scripts written without spaces it is one character
/// with its marks.
pub(crate) fn for_each_word(text: &str, mut found: impl FnMut(Range<usize>)) {
    let mut open: Option<(usize, Kind)> = None;
    for (at, character) in text.char_indices() {
        let kind = kind(character);
        match (open, kind) {
            (Some((_, Kind::Word)), Kind::Word) | (Some(_), Kind::Mark) => {}
            _ => {
                if let Some((start, _)) = open {
                    found(start..at);
                }
                open = match kind {
                    Kind::Separator => None,
                    Kind::Alone => Some((at, Kind::Alone)),
                    // A mark without a letter before it starts a word of its own.
                    Kind::Word | Kind::Mark => Some((at, Kind::Word)),
                };
            }
        }
    }
    if let Some((start, _)) = open {
        found(start..text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        for_each_word(text, |range| words.push(&text[range]));
        words
    }

    #[test]
    fn words_in_many_scripts() {
        assert_eq!(words("It's 3.5 snake_case!"), ["It", "s", "3", "5", "snake_case"]);
        assert_eq!(words("naïve café"), ["naïve", "café"]);
        assert_eq!(words("2024年3月、東京"), ["2024", "年", "3", "月", "東", "京"]);
        assert_eq!(words("サーバー"), ["サ", "ー", "バ", "ー"]);
        assert_eq!(words("ที่นี่"), ["ที่", "นี่"]);
        assert_eq!(words("안녕하세요 세계"), ["안녕하세요", "세계"]);
        assert_eq!(words("مرحبا بالعالم"), ["مرحبا", "بالعالم"]);
        assert_eq!(words("हिन्दी में"), ["हिन्दी", "में"]);
        assert_eq!(words("GPU性能up"), ["GPU", "性", "能", "up"]);
        assert_eq!(words("क\u{200d}ष"), ["क\u{200d}ष"]);
    }
}
