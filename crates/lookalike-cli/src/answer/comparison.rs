//! How alike two texts are, and the passages they share, as JSON.

use lookalike::{Characters, Comparison, Passage};
use serde::Serialize;
use utoipa::ToSchema;

/// How alike two texts are, and where.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ComparisonAnswer {
    /// Shared shingles over all shingles of both.
    jaccard: f64,
    /// How much of the left text is in the right one.
    left_in_right: f64,
    /// How much of the right text is in the left one.
    right_in_left: f64,
    /// Shingles that both have.
    shared: usize,
    /// Different shingles of the left text.
    left_shingles: usize,
    /// Different shingles of the right text.
    right_shingles: usize,
    /// The Jaccard similarity that the sketches tell; null where the settings use none.
    estimate: Option<f64>,
    /// The standard error of that estimate.
    standard_error: Option<f64>,
    /// What both have in common, in the order of the left text: verbatim, or with small edits.
    passages: Vec<PassageAnswer>,
    /// Passages whose words were changed or put in another order, as far as they are not among `passages`.
    reworded: Vec<PassageAnswer>,
}

/// Something that both texts have. Spans are `[start, end)` in characters (Unicode code points), not bytes and not
/// UTF-16 units.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PassageAnswer {
    /// How many of its tokens both texts have.
    tokens: usize,
    /// How much of it is the same: those tokens over all tokens of its longer side. 1 if it is verbatim.
    similarity: f64,
    /// Where it stands in the left text.
    left: [usize; 2],
    /// Where it stands in the right text.
    right: [usize; 2],
    /// The passage as the left text has it.
    text: String,
}

impl ComparisonAnswer {
    pub(crate) fn new(comparison: &Comparison, left: &str, right: &str) -> Self {
        Self {
            jaccard: comparison.jaccard(),
            left_in_right: comparison.left_in_right(),
            right_in_left: comparison.right_in_left(),
            shared: comparison.shared,
            left_shingles: comparison.left_shingles,
            right_shingles: comparison.right_shingles,
            estimate: comparison.estimate.map(|estimate| estimate.similarity),
            standard_error: comparison.estimate.map(|estimate| estimate.standard_error),
            passages: passages_of(&comparison.passages, left, right),
            reworded: passages_of(&comparison.reworded, left, right),
        }
    }
}

/// Passages, their spans in characters.
pub(crate) fn passages_of(passages: &[Passage], left: &str, right: &str) -> Vec<PassageAnswer> {
    let (in_left, in_right) = (Characters::of(left), Characters::of(right));
    let passages = passages.iter().map(|passage| PassageAnswer {
        tokens: passage.tokens,
        similarity: passage.similarity,
        left: in_left.span(&passage.left),
        right: in_right.span(&passage.right),
        text: left[passage.left.clone()].to_owned(),
    });
    passages.collect()
}

#[cfg(test)]
mod tests {
    use lookalike::{Settings, Shingles};

    use super::*;

    #[test]
    fn spans_count_characters() {
        let plan = Settings::new(0.8).shingles(Shingles::words(2)).plan().unwrap();
        let (left, right) = ("𝄞 «Müller» geht", "der Müller geht");
        let answer = ComparisonAnswer::new(&plan.compare(left, right), left, right);
        assert_eq!((answer.passages[0].left, answer.passages[0].right), ([3, 15], [4, 15]));
        assert_eq!(answer.passages[0].text, "Müller» geht");
    }
}
