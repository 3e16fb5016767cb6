//! Which parts of a document come from where, as JSON.

use lookalike::{Explanation, Source};
use serde::Serialize;

use super::comparison::{PassageAnswer, passages_of};

/// Where the parts of a document come from.
#[derive(Debug, Serialize)]
pub(crate) struct SourcesAnswer {
    /// Characters of the document.
    characters: usize,
    /// Those of them that some source explains.
    covered: usize,
    /// Their share.
    coverage: f64,
    /// References that the document was compared with.
    references: usize,
    /// The sources, best explanation first.
    sources: Vec<SourceAnswer>,
}

/// A source.
#[derive(Debug, Serialize)]
struct SourceAnswer {
    id: String,
    /// The share of the document that is in this source.
    coverage: f64,
    /// The share that no source before it explains.
    explains: f64,
    /// What both have; left is the document, right the source.
    passages: Vec<PassageAnswer>,
}

impl SourcesAnswer {
    /// `named` gives the id and the text of a source.
    pub(crate) fn new<'a>(
        explanation: &Explanation,
        document: &str,
        references: usize,
        named: impl Fn(&Source) -> (&'a str, &'a str),
    ) -> Self {
        let share = |characters: usize| characters as f64 / explanation.characters.max(1) as f64;
        let sources = explanation.sources.iter().map(|source| {
            let (id, text) = named(source);
            SourceAnswer {
                id: id.to_owned(),
                coverage: share(source.covered),
                explains: share(source.explained),
                passages: passages_of(&source.passages, document, text),
            }
        });
        Self {
            characters: explanation.characters,
            covered: explanation.covered,
            coverage: explanation.coverage(),
            references,
            sources: sources.collect(),
        }
    }
}
