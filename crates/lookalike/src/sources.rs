//! Which parts of a document come from where: the fewest sources that explain most of it, best first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::passages::{Passage, Tokens, shared_passages, taken_over};
use crate::plan::Plan;
use crate::spans::Characters;

/// The shortest run of tokens that counts as a quotation by itself; common phrases are shorter.
const SHORTEST_QUOTATION: usize = 12;
/// The shingles that quotations are found by.
const K: usize = 5;

/// A document whose sources are looked for. References are shown to it one by one, on any threads.
///
/// ```
/// use lookalike::Settings;
///
/// let mill = "The old mill beside the river was rebuilt after the flood of last spring, and its wheel drives two generators.";
/// let essay = format!("I went for a walk. {mill} I liked it.");
/// let plan = Settings::default().plan()?;
/// let document = plan.document(&essay);
/// let references = ["Nothing of the kind is written here.", mill];
/// let found = references.iter().map(|reference| document.passages_from(reference)).enumerate().collect();
/// let explained = document.explain(found);
/// assert_eq!(explained.sources[0].reference, 1);
/// assert!(explained.coverage() > 0.7);
/// # Ok::<(), lookalike::Error>(())
/// ```
#[derive(Debug)]
pub struct Document<'a> {
    plan: &'a Plan,
    words: Tokens,
    in_characters: Characters,
    /// For each character, whether it is looked at.
    counts: Vec<bool>,
}

/// Where the parts of a document come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The sources: first the one that explains most of the document, then the one that explains most of the rest, ….
    /// Those that explain nothing new are left out.
    pub sources: Vec<Source>,
    /// Characters of the document that some source explains.
    pub covered: usize,
    /// Characters of the document, without those that are ignored.
    pub characters: usize,
}

/// A source of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Which reference it is.
    pub reference: usize,
    /// What both have; the document is the left text. In the order of the document.
    pub passages: Vec<Passage>,
    /// Characters of the document in these passages.
    pub covered: usize,
    /// Those of them that no better source explains.
    pub explained: usize,
}

impl Explanation {
    /// How much of the document is explained.
    pub fn coverage(&self) -> f64 {
        self.covered as f64 / self.characters.max(1) as f64
    }
}

impl Plan {
    /// A document whose sources are looked for. It is cut into words, normalised as the plan says.
    pub fn document(&self, text: &str) -> Document<'_> {
        Document {
            plan: self,
            words: self.words(text),
            in_characters: Characters::of(text),
            counts: vec![true; text.chars().count()],
        }
    }
}

impl Document<'_> {
    /// Leaves out what the document has from a template: it needs no source, and is no part of what is to be explained.
    pub fn ignore(&mut self, template: &str) {
        for passage in shared_passages(&self.words, &self.plan.words(template), K) {
            let [from, to] = self.in_characters.span(&passage.left);
            self.counts[from..to].fill(false);
        }
    }

    /// What the document may have from this reference: passages that were taken over, and quotations that are too short
    /// for that.
    pub fn passages_from(&self, reference: &str) -> Vec<Passage> {
        let reference = self.plan.words(reference);
        let mut passages = taken_over(&self.words, &reference);
        let quotations = shared_passages(&self.words, &reference, K).into_iter();
        let quotations: Vec<Passage> = quotations
            .filter(|quotation| quotation.tokens >= SHORTEST_QUOTATION)
            .filter(|quotation| passages.iter().all(|taken| !overlaps(&taken.left, &quotation.left)))
            .collect();
        passages.extend(quotations);
        passages.sort_by_key(|passage| (passage.left.start, passage.right.start));
        passages
    }

    /// Chooses the sources that explain most of the document, best first; among equals the earlier reference.
    pub fn explain(&self, found: Vec<(usize, Vec<Passage>)>) -> Explanation {
        let mut found = found;
        for (_, passages) in &mut found {
            passages.retain(|passage| {
                let [from, to] = self.in_characters.span(&passage.left);
                self.counts[from..to].contains(&true)
            });
        }
        let spans: Vec<Vec<[usize; 2]>> = found
            .iter()
            .map(|(_, passages)| passages.iter().map(|passage| self.in_characters.span(&passage.left)).collect())
            .collect();
        // What does not count is as good as covered from the beginning.
        let nothing: Vec<bool> = self.counts.iter().map(|counts| !counts).collect();
        let mut covered = nothing.clone();
        let count = |spans: &[[usize; 2]], covered: &[bool]| {
            let mut end = 0;
            let mut characters = 0;
            for [from, to] in spans {
                let from = (*from).max(end);
                characters += covered[from.min(*to)..*to].iter().filter(|covered| !**covered).count();
                end = end.max(*to);
            }
            characters
        };
        let alone: Vec<usize> = spans.iter().map(|spans| count(spans, &nothing)).collect();
        // What a source explains of the rest only ever shrinks, so an old count is a bound that need not be renewed before
        // it comes to the top.
        let mut heap: BinaryHeap<(usize, Reverse<(usize, usize)>)> = alone
            .iter()
            .zip(&found)
            .enumerate()
            .map(|(at, (characters, (reference, _)))| (*characters, Reverse((*reference, at))))
            .collect();
        let mut order = Vec::new();
        while let Some((_, Reverse((reference, at)))) = heap.pop() {
            let explained = count(&spans[at], &covered);
            if explained == 0 {
                continue;
            }
            let renewed = (explained, Reverse((reference, at)));
            if heap.peek().is_some_and(|next| *next > renewed) {
                heap.push(renewed);
                continue;
            }
            spans[at].iter().for_each(|[from, to]| covered[*from..*to].fill(true));
            order.push((at, explained));
        }
        let sources = order.into_iter().map(|(at, explained)| {
            let (reference, passages) = std::mem::take(&mut found[at]);
            Source { reference, passages, covered: alone[at], explained }
        });
        let sources: Vec<Source> = sources.collect();
        Explanation {
            covered: sources.iter().map(|source| source.explained).sum(),
            sources,
            characters: self.counts.iter().filter(|counts| **counts).count(),
        }
    }
}

fn overlaps(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn passage(left: Range<usize>) -> Passage {
        Passage { right: left.clone(), left, tokens: 1, similarity: 1.0 }
    }

    #[test]
    fn the_source_that_explains_most_of_the_rest_comes_next() {
        let plan = Settings::default().plan().unwrap();
        let text = "x".repeat(100);
        let document = plan.document(&text);
        let explained = document.explain(vec![
            (0, vec![passage(0..40)]),
            (1, vec![passage(10..70)]),
            (2, vec![passage(30..60)]),
            (3, vec![passage(60..75), passage(70..95)]),
            (4, Vec::new()),
        ]);
        let order: Vec<(usize, usize, usize)> =
            explained.sources.iter().map(|source| (source.reference, source.covered, source.explained)).collect();
        assert_eq!(order, [(1, 60, 60), (3, 35, 25), (0, 40, 10)]);
        assert_eq!((explained.covered, explained.coverage()), (95, 0.95));
    }

    #[test]
    fn among_equals_the_earlier_reference() {
        let plan = Settings::default().plan().unwrap();
        let document = plan.document("äöü and so on");
        let explained = document.explain(vec![(7, vec![passage(0..6)]), (3, vec![passage(0..6)])]);
        assert_eq!(explained.sources.len(), 1);
        assert_eq!((explained.sources[0].reference, explained.covered), (3, 3), "characters, not bytes");
        assert_eq!(plan.document("").explain(Vec::new()).coverage(), 0.0);
    }

    #[test]
    fn what_is_ignored_needs_no_source() {
        let plan = Settings::default().plan().unwrap();
        let licence = "permission is hereby granted free of charge to any person obtaining a copy of this software";
        let own = "and here is what the author of this program wants to say about the weather in spring";
        let text = format!("{licence}. {own}");
        let mut document = plan.document(&text);
        let found = |document: &Document<'_>| {
            document.explain(vec![(0, document.passages_from(licence)), (1, document.passages_from(own))])
        };
        let both: Vec<usize> = found(&document).sources.iter().map(|source| source.reference).collect();
        assert_eq!(both, [0, 1]);
        document.ignore(licence);
        let explained = found(&document);
        assert_eq!((explained.sources.len(), explained.sources[0].reference), (1, 1));
        assert_eq!((explained.covered, explained.characters), (own.len(), own.len() + 2));
    }

    #[test]
    fn short_quotations_count_and_phrases_do_not() {
        let plan = Settings::default().plan().unwrap();
        let quotation = "to be or not to be that is the question whether tis nobler";
        let document =
            plan.document("As the poet has it, to be or not to be, that is the question whether 'tis nobler. So.");
        assert_eq!(document.passages_from(&format!("Hamlet says: {quotation} in the mind")).len(), 1);
        assert!(document.passages_from("that is the question whether it rains").is_empty());
    }
}
