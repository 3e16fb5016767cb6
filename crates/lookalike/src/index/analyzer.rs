//! What an index keeps of a content, and what it is looked up by.

use std::sync::{Mutex, PoisonError};

use crate::band::BandKeys;
use crate::batch::Content;
use crate::plan::{Method, Plan, Scheme};
use crate::shingle::{Shingler, sort_distinct};
use crate::sketch::{EMPTY_SLOT, MinHash, Sketch};

use super::table::key_of;

/// Cuts contents into sets, sketches and keys, as a plan says.
#[derive(Debug)]
pub(super) struct Analyzer {
    plan: Plan,
    sketching: Option<(MinHash, BandKeys)>,
    /// The probability with which what is as alike as the plan asks is found. Costs more to compute than a query.
    promise: f64,
    fingerprint: u64,
    /// As many as queries were ever taken apart at the same time.
    shinglers: Mutex<Vec<Shingler>>,
}

/// As many elements as many contents have.
const COMMON_ELEMENTS: usize = 512;

/// A content, taken apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Analyzed {
    /// Its elements, sorted, each once.
    pub(super) set: Vec<u64>,
    /// The lower halves of its MinHash values; none without sketches.
    pub(super) slots: Vec<u16>,
    /// The keys that it is found under; none for an empty content.
    pub(super) keys: Vec<u32>,
}

impl Analyzed {
    /// Sorts the elements, and leaves each once.
    pub(super) fn sort(&mut self) {
        let distinct = sort_distinct(&mut self.set);
        self.set.truncate(distinct);
    }

    /// What is looked up under these keys.
    pub(super) fn of_keys(keys: impl Iterator<Item = u32>) -> Self {
        let mut keys: Vec<u32> = keys.collect();
        keys.sort_unstable();
        keys.dedup();
        Self { keys, ..Self::default() }
    }

    /// A set as it is looked up without sketches.
    pub(super) fn of_set(set: Vec<u64>) -> Self {
        let mut keys: Vec<u32> = set.iter().map(|element| key_of(*element)).collect();
        // Two elements may have the same 32 bits.
        keys.dedup();
        Self { set, slots: Vec::new(), keys }
    }
}

/// The elements of a content, in no order, repeats among them.
fn elements(shingler: &mut Shingler, content: Content<'_>) -> Vec<u64> {
    let mut elements = Vec::with_capacity(COMMON_ELEMENTS);
    shingler.append(content, &mut elements);
    elements
}

impl Analyzer {
    pub(super) fn new(plan: &Plan) -> Self {
        let seed = plan.settings().seed;
        let sketching = match plan.method() {
            Method::Sketches(scheme) => Some((MinHash::new(scheme.slots as usize, seed), BandKeys::new(&scheme, seed))),
            Method::InvertedLists | Method::Fingerprints(_) => None,
        };
        Self {
            plan: plan.clone(),
            sketching,
            promise: plan.finds(plan.settings().threshold),
            fingerprint: plan.fingerprint(),
            shinglers: Mutex::default(),
        }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The least probability with which something is found that is as alike as the plan asks, or more.
    pub(super) fn promise(&self) -> f64 {
        self.promise
    }

    /// Whether a sketch is one of the plan's.
    pub(super) fn made(&self, sketch: &Sketch) -> bool {
        self.sketching.is_some() && sketch.fingerprint() == self.fingerprint
    }

    /// How candidates are found, if by sketches.
    pub(super) fn scheme(&self) -> Option<Scheme> {
        match self.plan.method() {
            Method::Sketches(scheme) => Some(scheme),
            Method::InvertedLists | Method::Fingerprints(_) => None,
        }
    }

    /// MinHash values of an item.
    pub(super) fn slots(&self) -> usize {
        self.sketching.as_ref().map_or(0, |(minhash, _)| minhash.slots())
    }

    /// Takes a content apart that is asked about. Its elements are not sorted yet, which only those who compare them need.
    pub(super) fn analyze_unsorted(&self, content: Content<'_>) -> Analyzed {
        let idle = || self.shinglers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shingler = idle().pop().unwrap_or_else(|| self.plan.shingler());
        let set = elements(&mut shingler, content);
        idle().push(shingler);
        self.sketch(set)
    }

    /// Takes a content apart that is put into the index.
    pub(super) fn analyze(&self, shingler: &mut Shingler, content: Content<'_>) -> Analyzed {
        let elements = elements(shingler, content);
        let selected = match (self.plan.method(), content) {
            (Method::Fingerprints(selection), Content::Text(_)) => {
                let mut selected = Vec::new();
                selection.append(&elements, &mut selected);
                Some(selected)
            }
            _ => None,
        };
        let mut analyzed = self.sketch(elements);
        analyzed.sort();
        match (&self.sketching, selected) {
            (Some(_), _) => analyzed,
            (None, None) => Analyzed::of_set(analyzed.set),
            (None, Some(selected)) => {
                Analyzed { set: analyzed.set, ..Analyzed::of_keys(selected.into_iter().map(key_of)) }
            }
        }
    }

    /// Finds slots and keys, if there are sketches.
    fn sketch(&self, set: Vec<u64>) -> Analyzed {
        match &self.sketching {
            Some((minhash, _)) if !set.is_empty() => {
                let sketched = self.analyze_sketch(&minhash.sketch(&set));
                Analyzed { set, ..sketched }
            }
            Some((minhash, _)) => Analyzed { slots: vec![EMPTY_SLOT as u16; minhash.slots()], ..Analyzed::default() },
            None => Analyzed { set, ..Analyzed::default() },
        }
    }

    /// What a sketch alone tells: its slots and its keys.
    pub(super) fn analyze_sketch(&self, sketch: &[u32]) -> Analyzed {
        let Some((_, band_keys)) = &self.sketching else { return Analyzed::default() };
        let mut keys = Vec::new();
        band_keys.append(sketch, 0, &mut keys);
        let slots = sketch.iter().map(|slot| *slot as u16).collect();
        Analyzed { slots, ..Analyzed::of_keys(keys.into_iter().map(key_of)) }
    }
}
