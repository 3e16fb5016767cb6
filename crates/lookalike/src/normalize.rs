//! normalize: text → canonical text.
//!
//! The canonical text goes into a reused buffer. For passages, it can also be had in pieces that tell where in the
//! original each came from.

use std::ops::Range;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::characters::{Class, is_accent, is_composed, is_digit, is_punctuation, lowered};
use crate::settings::{Normalize, Step};

/// Writes the canonical form of `text` into `canonical`, whose old content is lost.
pub fn normalize(steps: Normalize, text: &str, canonical: &mut String) {
    canonical.clear();
    append(steps, text, canonical);
    if steps.has(Step::Space) {
        trim_end(canonical, 0);
    }
}

/// Appends the canonical form, but for white space at the end.
fn append(steps: Normalize, text: &str, canonical: &mut String) {
    let composed: String;
    let text = if steps.has(Step::Nfkc) && !text.is_ascii() {
        composed = text.nfkc().collect();
        composed.as_str()
    } else if steps.has(Step::Nfc) && !is_composed(text) {
        composed = text.nfc().collect();
        composed.as_str()
    } else {
        text
    };
    let bare: String;
    let text = if steps.has(Step::Accents) && !text.is_ascii() {
        bare = text.nfd().filter(|character| !is_accent(*character)).nfc().collect();
        bare.as_str()
    } else {
        text
    };
    let spaced = steps.has(Step::Space);
    let mut after_space = spaced && (canonical.is_empty() || canonical.ends_with(' '));
    let plain = !steps.has(Step::Digits) && !steps.has(Step::Punct);
    for mut character in text.chars() {
        if !plain {
            if steps.has(Step::Digits) && is_digit(character) {
                character = '0';
            }
            if steps.has(Step::Punct) && is_punctuation(character) {
                character = ' ';
            }
        }
        if spaced && character.is_whitespace() {
            if !after_space {
                canonical.push(' ');
            }
            after_space = true;
            continue;
        }
        after_space = false;
        if !steps.has(Step::Lower) {
            canonical.push(character);
        } else if character.is_ascii() {
            canonical.push(character.to_ascii_lowercase());
        } else if Class::of(character).is_capital() {
            canonical.extend(lowered(character));
        } else {
            canonical.push(character);
        }
    }
}

fn trim_end(canonical: &mut String, start: usize) {
    let kept = canonical[start..].trim_end_matches(' ').len();
    canonical.truncate(start + kept);
}

/// Where each piece of a canonical text came from: its bytes there, and the bytes of the original.
pub(crate) type Pieces = Vec<(Range<usize>, Range<usize>)>;

/// The canonical text in pieces, each with the bytes of the original that it came from. Together the pieces are what
/// [`normalize`] gives.
pub(crate) fn with_spans(steps: Normalize, text: &str) -> (String, Pieces) {
    let mut canonical = String::new();
    let mut pieces = Vec::new();
    let mut start = 0;
    // A piece starts at a character that never joins with the one before it, whatever the steps.
    let starts = text
        .char_indices()
        .map(|(at, character)| {
            (at, character.is_ascii() || !(Class::of(character).is_unsettled() || is_combining_mark(character)))
        })
        .chain([(text.len(), true)]);
    for (at, is_start) in starts.skip(1) {
        if !is_start {
            continue;
        }
        let from = canonical.len();
        append(steps, &text[start..at], &mut canonical);
        if canonical.len() > from {
            pieces.push((from..canonical.len(), start..at));
        }
        start = at;
    }
    if steps.has(Step::Space) {
        trim_end(&mut canonical, 0);
        while pieces.last().is_some_and(|(piece, _)| piece.start >= canonical.len()) {
            pieces.pop();
        }
    }
    (canonical, pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normalized(steps: &str, text: &str) -> String {
        let mut canonical = String::new();
        normalize(steps.parse().unwrap(), text, &mut canonical);
        canonical
    }

    #[test]
    fn each_step_makes_its_things_equal() {
        assert_eq!(normalized("none", " A\tß "), " A\tß ");
        assert_eq!(normalized("nfc", "e\u{301}"), "é");
        assert_eq!(normalized("nfkc", "ﬁ①"), "fi1");
        assert_eq!(normalized("lower", "ÀΣΑΣ ΣΑΣς"), "àσασ σασσ");
        assert_eq!(normalized("punct", "a,b—c$"), "a b c ");
        assert_eq!(normalized("space", " \u{a0}a\r\n\t b\u{3000}"), "a b");
        assert_eq!(normalized("accents", "éÅñ ノ゙"), "eAn ノ");
        assert_eq!(normalized("digits", "1984 ٣"), "0000 0");
        assert_eq!(normalized("punct,space", "-- a -- b --"), "a b");
    }

    #[test]
    fn numbers_are_never_folded_by_default() {
        use crate::settings::Shingles;
        for shingles in [Shingles::words(5), Shingles::chars(9), Shingles::Lines] {
            assert!(!shingles.default_normalize().has(Step::Digits));
        }
    }

    proptest! {
        #[test]
        fn pieces_make_the_same_text(text in "\\PC{0,40}|[a-zé\u{301}\u{1100}-\u{11ff} ,]{0,30}", bits in 0u8..128) {
            let steps = Step::NAMES.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1)
                .fold(Normalize::NONE, |steps, (_, (_, step))| steps.with(*step));
            let mut whole = String::new();
            normalize(steps, &text, &mut whole);
            let (joined, pieces) = with_spans(steps, &text);
            prop_assert_eq!(&joined, &whole);
            let mut end = 0;
            for (canonical, original) in pieces {
                prop_assert!(canonical.start >= end && text.get(original).is_some());
                end = canonical.end.min(whole.len());
            }
        }
    }
}
