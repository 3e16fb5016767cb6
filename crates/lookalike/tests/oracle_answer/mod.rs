//! The answer by definition: sets of strings, every pair compared, groups as DESIGN says them. Slow and plain.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use lookalike::{Grouping, Keep, Measure, Settings, Shingles};

use crate::random::Random;

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Text(String),
    Set(Vec<String>),
}

/// The field that a keep order reads.
#[derive(Clone, Debug)]
pub(crate) enum Field {
    Missing,
    Number(f64),
    Text(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) content: Content,
    pub(crate) score: Field,
    pub(crate) within: Option<String>,
}

/// Records in input order; the first so many are old.
#[derive(Clone, Debug)]
pub(crate) struct Corpus {
    pub(crate) records: Vec<Record>,
    pub(crate) old: usize,
}

/// Similarities by (left, right): for containment, of the left one in the right one.
pub(crate) type Pairs = BTreeMap<(usize, usize), f64>;

pub(crate) struct Answer {
    /// For a record that is dropped, its keeper and how alike they are.
    pub(crate) keeper_of: Vec<Option<(usize, f64)>>,
}

/// What texts are made of: few words, so that shingles repeat.
const PIECES: [&str; 8] = ["a", "b", "Cat", "dog_1", "a_rather_long_word", "7", "is", "B"];
const GAPS: [&str; 6] = [" ", " ", "  ", ", ", "\n", " -- "];

impl Record {
    pub(crate) fn draw(random: &mut Random, is_set: bool) -> Self {
        // None at all and very few are common on purpose.
        let length = [0, 1, 2, 3, 6, 12][random.below(6)];
        let content = if is_set {
            Content::Set((0..length).map(|_| random.below(20).to_string()).collect())
        } else {
            let mut text = String::new();
            for _ in 0..length {
                text += PIECES[random.below(PIECES.len())];
                text += GAPS[random.below(GAPS.len())];
            }
            Content::Text(if length == 0 && random.below(2) == 0 { " \n ".into() } else { text })
        };
        Self { content, score: Field::Missing, within: None }
    }

    /// One word or item more.
    pub(crate) fn change(&mut self, random: &mut Random) {
        match &mut self.content {
            Content::Set(items) => items.push(random.below(20).to_string()),
            Content::Text(text) => {
                let piece = format!(" {} ", PIECES[random.below(PIECES.len())]);
                let places: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
                let at = if places.is_empty() { 0 } else { places[random.below(places.len())] };
                text.insert_str(at, &piece);
            }
        }
    }

    /// The elements that the record is compared by.
    fn set(&self, settings: &Settings) -> HashSet<String> {
        let text = match &self.content {
            Content::Set(items) => return items.iter().cloned().collect(),
            Content::Text(text) => text,
        };
        let one_space = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (tokens, k, step): (Vec<String>, usize, usize) = match settings.shingles {
            Shingles::Words { k, step } => {
                let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                (words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect(), k, step)
            }
            Shingles::Chars { k, step } => (one_space(text).chars().map(String::from).collect(), k, step),
            Shingles::Lines => (text.split('\n').map(one_space).filter(|line| !line.is_empty()).collect(), 1, 1),
        };
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut start = 0;
        while start < tokens.len() {
            let end = (start + k).min(tokens.len());
            // A window is counted however often it comes; the bag tells the times apart.
            *seen.entry(tokens[start..end].join("\u{1}")).or_default() += 1;
            start = if end == tokens.len() { tokens.len() } else { start + step };
        }
        let times = |count: usize| if settings.bag { count } else { 1 };
        seen.into_iter()
            .flat_map(|(shingle, count)| (0..times(count)).map(move |time| format!("{shingle}\u{2}{time}")))
            .collect()
    }

    fn length(&self) -> usize {
        match &self.content {
            Content::Text(text) => text.chars().count(),
            Content::Set(items) => items.iter().collect::<HashSet<_>>().len(),
        }
    }
}

impl Corpus {
    pub(crate) fn sets(&self, settings: &Settings) -> Vec<HashSet<String>> {
        self.records.iter().map(|record| record.set(settings)).collect()
    }

    /// All records, the most preferred first.
    fn keep_order(&self, keep: &Keep) -> Vec<usize> {
        let preference = |left: &usize, right: &usize| {
            let (a, b) = (&self.records[*left], &self.records[*right]);
            let by_keep = match keep {
                Keep::First => left.cmp(right),
                Keep::Last => right.cmp(left),
                Keep::Longest => b.length().cmp(&a.length()),
                Keep::Shortest => a.length().cmp(&b.length()),
                Keep::Max(_) => by_kind(&a.score, &b.score).then_with(|| by_value(&b.score, &a.score)),
                Keep::Min(_) => by_kind(&a.score, &b.score).then_with(|| by_value(&a.score, &b.score)),
            };
            (*left >= self.old).cmp(&(*right >= self.old)).then(by_keep).then(left.cmp(right))
        };
        let mut order: Vec<usize> = (0..self.records.len()).collect();
        order.sort_by(preference);
        order
    }
}

/// Numbers, then strings, then what is missing, whichever way the values go.
fn by_kind(left: &Field, right: &Field) -> Ordering {
    let kind = |field: &Field| match field {
        Field::Number(_) => 0,
        Field::Text(_) => 1,
        Field::Missing => 2,
    };
    kind(left).cmp(&kind(right))
}

/// Numbers by value, strings by bytes.
fn by_value(left: &Field, right: &Field) -> Ordering {
    match (left, right) {
        (Field::Number(left), Field::Number(right)) => left.partial_cmp(right).unwrap(),
        (Field::Text(left), Field::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        _ => Ordering::Equal,
    }
}

fn similarity(left: &HashSet<String>, right: &HashSet<String>, measure: Measure) -> f64 {
    let shared = left.intersection(right).count() as f64;
    match measure {
        Measure::Jaccard => shared / left.union(right).count() as f64,
        Measure::Containment => shared / left.len() as f64,
    }
}

/// Every pair that is alike: not both old, neither empty, the same field where only that may be compared.
pub(crate) fn pairs(corpus: &Corpus, sets: &[HashSet<String>], settings: &Settings) -> Pairs {
    let mut pairs = Pairs::new();
    for left in 0..sets.len() {
        for right in 0..sets.len() {
            let once = left < right || (left != right && settings.measure == Measure::Containment);
            let comparable = (left >= corpus.old || right >= corpus.old)
                && !sets[left].is_empty()
                && !sets[right].is_empty()
                && corpus.records[left].within == corpus.records[right].within;
            if once && comparable {
                let similarity = similarity(&sets[left], &sets[right], settings.measure);
                if similarity >= settings.threshold {
                    pairs.insert((left, right), similarity);
                }
            }
        }
    }
    pairs
}

/// Groups over these pairs.
pub(crate) fn group(corpus: &Corpus, sets: &[HashSet<String>], pairs: &Pairs, settings: &Settings) -> Answer {
    match settings.group {
        Grouping::Anchored => anchored(corpus, pairs, settings),
        Grouping::Connected => connected(corpus, sets, pairs, settings),
    }
}

/// The greedy pass in keep order: a record joins its most similar keeper, among equals the earlier, or becomes one.
fn anchored(corpus: &Corpus, pairs: &Pairs, settings: &Settings) -> Answer {
    let alike = |record: usize, keeper: usize| {
        let key = match settings.measure {
            Measure::Jaccard => (record.min(keeper), record.max(keeper)),
            Measure::Containment => (record, keeper),
        };
        pairs.get(&key).copied()
    };
    let mut keepers: Vec<usize> = Vec::new();
    let mut keeper_of = vec![None; corpus.records.len()];
    for record in corpus.keep_order(&settings.keep) {
        let mut best: Option<(usize, f64)> = None;
        for keeper in keepers.iter().filter(|_| record >= corpus.old) {
            if let Some(similarity) = alike(record, *keeper)
                && best.is_none_or(|(_, most)| similarity > most)
            {
                best = Some((*keeper, similarity));
            }
        }
        keeper_of[record] = best;
        if best.is_none() {
            keepers.push(record);
        }
    }
    Answer { keeper_of }
}

/// Whoever can be reached over pairs is one group; its first in keep order is kept, and so is whatever is old.
fn connected(corpus: &Corpus, sets: &[HashSet<String>], pairs: &Pairs, settings: &Settings) -> Answer {
    let mut keeper_of = vec![None; corpus.records.len()];
    let mut reached = vec![false; corpus.records.len()];
    for keeper in corpus.keep_order(&settings.keep) {
        if reached[keeper] {
            continue;
        }
        reached[keeper] = true;
        let mut open = vec![keeper];
        while let Some(record) = open.pop() {
            if record != keeper && record >= corpus.old {
                keeper_of[record] = Some((keeper, similarity(&sets[record], &sets[keeper], settings.measure)));
            }
            for (left, right) in pairs.keys() {
                for (from, to) in [(*left, *right), (*right, *left)] {
                    if from == record && !reached[to] {
                        reached[to] = true;
                        open.push(to);
                    }
                }
            }
        }
    }
    Answer { keeper_of }
}
