//! Byte offsets as character offsets, for those who count in characters.

use std::ops::Range;

/// Turns byte offsets of a text into character offsets (Unicode code points).
///
/// ```
/// let text = "«Müller» geht";
/// assert_eq!(lookalike::Characters::of(text).span(&(2..9)), [1, 7]);
/// ```
#[derive(Clone, Debug)]
pub struct Characters(Option<Vec<usize>>);

impl Characters {
    /// The characters of a text.
    pub fn of(text: &str) -> Self {
        // In ASCII, they are the bytes.
        Self((!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect()))
    }

    /// The characters of a range of bytes: the first, and the one after the last.
    pub fn span(&self, bytes: &Range<usize>) -> [usize; 2] {
        [bytes.start, bytes.end].map(|byte| match &self.0 {
            Some(starts) => starts.partition_point(|at| *at < byte),
            None => byte,
        })
    }
}
