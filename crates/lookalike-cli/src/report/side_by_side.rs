//! Two texts side by side, cut into what both have and what only one has.

use std::ops::Range;

use lookalike::Plan;
use serde::Serialize;

/// Pieces of a text that are shown at most.
const MOST_PIECES: usize = 60;
/// Characters of a shared piece that are shown at each end, and of another piece in all.
const SHARED_ENDS: usize = 90;
const OTHER: usize = 600;

/// A piece of a text.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) shared: bool,
}

/// Both texts, in pieces.
#[derive(Debug, Serialize)]
pub(super) struct SideBySide {
    pub(super) left: Vec<Piece>,
    pub(super) right: Vec<Piece>,
}

impl SideBySide {
    pub(super) fn of(plan: &Plan, left: &str, right: &str) -> Self {
        let found = plan.compare(left, right);
        let (in_left, in_right): (Vec<_>, Vec<_>) =
            found.passages.iter().map(|passage| (passage.left.clone(), passage.right.clone())).unzip();
        Self { left: pieces(left, in_left), right: pieces(right, in_right) }
    }
}

/// What both texts have most of: the longest shared passage.
pub(super) fn longest_shared(plan: &Plan, left: &str, right: &str) -> Option<String> {
    let found = plan.compare(left, right);
    let longest = found.passages.iter().max_by_key(|passage| passage.left.len())?;
    Some(shortened(&left[longest.left.clone()], OTHER / 2))
}

fn pieces(text: &str, mut shared: Vec<Range<usize>>) -> Vec<Piece> {
    shared.sort_by_key(|range| (range.start, range.end));
    let mut pieces = Vec::new();
    let mut at = 0;
    for range in shared {
        let start = range.start.max(at);
        if start >= range.end {
            continue;
        }
        if at < start {
            pieces.push(Piece { text: shortened(&text[at..start], OTHER), shared: false });
        }
        pieces.push(Piece { text: shortened(&text[start..range.end], 2 * SHARED_ENDS), shared: true });
        at = range.end;
    }
    if at < text.len() {
        pieces.push(Piece { text: shortened(&text[at..], OTHER), shared: false });
    }
    if pieces.len() > MOST_PIECES {
        pieces.truncate(MOST_PIECES);
        pieces.push(Piece { text: " …".into(), shared: false });
    }
    pieces
}

/// A text without its middle, if it is longer than so many characters.
fn shortened(text: &str, most: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= most + 3 {
        return text.to_owned();
    }
    let (head, tail) = (&characters[..most / 2], &characters[characters.len() - most / 2..]);
    head.iter().chain(&[' ', '…', ' ']).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use lookalike::{Settings, Shingles};

    use super::*;

    #[test]
    fn pieces_are_the_text_again() {
        let plan = Settings::new(0.8).shingles(Shingles::words(2)).plan().unwrap();
        // So much between them that nobody takes them for one passage.
        let between = |word: &str| (0..40).map(|at| format!(" {word}{at}")).collect::<String>();
        let left = &format!("First, the quick brown fox{}. Then it slept.", between("a"));
        let right = &format!("The quick brown fox{}. Then it slept.", between("b"));
        let sides = SideBySide::of(&plan, left, right);
        let joined = |pieces: &[Piece]| pieces.iter().map(|piece| piece.text.as_str()).collect::<String>();
        assert_eq!((&joined(&sides.left), &joined(&sides.right)), (left, right));
        let shared: Vec<&str> =
            sides.left.iter().filter(|piece| piece.shared).map(|piece| piece.text.as_str()).collect();
        assert_eq!(shared, ["the quick brown fox", "Then it slept"]);
    }

    #[test]
    fn long_pieces_lose_their_middle() {
        let text = "ä".repeat(1_000);
        let short = shortened(&text, 20);
        assert_eq!(short.chars().count(), 23);
        assert!(short.starts_with("ää") && short.ends_with("ää") && short.contains('…'));
        assert_eq!(shortened("short", 20), "short");
    }
}
