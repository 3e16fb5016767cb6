//! Where a text may be cut into sentences, in any script: what reworded passages are made of.

use std::ops::Range;

/// A sentence of fewer tokens is joined with the next: alone it says nothing.
const FEWEST: usize = 3;
/// A longer one is cut: lists and tables have no full stops.
const MOST: usize = 60;

/// The sentences of a text as ranges of its tokens; `spans` says where each token stands in the text.
pub(crate) fn sentences(text: &str, spans: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut sentences = Vec::new();
    let mut start = 0;
    // Nothing lies between two tokens that normalisation made of one character, such as ㎧ (m∕s).
    let between = |next: usize| text.get(spans[next - 1].end..spans[next].start).unwrap_or_default();
    for next in 1..=spans.len() {
        let length = next - start;
        let ends = next == spans.len() || length >= MOST || length >= FEWEST && ends_sentence(between(next));
        if ends {
            sentences.push(start..next);
            start = next;
        }
    }
    // What is left over at the end belongs to the sentence before it.
    if let [.., before, last] = sentences.as_mut_slice()
        && last.len() < FEWEST
        && before.len() + last.len() <= MOST
    {
        before.end = last.end;
        sentences.pop();
    }
    sentences
}

/// Whether the characters between two tokens end a sentence.
fn ends_sentence(between: &str) -> bool {
    let mut characters = between.chars().peekable();
    let mut lines = 0;
    while let Some(character) = characters.next() {
        match character {
            // In scripts written without spaces, nothing needs to follow.
            '。' | '！' | '？' | '｡' | '।' | '۔' | '؟' => return true,
            // A point inside a number or a name is followed by the next token at once.
            '.' | '!' | '?' | '…' if characters.peek().is_some() => return true,
            '\n' => lines += 1,
            _ => {}
        }
        if lines > 1 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        let mut spans = Vec::new();
        crate::shingle::for_each_word(text, |span| spans.push(span));
        let cut = sentences(text, &spans);
        cut.iter().map(|range| text[spans[range.start].start..spans[range.end - 1].end].to_owned()).collect()
    }

    #[test]
    fn sentences_end_where_readers_end_them() {
        assert_eq!(
            cut("It cost 3.50 then. Who paid for it? \"We did!\" Nobody else was there"),
            ["It cost 3.50 then", "Who paid for it", "We did!\" Nobody else was there"]
        );
        assert_eq!(cut("Title of this\n\nfirst line of\na paragraph"), ["Title of this", "first line of\na paragraph"]);
        assert_eq!(cut("今日は晴れ。明日は雨。"), ["今日は晴れ", "明日は雨"]);
    }

    #[test]
    fn tokens_may_come_from_the_same_character() {
        // ㎧ between two words: two tokens, of which both stand where it does.
        assert_eq!(sentences("at ㎧ now", &[0..2, 3..6, 3..6, 7..10]), vec![Range { start: 0, end: 4 }]);
    }

    #[test]
    fn the_rest_joins_what_is_before_it() {
        assert_eq!(cut("One two three four. Five."), ["One two three four. Five"]);
        assert_eq!(cut("Two words"), ["Two words"]);
        assert!(cut(" … ").is_empty());
        assert_eq!(cut(&"word ".repeat(150)).len(), 3);
    }
}
