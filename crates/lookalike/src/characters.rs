//! What kind of character each character is, as far as words are concerned.

use std::sync::OnceLock;

use unicode_normalization::{IsNormalized, char::canonical_combining_class, is_nfc_quick};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// The part that a character plays in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// White space, punctuation, symbols: between words.
    Separator = 0,
    /// Letters, digits and connectors such as the underscore.
    Word = 1,
    /// A letter of a script that is written without spaces: a word by itself.
    Alone = 2,
    /// A mark or joiner that belongs to the character before it.
    Mark = 3,
}

/// The bit, beside the kind, of characters that can stand in a text that is not in normal form C.
const UNSETTLED: u8 = 4;

/// Characters whose class is looked up in a table; the rest is rare.
const TABLE: usize = 0x2_0000;

fn table() -> &'static [u8; TABLE] {
    static CLASSES: OnceLock<Box<[u8; TABLE]>> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let mut classes = Box::new([0u8; TABLE]);
        for (code, class) in classes.iter_mut().enumerate() {
            if let Some(character) = char::from_u32(code as u32) {
                *class = classify(character);
            }
        }
        classes
    })
}

#[inline]
fn class(character: char) -> u8 {
    let code = u32::from(character) as usize;
    if code < TABLE { table()[code] } else { classify(character) }
}

/// The part that a character plays in a word.
#[inline]
pub(crate) fn kind(character: char) -> Kind {
    match class(character) & 3 {
        0 => Kind::Separator,
        1 => Kind::Word,
        2 => Kind::Alone,
        _ => Kind::Mark,
    }
}

/// Whether a text that holds this character may change under normal form C.
#[inline]
pub(crate) fn is_unsettled(character: char) -> bool {
    class(character) & UNSETTLED != 0
}

/// Whether `punct` takes the character out.
pub(crate) fn is_punctuation(character: char) -> bool {
    matches!(character.general_category_group(), GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Symbol)
}

/// Whether `accents` takes the character off its letter.
pub(crate) fn is_accent(character: char) -> bool {
    character.general_category() == GeneralCategory::NonspacingMark && canonical_combining_class(character) != 0
}

/// Whether the character is a decimal digit of any script.
pub(crate) fn is_digit(character: char) -> bool {
    character.general_category() == GeneralCategory::DecimalNumber
}

fn classify(character: char) -> u8 {
    let settled =
        canonical_combining_class(character) == 0 && is_nfc_quick(std::iter::once(character)) == IsNormalized::Yes;
    classify_kind(character) as u8 | if settled { 0 } else { UNSETTLED }
}

fn classify_kind(character: char) -> Kind {
    use GeneralCategoryGroup as Group;
    match character.general_category_group() {
        Group::Mark => Kind::Mark,
        // Zero-width joiner and non-joiner shape a word without ending it.
        _ if matches!(character, '\u{200c}' | '\u{200d}') => Kind::Mark,
        Group::Letter | Group::Number if is_written_without_spaces(character) => Kind::Alone,
        Group::Letter | Group::Number => Kind::Word,
        _ if character.general_category() == GeneralCategory::ConnectorPunctuation => Kind::Word,
        _ if character.is_alphabetic() => Kind::Word,
        _ => Kind::Separator,
    }
}

/// Scripts in which a run of letters is a sentence, not a word.
fn is_written_without_spaces(character: char) -> bool {
    // Digits of these scripts make numbers, as digits do everywhere.
    if is_digit(character) {
        return false;
    }
    // Marks of length and iteration that several of these scripts share.
    if matches!(character, '\u{3005}'..='\u{3007}' | '\u{3031}'..='\u{3035}' | '\u{30fc}' | '\u{ff70}') {
        return true;
    }
    use Script::*;
    matches!(
        character.script(),
        Han | Hiragana
            | Katakana
            | Bopomofo
            | Yi
            | Tangut
            | Nushu
            | Khitan_Small_Script
            | Thai
            | Lao
            | Khmer
            | Myanmar
            | Tibetan
            | Tai_Le
            | New_Tai_Lue
            | Tai_Tham
            | Tai_Viet
            | Javanese
            | Balinese
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_characters() {
        for character in "aZ09_éßжעن한अ½".chars() {
            assert_eq!(kind(character), Kind::Word, "{character}");
        }
        for character in "中のアーไខက𠀀".chars() {
            assert_eq!(kind(character), Kind::Alone, "{character}");
        }
        for character in " \t\n.,-'“”…。、€+".chars() {
            assert_eq!(kind(character), Kind::Separator, "{character}");
        }
        for character in ['\u{301}', '\u{e34}', '\u{93e}', '\u{200d}', '\u{e0100}'] {
            assert_eq!(kind(character), Kind::Mark, "{character:?}");
        }
    }

    #[test]
    fn settled_characters_never_change_under_nfc() {
        use unicode_normalization::UnicodeNormalization;
        let settled: String = ('\0'..='\u{2ffff}').filter(|character| !is_unsettled(*character)).collect();
        assert!(settled.len() > 100_000);
        assert!(settled.nfc().eq(settled.chars()));
    }
}
