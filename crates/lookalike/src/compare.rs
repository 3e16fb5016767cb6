//! Two texts side by side: how alike they are, and which passages they share.

use crate::passages::{Passage, Tokens, shared_passages, taken_over};
use crate::plan::{Method, Plan};
use crate::settings::Shingles;
use crate::shingle::sort_distinct;
use crate::sketch::{MinHash, agreement};
use crate::verify::{ratio, shared};

/// How alike two texts are, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Shingles that both have.
    pub shared: usize,
    /// Different shingles of the left text.
    pub left_shingles: usize,
    /// Different shingles of the right text.
    pub right_shingles: usize,
    /// What the sketches say, where the plan has sketches.
    pub estimate: Option<Estimate>,
    /// What both have in common, in the order of the left text: verbatim, or with small edits. Passages may have moved.
    pub passages: Vec<Passage>,
    /// Passages whose words were changed or put in another order, as far as they are not among `passages`.
    pub reworded: Vec<Passage>,
}

/// An estimate of the Jaccard similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The share of agreeing slots.
    pub similarity: f64,
    /// Its standard error at most, √(s(1−s)/k).
    pub standard_error: f64,
}

impl Comparison {
    /// Shared shingles over all shingles of both.
    pub fn jaccard(&self) -> f64 {
        ratio(self.shared, self.left_shingles + self.right_shingles - self.shared)
    }

    /// How much of the left text is in the right one.
    pub fn left_in_right(&self) -> f64 {
        ratio(self.shared, self.left_shingles)
    }

    /// How much of the right text is in the left one.
    pub fn right_in_left(&self) -> f64 {
        ratio(self.shared, self.right_shingles)
    }
}

impl Plan {
    /// Compares two texts.
    pub fn compare(&self, left: &str, right: &str) -> Comparison {
        let settings = self.settings();
        let mut shingler = self.shingler();
        let mut distinct_shingles = |text: &str| {
            let mut shingles = Vec::new();
            shingler.append_text(text, &mut shingles);
            let distinct = sort_distinct(&mut shingles);
            shingles.truncate(distinct);
            shingles
        };
        let (left_set, right_set) = (distinct_shingles(left), distinct_shingles(right));
        let estimate = match self.method() {
            Method::Sketches(scheme) => {
                let minhash = MinHash::new(scheme.slots as usize, settings.seed);
                let agreeing = agreement(&minhash.sketch(&left_set), &minhash.sketch(&right_set));
                let either_empty = left_set.is_empty() || right_set.is_empty();
                let similarity = if either_empty { 0.0 } else { f64::from(agreeing) / f64::from(scheme.slots) };
                let standard_error = (similarity * (1.0 - similarity) / f64::from(scheme.slots)).sqrt();
                Some(Estimate { similarity, standard_error })
            }
            Method::InvertedLists | Method::Fingerprints(_) => None,
        };
        let cut = |text: &str| Tokens::of(settings.shingles, self.normalize(), text);
        let (left_tokens, right_tokens) = (cut(left), cut(right));
        let passages = shared_passages(&left_tokens, &right_tokens, settings.shingles.k());
        let reworded = match settings.shingles {
            Shingles::Words { .. } => not_among(&passages, taken_over(&left_tokens, &right_tokens)),
            Shingles::Chars { .. } | Shingles::Lines => Vec::new(),
        };
        Comparison {
            shared: shared(&left_set, &right_set),
            left_shingles: left_set.len(),
            right_shingles: right_set.len(),
            estimate,
            passages,
            reworded,
        }
    }

    /// The passages of the left text that were taken over from the right one, or into it: verbatim or reworded, in the
    /// order of the left text. Unlike the passages of [`Plan::compare`], phrases that any two texts share are none.
    ///
    /// Texts are cut into words, whatever the shingles of the plan.
    pub fn taken_over(&self, left: &str, right: &str) -> Vec<Passage> {
        taken_over(&self.words(left), &self.words(right))
    }

    /// The words of a text; normalised as the plan says if it is about words.
    pub(crate) fn words(&self, text: &str) -> Tokens {
        let words = Shingles::default();
        match self.settings().shingles {
            Shingles::Words { .. } => Tokens::of(words, self.normalize(), text),
            Shingles::Chars { .. } | Shingles::Lines => Tokens::of(words, words.default_normalize(), text),
        }
    }
}

/// Those that are not shared passages already, for the larger part.
fn not_among(passages: &[Passage], mut taken_over: Vec<Passage>) -> Vec<Passage> {
    taken_over.retain(|taken| {
        let covered = |passage: &Passage| {
            passage.left.end.min(taken.left.end).saturating_sub(passage.left.start.max(taken.left.start))
        };
        let overlapping = passages
            .iter()
            .filter(|passage| passage.right.start < taken.right.end && taken.right.start < passage.right.end);
        2 * overlapping.map(covered).sum::<usize>() < taken.left.len()
    });
    taken_over
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn compare<'a>(shingles: &str, left: &'a str, right: &'a str) -> (Comparison, Vec<(&'a str, &'a str)>) {
        let plan = Settings::new(0.8).shingles(shingles.parse().unwrap()).plan().unwrap();
        let comparison = plan.compare(left, right);
        let passages = comparison
            .passages
            .iter()
            .map(|passage| (&left[passage.left.clone()], &right[passage.right.clone()]))
            .collect();
        (comparison, passages)
    }

    #[test]
    fn passages_are_found_where_they_moved_to() {
        let left = "One two THREE four, five; six. Seven eight nine ten eleven.";
        let right = "seven eight (nine) ten eleven — and then: one two three four five six";
        let (comparison, passages) = compare("words:3", left, right);
        assert_eq!(
            passages,
            [
                ("One two THREE four, five; six", "one two three four five six"),
                ("Seven eight nine ten eleven", "seven eight (nine) ten eleven"),
            ]
        );
        assert_eq!(comparison.shared, 7);
        assert!(comparison.left_in_right() > comparison.jaccard());
    }

    #[test]
    fn spans_point_into_the_original() {
        let (_, passages) = compare("words:2", "Cafe\u{301} «Müller» x", "the CAFÉ müller is");
        assert_eq!(passages, [("Cafe\u{301} «Müller", "CAFÉ müller")]);
        let (_, passages) = compare("chars:4", "a   b c d!", "xa b c dx");
        assert_eq!(passages, [("a   b c d", "a b c d")]);
        let (_, passages) = compare("lines", "one\r\n  two \nthree\n", "zero\ntwo\nthree");
        assert_eq!(passages, [("  two \nthree", "two\nthree")]);
    }

    #[test]
    fn short_and_empty_texts() {
        assert_eq!(compare("words:5", "Hello world", "hello, world!").1, [("Hello world", "hello, world")]);
        assert!(compare("words:5", "hello", "hello world").1.is_empty());
        let (comparison, passages) = compare("words:5", "", "");
        assert!(passages.is_empty() && comparison.jaccard() == 0.0);
        assert_eq!(comparison.estimate.unwrap().similarity, 0.0);
    }

    #[test]
    fn small_edits_are_bridged() {
        let left = "It was the best of times, it was the worst of times, it was the age of wisdom.";
        let right = "Then: it was the best of times and it was the worst of all times; it was the age of wisdom";
        let (comparison, passages) = compare("words:3", left, right);
        assert_eq!(passages, [(&left[..left.len() - 1], &right[6..])]);
        assert_eq!(comparison.passages[0].tokens, 18);
        assert_eq!(comparison.passages[0].similarity, 18.0 / 20.0, "and, all were put in");
        let (comparison, _) = compare("words:5", "one two three four five", "One, two, three, four, five!");
        assert_eq!(comparison.passages[0].similarity, 1.0);
    }

    const MILL: &str = "The old mill beside the river was rebuilt after the flood of last spring. Its wheel drives two \
        generators that light the whole village. Visitors may climb to the loft on summer Sundays.";

    #[test]
    fn reworded_passages_are_found_by_their_words() {
        let reworded = "After last spring's flood, the old river mill was rebuilt. Two generators, which its wheel drives, \
            light the village. On Sundays in summer visitors may climb up to its loft.";
        let text = |middle: &str| {
            format!(
                "The council met on Monday about taxes and the school bus. {middle} The next meeting will be held in \
                 autumn, when the budget is known."
            )
        };
        let own = "A cook from the city opened a bakery last week. Bread is sold from six in the morning.";
        let (left, right) = (text(MILL), format!("{own} {reworded}"));
        let (comparison, passages) = compare("words:5", &left, &right);
        assert!(passages.is_empty(), "nothing is verbatim: {passages:?}");
        let found = &comparison.reworded[..];
        assert_eq!(found.len(), 1);
        assert_eq!(&left[found[0].left.clone()], &MILL[..MILL.len() - 1]);
        assert_eq!(&right[found[0].right.clone()], &reworded[..reworded.len() - 1]);
        assert!(found[0].similarity > 0.5 && found[0].similarity < 1.0);
        assert!(compare("words:5", &text(""), own).0.reworded.is_empty());
    }

    #[test]
    fn what_is_verbatim_is_not_called_reworded() {
        let (comparison, _) = compare("words:5", MILL, &MILL.to_uppercase());
        assert_eq!((comparison.passages.len(), comparison.reworded.len()), (1, 0));
        let plan = Settings::new(0.8).shingles("lines".parse().unwrap()).plan().unwrap();
        let taken =
            plan.taken_over(&format!("Something else first. {MILL}"), &format!("Not that. And {MILL} Nor this."));
        assert_eq!(taken.len(), 1);
        assert_eq!((taken[0].left.clone(), taken[0].similarity), (22..22 + MILL.len() - 1, 1.0));
    }

    #[test]
    fn books_of_common_words_take_near_linear_time() {
        // Eighty thousand words of a small vocabulary, in sentences: every word is in thousands of them.
        let mut random = crate::hash::SplitMix(7);
        let mut book = || -> String {
            let word = |at: usize| format!("w{}{}", random.below(400), if at % 13 == 12 { ". " } else { " " });
            (0..80_000).map(word).collect()
        };
        let (left, right) = (book(), book());
        let start = std::time::Instant::now();
        let (comparison, _) = compare("words:5", &left, &right);
        assert!(comparison.reworded.is_empty());
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    #[test]
    fn repetitive_texts_take_linear_time() {
        let litany = "a ".repeat(50_000);
        let (comparison, _) = compare("words:5", &litany, &litany);
        assert_eq!(comparison.jaccard(), 1.0);
        assert_eq!(comparison.passages.len(), 1);
    }
}
