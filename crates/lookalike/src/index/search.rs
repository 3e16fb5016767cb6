//! What in an index is like this?

use std::cmp::Reverse;

use super::analyzer::Analyzed;
use super::live::Live;
use super::snapshot::Snapshot;
use super::table::item_of;
use crate::batch::Content;
use crate::error::{Error, Result};
use crate::exact::prefix_length;
use crate::plan::Method;
use crate::settings::Measure;
use crate::sketch::{Sketch, agreement};
use crate::verify::{ratio, shared};

/// Items under one key that are looked at, the newest first. More than these are copies of each other, or boilerplate.
pub const MOST_UNDER_A_KEY: usize = 2_000;

/// What is asked of an index.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// How alike an item must be. `None`: as alike as the index was made for; or, with a limit, however little.
    pub threshold: Option<f64>,
    /// How many items are wanted at most, the best of them.
    pub limit: Option<usize>,
    /// What "alike" means, if not what it means for the index. Containment: how much of what is asked about is in the item.
    pub measure: Option<Measure>,
    /// Whether the texts of the items are wanted too, if they are stored.
    pub with_text: bool,
}

/// What an index answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The items that are alike, best first; among equals the oldest first.
    pub matches: Vec<Match>,
    /// Items whose elements were compared.
    pub compared: u64,
    /// Keys that had more items than are looked at; the newest were.
    pub bounded: u64,
    /// The least probability with which an item at the threshold is found. `None` if it is below the one that the index
    /// was made for: then as much is found as turns up. `None` also with fingerprints, which promise that every item is
    /// found that shares a long enough run ([`crate::Selection::sure_run`]).
    pub promise: Option<f64>,
}

/// An item that is alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The item's id.
    pub id: String,
    /// How alike it is, exactly; an estimate only where a sketch was asked about.
    pub similarity: f64,
    /// The item's sequence.
    pub sequence: u64,
    /// When the item was written, in milliseconds since 1970.
    pub time: u64,
    /// Its text, if it was asked for and is stored.
    pub text: Option<String>,
}

/// An item: which segment, and which of its items.
type Place = (u32, u32);

impl Snapshot {
    /// The items that are like this.
    pub fn query(&self, content: Content<'_>, query: &Query) -> Result<Answer> {
        let analyzer = &self.0.analyzer;
        let mut asked = analyzer.analyze_unsorted(content);
        let (threshold, promise) = self.aim(query)?;
        let measure = query.measure.unwrap_or(self.plan().settings().measure);
        if analyzer.scheme().is_some() && measure == Measure::Containment {
            return Err(Error::setting("an index with sketches does not tell what is contained in what")
                .advise("build one with --exact or --measure containment"));
        }
        let mut answer = Answer { matches: Vec::new(), compared: 0, bounded: 0, promise };
        let candidates = match analyzer.scheme() {
            Some(scheme) => {
                // Below what the index was made for, whatever turns up is looked at.
                let least = if promise.is_some() { scheme.least_agreement } else { 0 };
                let mut candidates = self.under_keys(&asked, &mut answer.bounded)?;
                let slots: Vec<u8> = asked.slots.iter().map(|slot| *slot as u8).collect();
                self.keep_agreeing(&mut candidates, least, &slots)?;
                if !candidates.is_empty() {
                    asked.sort();
                }
                candidates
            }
            None => {
                asked.sort();
                asked = Analyzed::of_set(asked.set);
                match self.plan().method() {
                    // All that is asked about is looked up among what was selected of the items.
                    Method::Fingerprints(_) => self.under_keys(&asked, &mut answer.bounded)?,
                    _ => self.in_lists(&asked, threshold.unwrap_or(0.0))?,
                }
            }
        };
        let mut found = Vec::new();
        for place in candidates {
            if let Some(similarity) =
                self.verify(place, &asked, measure, threshold.unwrap_or(0.0), &mut answer.compared)?
            {
                found.push((similarity, place));
            }
        }
        answer.matches = self.matches(found, query)?;
        Ok(answer)
    }

    /// The items that are like the document of this sketch. Similarities are estimates: without its text, its elements are
    /// not known.
    pub fn query_sketch(&self, sketch: &Sketch, query: &Query) -> Result<Answer> {
        if !self.0.analyzer.made(sketch) {
            return Err(Error::setting("the sketch was made by another plan than that of the index")
                .advise("sketch the document with the plan of the index, or ask about its text"));
        }
        let (threshold, promise) = self.aim(query)?;
        let mut answer = Answer { matches: Vec::new(), compared: 0, bounded: 0, promise };
        if sketch.is_empty() {
            return Ok(answer);
        }
        let asked = self.0.analyzer.analyze_sketch(sketch.slots());
        let slots = asked.slots.len() as f64;
        let mut found = Vec::new();
        for place in self.under_keys(&asked, &mut answer.bounded)? {
            answer.compared += 1;
            let similarity = f64::from(agreement(self.live(place).segment.slots(place.1)?, &asked.slots)) / slots;
            if similarity >= threshold.unwrap_or(0.0) {
                found.push((similarity, place));
            }
        }
        answer.matches = self.matches(found, query)?;
        Ok(answer)
    }

    /// The threshold that is asked for, if any, and what is promised there.
    fn aim(&self, query: &Query) -> Result<(Option<f64>, Option<f64>)> {
        let made_for = self.plan().settings().threshold;
        let threshold = match (query.threshold, query.limit) {
            (None, Some(_)) => None,
            (threshold, _) => Some(threshold.unwrap_or(made_for)),
        };
        if threshold.is_some_and(|threshold| !(threshold > 0.0 && threshold <= 1.0)) {
            return Err(Error::setting(format!("the threshold {} is out of range", threshold.unwrap_or_default()))
                .advise("choose one above 0 and up to 1, such as 0.8"));
        }
        let promise = match (self.0.analyzer.scheme(), threshold) {
            // What shares a long enough run is found, however alike it is; that is no probability.
            (None, _) if matches!(self.plan().method(), Method::Fingerprints(_)) => None,
            (None, _) => Some(1.0),
            (Some(_), Some(threshold)) if threshold >= made_for => Some(self.0.analyzer.promise()),
            _ => None,
        };
        Ok((threshold, promise))
    }

    fn live(&self, place: Place) -> &Live {
        &self.0.lives[place.0 as usize]
    }

    /// The items that share a key, each once.
    pub(super) fn under_keys(&self, asked: &Analyzed, bounded: &mut u64) -> Result<Vec<Place>> {
        let lives = &self.0.lives;
        // In rounds, for most of this is in memory that nobody has looked at lately: what a round looks at is fetched while
        // the one before is at work.
        let lookups = || asked.keys.iter().flat_map(|key| lives.iter().map(|live| (*key, &live.segment)));
        lookups().for_each(|(key, segment)| segment.prefetch_key(key));
        let mut near = Vec::with_capacity(asked.keys.len() * lives.len());
        for (key, segment) in lookups() {
            let found = segment.near_key(key)?;
            found.prefetch();
            near.push(found);
        }
        let mut places = Vec::new();
        for near in near.chunks(lives.len().max(1)) {
            let start = places.len();
            for ((at, live), near) in (0u32..).zip(lives).zip(near) {
                let newest_first = near.under_key().iter().rev().map(|entry| item_of(*entry));
                let there = newest_first.filter(|item| !live.is_deleted(*item));
                places.extend(there.take(MOST_UNDER_A_KEY + 1).map(|item| (at, item)));
            }
            if places.len() - start > MOST_UNDER_A_KEY {
                *bounded += 1;
                let newest = self.newest(places.split_off(start))?;
                places.extend(newest);
            }
        }
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    /// As many as are looked at under a key, the newest.
    fn newest(&self, places: Vec<Place>) -> Result<Vec<Place>> {
        let dated = places.into_iter().map(|place| Ok((self.live(place).segment.sequence(place.1)?, place)));
        let mut dated = dated.collect::<Result<Vec<_>>>()?;
        dated.sort_unstable_by_key(|(sequence, _)| Reverse(*sequence));
        dated.truncate(MOST_UNDER_A_KEY);
        Ok(dated.into_iter().map(|(_, place)| place).collect())
    }

    /// Keeps what agrees in so many MinHash values, by their least bytes: what a batch run keeps of them.
    pub(super) fn keep_agreeing(&self, places: &mut Vec<Place>, least: u32, asked: &[u8]) -> Result<()> {
        let agreement = |slots: &[u16]| -> u32 {
            slots.iter().zip(asked).map(|(slot, asked)| u32::from(*slot as u8 == *asked)).sum()
        };
        let mut result = Ok(());
        places.retain(|place| match self.live(*place).segment.slots(place.1) {
            Ok(slots) => agreement(slots) >= least,
            Err(error) => {
                result = Err(error);
                false
            }
        });
        result
    }

    /// The items that share one of the rarest elements: no other can be as alike as the threshold asks.
    pub(super) fn in_lists(&self, asked: &Analyzed, threshold: f64) -> Result<Vec<Place>> {
        let mut counted = Vec::with_capacity(asked.keys.len());
        for key in &asked.keys {
            let counts = self.0.lives.iter().map(|live| live.segment.with_key(*key).map(<[u64]>::len));
            counted.push((counts.sum::<Result<usize>>()?, *key));
        }
        counted.sort_unstable();
        // Elements that share their 32 bits are one key, so there may be fewer keys than elements.
        let doubled = asked.set.len() - asked.keys.len();
        counted.truncate(prefix_length(asked.set.len(), threshold) + doubled);
        let mut places = Vec::new();
        for (_, key) in counted {
            for (at, live) in (0u32..).zip(&self.0.lives) {
                let items = live.segment.with_key(key)?.iter().map(|entry| item_of(*entry));
                places.extend(items.filter(|item| !live.is_deleted(*item)).map(|item| (at, item)));
            }
        }
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    /// How alike an item is, if it is alike enough.
    fn verify(
        &self,
        place: Place,
        asked: &Analyzed,
        measure: Measure,
        threshold: f64,
        compared: &mut u64,
    ) -> Result<Option<f64>> {
        let segment = &self.live(place).segment;
        let (ours, theirs) = (asked.set.len(), segment.set_size(place.1)?);
        let at_most = match measure {
            Measure::Jaccard => ratio(ours.min(theirs), ours.max(theirs)),
            Measure::Containment => ratio(theirs.min(ours), ours),
        };
        if at_most < threshold {
            return Ok(None);
        }
        *compared += 1;
        let shared = shared(&asked.set, segment.set(place.1)?);
        let similarity = match measure {
            Measure::Jaccard => ratio(shared, ours + theirs - shared),
            Measure::Containment => ratio(shared, ours),
        };
        Ok((shared > 0 && similarity >= threshold).then_some(similarity))
    }

    /// What was found, best first, as far as it is wanted.
    fn matches(&self, found: Vec<(f64, Place)>, query: &Query) -> Result<Vec<Match>> {
        let dated = found
            .into_iter()
            .map(|(similarity, place)| Ok((similarity, self.live(place).segment.sequence(place.1)?, place)));
        let mut dated = dated.collect::<Result<Vec<_>>>()?;
        dated.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        dated.truncate(query.limit.unwrap_or(usize::MAX));
        let matches = dated.into_iter().map(|(similarity, sequence, place)| {
            let segment = &self.live(place).segment;
            let text = if query.with_text { segment.text(place.1)?.map(str::to_owned) } else { None };
            Ok(Match { id: segment.id(place.1)?.into(), similarity, sequence, time: segment.time(place.1)?, text })
        });
        matches.collect()
    }
}
