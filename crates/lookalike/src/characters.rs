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

/// What there is to know of a character: its kind, and what normalisation does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class(u8);

/// The bits of a kind.
const KIND: u8 = 3;
/// The bit of characters that normal form C may join with others or write in another way.
const COMPOSES: u8 = 4;
/// The bit of marks whose order matters in normal form C.
const IS_ORDERED: u8 = 8;
/// The bit of characters that [`lowered`] makes others of.
const IS_CAPITAL: u8 = 16;

impl Class {
    /// The class of a character. It is looked up in a table, of which a page is made when it is first needed.
    #[inline]
    pub(crate) fn of(character: char) -> Self {
        const PAGE: usize = 256;
        /// What is beyond is rare.
        const PAGES: usize = 0x2_0000 / PAGE;
        static CLASSES: [OnceLock<[Class; PAGE]>; PAGES] = [const { OnceLock::new() }; PAGES];
        let code = u32::from(character) as usize;
        let Some(page) = CLASSES.get(code / PAGE) else { return Self::find(character) };
        let make = || {
            let first = code / PAGE * PAGE;
            std::array::from_fn(|at| char::from_u32((first + at) as u32).map_or(Self(0), Self::find))
        };
        page.get_or_init(make)[code % PAGE]
    }

    fn find(character: char) -> Self {
        let bit = |bit: u8, is_set: bool| if is_set { bit } else { 0 };
        let composes = is_nfc_quick(std::iter::once(character)) != IsNormalized::Yes;
        let is_ordered = canonical_combining_class(character) != 0;
        let is_capital = !lowered(character).eq([character]);
        let normalisation = bit(COMPOSES, composes) | bit(IS_ORDERED, is_ordered) | bit(IS_CAPITAL, is_capital);
        Self(classify(character) as u8 | normalisation)
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        match self.0 & KIND {
            0 => Kind::Separator,
            1 => Kind::Word,
            2 => Kind::Alone,
            _ => Kind::Mark,
        }
    }

    /// Whether a text that holds this character may change under normal form C.
    #[inline]
    pub(crate) fn is_unsettled(self) -> bool {
        self.0 & (COMPOSES | IS_ORDERED) != 0
    }

    /// Whether nothing happens to it, and it is part of a word or between words like those of ASCII.
    #[inline]
    pub(crate) fn is_plain(self) -> bool {
        self.0 <= Kind::Word as u8
    }

    /// Whether [`lowered`] makes another character of it.
    #[inline]
    pub(crate) fn is_capital(self) -> bool {
        self.0 & IS_CAPITAL != 0
    }
}

/// The part that a character plays in a word.
#[inline]
pub(crate) fn kind(character: char) -> Kind {
    Class::of(character).kind()
}

/// The character in lower case. The form of sigma at the end of a word becomes the other one: their capital is the same.
pub(crate) fn lowered(character: char) -> impl Iterator<Item = char> {
    (if character == 'ς' { 'σ' } else { character }).to_lowercase()
}

/// Takes the characters of a text, one after the other, as long as they surely are in normal form C.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Composed {
    /// The place of the last character among marks of one letter; 0 if it is none.
    order: u8,
}

impl Composed {
    /// Whether the text is still in normal form C with this character. If not, it may be or not.
    #[inline]
    pub(crate) fn take(&mut self, character: char, class: Class) -> bool {
        if class.is_unsettled() { self.take_unsettled(character, class) } else { self.take_settled() }
    }

    /// The same for a character that never changes, as those of ASCII do not.
    #[inline]
    pub(crate) fn take_settled(&mut self) -> bool {
        self.order = 0;
        true
    }

    fn take_unsettled(&mut self, character: char, class: Class) -> bool {
        let before = std::mem::replace(&mut self.order, canonical_combining_class(character));
        class.0 & COMPOSES == 0 && before <= self.order
    }
}

/// Whether the text surely is in normal form C.
pub(crate) fn is_composed(text: &str) -> bool {
    let mut composed = Composed::default();
    text.chars().all(|character| match character.is_ascii() {
        true => composed.take_settled(),
        false => composed.take(character, Class::of(character)),
    })
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

fn classify(character: char) -> Kind {
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
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

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
        let settled: String = ('\0'..='\u{2ffff}').filter(|character| !Class::of(*character).is_unsettled()).collect();
        assert!(settled.len() > 100_000);
        assert!(settled.nfc().eq(settled.chars()));
    }

    #[test]
    fn texts_of_scripts_with_marks_are_in_normal_form() {
        for text in ["हिन्दी में", "ที่นี่", "שָׁלוֹם", "tiếng Việt", "한국어"]
        {
            assert!(is_composed(text), "{text}");
        }
        for text in ["e\u{301}", "\u{5c1}\u{5b8}", "q\u{307}\u{323}", "\u{1100}\u{1161}", "\u{212b}", "\u{958}"] {
            assert!(!is_composed(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_composed_does_not_change_under_nfc(text in "[a\u{e9}\u{300}-\u{330}\u{5b0}-\u{5c4}\u{93c}\u{94d}\u{e38}\u{e48}\u{1161}]{0,6}|\\PC{0,6}") {
            prop_assert!(!is_composed(&text) || text.nfc().eq(text.chars()));
        }
    }
}
