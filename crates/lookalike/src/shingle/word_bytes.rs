//! The words of a text as bytes: in canonical form, and with a bit for each byte that is part of a word.
//!
//! ASCII is copied 64 bytes at a time, whatever stands around it; other characters are looked up one by one. `words.rs` is the
//! reference that this must equal. What it leaves to the reference are texts that normalisation changes beyond lower case.

use super::ascii::{self, BLOCK};
use crate::characters::{Class, Composed, Kind, lowered};
use crate::hash::{PADDING, hash_token};
use crate::settings::{Normalize, Step};

/// The most bytes that a block can become. A character grows by half at most, and of two neighbours only one can need a byte that
/// sets it apart.
const GROWN_BLOCK: usize = 2 * BLOCK;

/// A buffer for one text after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct WordBytes {
    bytes: Vec<u8>,
    /// A bit for each byte that is part of a word. Words are at least one byte apart, whether or not they are in the text.
    masks: Vec<u64>,
}

impl WordBytes {
    /// Takes a text in. Gives false, with the buffers in any state, where normalisation may change more than letters.
    pub(super) fn fill(&mut self, text: &str, steps: Normalize) -> bool {
        // They change ASCII too.
        if steps.has(Step::Punct) || steps.has(Step::Digits) {
            return false;
        }
        self.masks.clear();
        let mut writer = Writer {
            bytes: &mut self.bytes,
            masks: &mut self.masks,
            length: 0,
            open: 0,
            lower: steps.has(Step::Lower),
            needs_composing: steps.has(Step::Nfc),
            composed: Composed::default(),
            is_alone: false,
        };
        let changes_others = steps.has(Step::Nfkc) || steps.has(Step::Accents);
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            rest = writer.push_ascii(rest);
            let mut mixed = writer.next_block(rest);
            if mixed.others != 0 {
                if changes_others {
                    return false;
                }
                mixed.find_plain();
            }
            if !writer.push_mixed(&mixed) {
                return false;
            }
            rest = &rest[mixed.length..];
        }
        writer.finish();
        true
    }

    /// Appends the hash of every word.
    pub(super) fn hash_words(&self, tokens: &mut Vec<u64>) {
        // The start of a word that runs on into the next block.
        let mut open: Option<usize> = None;
        for (block, mask) in self.masks.iter().enumerate() {
            let base = block * BLOCK;
            let mut edges = mask ^ (mask << 1 | u64::from(open.is_some()));
            if let Some(start) = open {
                if edges == 0 {
                    continue;
                }
                tokens.push(hash_token(&self.bytes, start, base + edges.trailing_zeros() as usize));
                edges &= edges - 1;
            }
            // Edges now alternate: a start, an end, a start, ….
            while edges != 0 {
                let start = base + edges.trailing_zeros() as usize;
                edges &= edges - 1;
                if edges == 0 {
                    open = Some(start);
                    break;
                }
                let end = base + edges.trailing_zeros() as usize;
                edges &= edges - 1;
                tokens.push(hash_token(&self.bytes, start, end));
            }
            if mask >> (BLOCK - 1) == 0 {
                open = None;
            }
        }
        if let Some(start) = open {
            tokens.push(hash_token(&self.bytes, start, self.masks.len() * BLOCK));
        }
    }
}

/// A block that is not all ASCII, or the last one.
struct Mixed {
    /// Its bytes, those of ASCII in canonical form, and some behind them that mean nothing.
    bytes: [u8; 2 * BLOCK],
    /// How many bytes are in the block. It ends where a character ends.
    length: usize,
    /// Which of them are part of a word, among those that are plain.
    words: u64,
    /// Which of them are of characters that are not plain.
    others: u64,
}

impl Mixed {
    /// Finds the plain ones among the characters that are not ASCII.
    fn find_plain(&mut self) {
        let mut rest = self.others;
        while rest != 0 {
            let at = rest.trailing_zeros() as usize;
            let (character, length) = self.character(at);
            if at + length > self.length {
                // It is in the next block too.
                self.length = at;
                return;
            }
            let class = Class::of(character);
            let bytes = ones(length) << at;
            rest &= !bytes;
            if class.is_plain() {
                self.others &= !bytes;
                self.words |= if class.kind() == Kind::Word { bytes } else { 0 };
            }
        }
    }

    /// The character beyond ASCII that begins at this byte, and how many bytes it has.
    #[inline]
    fn character(&self, at: usize) -> (char, usize) {
        let [first, second, third, fourth] = [0, 1, 2, 3].map(|next| u32::from(self.bytes[at + next]));
        let (code, length) = match first {
            ..0xe0 => ((first & 0x1f) << 6 | second & 0x3f, 2),
            0xe0..0xf0 => ((first & 0xf) << 12 | (second & 0x3f) << 6 | third & 0x3f, 3),
            _ => ((first & 7) << 18 | (second & 0x3f) << 12 | (third & 0x3f) << 6 | fourth & 0x3f, 4),
        };
        // The text is UTF-8, so that it is one, unless the block ends here.
        (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), length)
    }
}

/// Where a text is written to.
struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
    masks: &'a mut Vec<u64>,
    /// How many bytes are written.
    length: usize,
    /// The bits of the bytes since the last whole mask.
    open: u64,
    lower: bool,
    needs_composing: bool,
    composed: Composed,
    /// Whether the last character is a word by itself, with the marks behind it.
    is_alone: bool,
}

impl Writer<'_> {
    /// Appends all whole blocks up to the first that is not all ASCII, and gives what is left.
    fn push_ascii<'t>(&mut self, text: &'t [u8]) -> &'t [u8] {
        // What has grown is never cleared again.
        let needed = self.length + text.len() + 2 * GROWN_BLOCK + PADDING;
        if self.bytes.len() < needed {
            self.bytes.resize(needed, 0);
        }
        if text.len() < BLOCK {
            return text;
        }
        if self.is_alone && text[0].is_ascii() {
            self.is_alone = false;
            self.push_bits(0, 1);
        }
        let first = self.masks.len();
        let whole = &text[..text.len() / BLOCK * BLOCK];
        if ascii::classify(whole, self.lower, &mut self.bytes[self.length..], self.masks) != 0 {
            self.masks.pop();
        }
        let bytes = (self.masks.len() - first) * BLOCK;
        if bytes > 0 {
            self.composed.take_settled();
        }
        let shift = self.length % BLOCK;
        if shift > 0 {
            for mask in &mut self.masks[first..] {
                let behind = *mask >> (BLOCK - shift);
                *mask = self.open | *mask << shift;
                self.open = behind;
            }
        }
        self.length += bytes;
        &text[bytes..]
    }

    /// The first block of a text, or all of it.
    fn next_block(&mut self, text: &[u8]) -> Mixed {
        let length = text.len().min(BLOCK);
        let mut block = [0; BLOCK];
        block[..length].copy_from_slice(&text[..length]);
        let mut mixed = Mixed { bytes: [0; 2 * BLOCK], length, words: 0, others: 0 };
        mixed.others = ascii::classify(&block, self.lower, &mut mixed.bytes, self.masks);
        mixed.words = self.masks.pop().unwrap_or_default();
        mixed
    }

    /// Appends a block. Gives false if the text may not be in normal form C, and has to be.
    fn push_mixed(&mut self, mixed: &Mixed) -> bool {
        // Plain bytes are copied as a whole block, whatever their number.
        let target = self.bytes[self.length..].first_chunk_mut::<{ GROWN_BLOCK + BLOCK }>().expect("room was made");
        let (mut done, mut written, mut bits) = (0, 0, 0u128);
        while done < mixed.length {
            let plain = ((mixed.others >> done).trailing_zeros() as usize).min(mixed.length - done);
            if plain > 0 {
                written += usize::from(self.is_alone);
                self.is_alone = false;
                self.composed.take_settled();
                target[written..written + BLOCK].copy_from_slice(&mixed.bytes[done..done + BLOCK]);
                bits |= u128::from(mixed.words >> done & ones(plain)) << written;
                written += plain;
                done += plain;
                continue;
            }
            let (character, length) = mixed.character(done);
            let class = Class::of(character);
            if self.needs_composing && !self.composed.take(character, class) {
                return false;
            }
            let mut push = |kind: Kind, bytes: &[u8; 4], length: usize| {
                if kind == Kind::Separator {
                    self.is_alone = false;
                    written += 1;
                    return;
                }
                // A byte of no word stands between what is written without one.
                written += usize::from(kind == Kind::Alone || self.is_alone && kind == Kind::Word);
                self.is_alone = kind == Kind::Alone || self.is_alone && kind == Kind::Mark;
                target[written..written + 4].copy_from_slice(bytes);
                bits |= u128::from(ones(length)) << written;
                written += length;
            };
            if self.lower && class.is_capital() {
                for character in lowered(character) {
                    let mut bytes = [0; 4];
                    let length = character.encode_utf8(&mut bytes).len();
                    push(Class::of(character).kind(), &bytes, length);
                }
            } else {
                push(class.kind(), mixed.bytes[done..].first_chunk().expect("there are more"), length);
            }
            done += length;
        }
        self.push_bits(bits as u64, written.min(BLOCK));
        self.push_bits((bits >> BLOCK) as u64, written.saturating_sub(BLOCK));
        true
    }

    /// Says of so many bytes, a block at the most, which are part of a word.
    #[inline]
    fn push_bits(&mut self, bits: u64, count: usize) {
        let shift = self.length % BLOCK;
        self.open |= bits << shift;
        if shift + count >= BLOCK {
            self.masks.push(self.open);
            self.open = if shift == 0 { 0 } else { bits >> (BLOCK - shift) };
        }
        self.length += count;
    }

    fn finish(&mut self) {
        if !self.length.is_multiple_of(BLOCK) {
            self.masks.push(self.open);
        }
    }
}

/// So many bits.
#[inline]
fn ones(count: usize) -> u64 {
    u64::MAX >> (BLOCK - count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_grows_by_more_than_half() {
        for character in ('\u{80}'..=char::MAX).filter(|character| Class::of(*character).is_capital()) {
            let grown: usize = lowered(character).map(char::len_utf8).sum();
            assert!(2 * grown <= 3 * character.len_utf8(), "{character}");
            assert!(lowered(character).all(|character| Class::of(character).kind() != Kind::Alone), "{character}");
        }
    }
}
