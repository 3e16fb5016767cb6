//! What the user asks for: plain data, the same for Rust, the command line, files and services.
//!
//! Settings may contradict each other; [`Settings::plan`] checks and resolves them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::fingerprint::Selection;
use crate::plan::Plan;

/// Everything that decides an answer. Nothing here depends on the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How alike two records must be, 0 < t ≤ 1.
    pub threshold: f64,
    /// The least probability with which a pair at the threshold is found, 0 < p < 1.
    pub recall: f64,
    /// What "alike" means.
    pub measure: Measure,
    /// What a text is cut into.
    pub shingles: Shingles,
    /// Whether a shingle that occurs twice counts twice.
    pub bag: bool,
    /// What is made equal before shingling; `None`: what fits the shingles.
    pub normalize: Option<Normalize>,
    /// How many MinHash values a record gets; `None`: as many as the bands need.
    pub hashes: Option<u32>,
    /// The banding; `None`: chosen from threshold and recall.
    pub bands: Option<Bands>,
    /// How candidates are checked.
    pub verify: Verify,
    /// Compare through inverted lists, without sketches: nothing is missed.
    pub exact: bool,
    /// Which shingles of a text containment is looked for by; `None`: winnowing with windows of 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprints: Option<Selection>,
    /// How pairs become groups.
    pub group: Grouping,
    /// Which record of a group is kept.
    pub keep: Keep,
    /// Where the randomness of the sketch starts.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threshold: 0.8,
            recall: 0.99,
            measure: Measure::Jaccard,
            shingles: Shingles::default(),
            bag: false,
            normalize: None,
            hashes: None,
            bands: None,
            verify: Verify::Exact,
            exact: false,
            fingerprints: None,
            group: Grouping::Anchored,
            keep: Keep::First,
            seed: 1,
        }
    }
}

impl Settings {
    /// The defaults at this threshold.
    pub fn new(threshold: f64) -> Self {
        Self { threshold, ..Self::default() }
    }

    /// Sets the probability with which a pair at the threshold is found.
    pub fn recall(self, recall: f64) -> Self {
        Self { recall, ..self }
    }

    /// Sets what "alike" means.
    pub fn measure(self, measure: Measure) -> Self {
        Self { measure, ..self }
    }

    /// Sets what a text is cut into.
    pub fn shingles(self, shingles: Shingles) -> Self {
        Self { shingles, ..self }
    }

    /// Counts repeated shingles.
    pub fn bag(self, bag: bool) -> Self {
        Self { bag, ..self }
    }

    /// Sets what is made equal before shingling.
    pub fn normalize(self, normalize: Normalize) -> Self {
        Self { normalize: Some(normalize), ..self }
    }

    /// Sets the number of MinHash values.
    pub fn hashes(self, hashes: u32) -> Self {
        Self { hashes: Some(hashes), ..self }
    }

    /// Sets the banding.
    pub fn bands(self, bands: Bands) -> Self {
        Self { bands: Some(bands), ..self }
    }

    /// Sets how candidates are checked.
    pub fn verify(self, verify: Verify) -> Self {
        Self { verify, ..self }
    }

    /// Compares through inverted lists, without sketches.
    pub fn exact(self, exact: bool) -> Self {
        Self { exact, ..self }
    }

    /// Sets which shingles of a text containment is looked for by.
    pub fn fingerprints(self, selection: Selection) -> Self {
        Self { fingerprints: Some(selection), ..self }
    }

    /// Sets how pairs become groups.
    pub fn group(self, group: Grouping) -> Self {
        Self { group, ..self }
    }

    /// Sets which record of a group is kept.
    pub fn keep(self, keep: Keep) -> Self {
        Self { keep, ..self }
    }

    /// Sets where the randomness of the sketch starts.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Checks the settings and decides what they leave open.
    pub fn plan(self) -> Result<Plan> {
        Plan::new(self)
    }
}

/// What "alike" means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Shared elements over all elements of both.
    #[default]
    Jaccard,
    /// Shared elements over the elements of one: how much of it is in the other.
    Containment,
}

/// How candidates are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// By their shingle sets. Every reported similarity is exact.
    #[default]
    Exact,
    /// By their sketches: pairs whose estimate reaches the threshold. Similarities are estimates.
    Estimate,
    /// By the edits that make one text out of the other: 1 − edits / the longer one, in characters of the normalised texts.
    Edit,
    /// Not at all: every candidate is a pair. Similarities are estimates.
    Off,
}

/// How pairs become groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grouping {
    /// Every member is alike to the group's keeper.
    #[default]
    Anchored,
    /// Every member is alike to some other member; chains can join what is not alike.
    Connected,
}

/// What a text is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Shingles {
    /// Runs of consecutive words. A word is a run of letters, digits, marks and underscores; in scripts written without
    /// spaces, every character is one.
    Words {
        /// Words in a shingle.
        k: usize,
        /// Words from the start of one shingle to the next.
        step: usize,
    },
    /// Runs of consecutive characters.
    Chars {
        /// Characters in a shingle.
        k: usize,
        /// Characters from the start of one shingle to the next.
        step: usize,
    },
    /// Lines that are not blank.
    Lines,
}

impl Default for Shingles {
    fn default() -> Self {
        Self::words(5)
    }
}

impl Shingles {
    /// Every run of `k` words.
    pub const fn words(k: usize) -> Self {
        Self::Words { k, step: 1 }
    }

    /// Every run of `k` characters.
    pub const fn chars(k: usize) -> Self {
        Self::Chars { k, step: 1 }
    }

    /// How many tokens make a shingle.
    pub fn k(self) -> usize {
        match self {
            Self::Words { k, .. } | Self::Chars { k, .. } => k,
            Self::Lines => 1,
        }
    }

    /// How many tokens lie from the start of one shingle to the next.
    pub fn step(self) -> usize {
        match self {
            Self::Words { step, .. } | Self::Chars { step, .. } => step,
            Self::Lines => 1,
        }
    }

    /// What is made equal by default.
    pub fn default_normalize(self) -> Normalize {
        match self {
            Self::Words { .. } => Normalize::NONE.with(Step::Nfc).with(Step::Lower),
            Self::Chars { .. } | Self::Lines => Normalize::NONE.with(Step::Space),
        }
    }
}

impl fmt::Display for Shingles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, k, step) = match self {
            Self::Words { k, step } => ("words", k, step),
            Self::Chars { k, step } => ("chars", k, step),
            Self::Lines => return formatter.write_str("lines"),
        };
        write!(formatter, "{name}:{k}")?;
        if *step == 1 { Ok(()) } else { write!(formatter, "/{step}") }
    }
}

impl FromStr for Shingles {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::setting(format!("\"{text}\" is no kind of shingle"))
                .advise("write auto, words:5, words:5/5, chars:9 or lines")
        };
        let number = |digits: &str| digits.parse().ok().filter(|number| (1..=1000).contains(number)).ok_or_else(wrong);
        match text {
            "auto" => return Ok(Self::default()),
            "lines" => return Ok(Self::Lines),
            _ => {}
        }
        let (kind, size) = text.split_once(':').ok_or_else(wrong)?;
        let (k, step) = match size.split_once('/') {
            Some((k, step)) => (number(k)?, number(step)?),
            None => (number(size)?, 1),
        };
        if step > k {
            return Err(Error::setting(format!("the step of \"{text}\" would leave out tokens"))
                .advise("choose a step no larger than the shingle"));
        }
        match kind {
            "words" => Ok(Self::Words { k, step }),
            "chars" => Ok(Self::Chars { k, step }),
            _ => Err(wrong()),
        }
    }
}

/// One thing that normalisation makes equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Canonically equivalent texts become the same (Unicode NFC).
    Nfc,
    /// Compatible characters become the same, such as ﬁ and fi (Unicode NFKC).
    Nfkc,
    /// Capitals become small letters.
    Lower,
    /// Punctuation and symbols become spaces.
    Punct,
    /// Runs of white space become one space; none at the ends.
    Space,
    /// Accents are taken off.
    Accents,
    /// Every decimal digit becomes 0.
    Digits,
}

impl Step {
    /// Every step with its name, in the order in which they are done.
    pub const NAMES: [(&'static str, Step); 7] = [
        ("nfc", Step::Nfc),
        ("nfkc", Step::Nfkc),
        ("lower", Step::Lower),
        ("accents", Step::Accents),
        ("digits", Step::Digits),
        ("punct", Step::Punct),
        ("space", Step::Space),
    ];

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// What normalisation makes equal: a set of [`Step`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Normalize(u8);

impl Normalize {
    /// The text as it is.
    pub const NONE: Self = Self(0);

    /// One step more.
    pub fn with(self, step: Step) -> Self {
        Self(self.0 | step.bit())
    }

    /// Whether a step is taken.
    pub fn has(self, step: Step) -> bool {
        self.0 & step.bit() != 0
    }
}

impl fmt::Display for Normalize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Step::NAMES.iter().filter(|(_, step)| self.has(*step)).map(|(name, _)| *name).collect();
        formatter.write_str(if names.is_empty() { "none" } else { "" })?;
        formatter.write_str(&names.join(","))
    }
}

impl FromStr for Normalize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut normalize = Self::NONE;
        for name in text.split(',').map(str::trim).filter(|name| !matches!(*name, "" | "none")) {
            let step =
                Step::NAMES.iter().find(|(known, _)| *known == name).map(|(_, step)| *step).ok_or_else(|| {
                    let known: Vec<_> = Step::NAMES.iter().map(|(known, _)| *known).collect();
                    Error::setting(format!("\"{name}\" is no step of normalisation"))
                        .advise(format!("write a list of {}, or none", known.join(", ")))
                })?;
            normalize = normalize.with(step);
        }
        Ok(normalize)
    }
}

/// A banding: which slots of the sketch make a key, and how many keys there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Bands {
    /// `bands` disjoint runs of `rows` slots each.
    Disjoint {
        /// Keys of a record.
        bands: u32,
        /// Slots that make a key.
        rows: u32,
    },
    /// `keys` times `rows` slots drawn at random; slots may serve in several keys.
    Random {
        /// Keys of a record.
        keys: u32,
        /// Slots that make a key.
        rows: u32,
    },
}

impl Bands {
    /// How many keys a record has.
    pub fn keys(self) -> u32 {
        match self {
            Self::Disjoint { bands, .. } => bands,
            Self::Random { keys, .. } => keys,
        }
    }

    /// How many slots make a key.
    pub fn rows(self) -> u32 {
        match self {
            Self::Disjoint { rows, .. } | Self::Random { rows, .. } => rows,
        }
    }
}

impl fmt::Display for Bands {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disjoint { bands, rows } => write!(formatter, "{bands}x{rows}"),
            Self::Random { keys, rows } => write!(formatter, "random:{keys}x{rows}"),
        }
    }
}

impl FromStr for Bands {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::setting(format!("\"{text}\" is no banding"))
                .advise("write BANDSxROWS such as 16x6, or random:125x3, both numbers at least 1")
        };
        let (random, size) = match text.strip_prefix("random:") {
            Some(size) => (true, size),
            None => (false, text),
        };
        let (count, rows) = size.split_once(['x', '×']).ok_or_else(wrong)?;
        let number =
            |digits: &str| digits.parse().ok().filter(|number| (1..=65_536).contains(number)).ok_or_else(wrong);
        let (count, rows) = (number(count)?, number(rows)?);
        Ok(if random { Self::Random { keys: count, rows } } else { Self::Disjoint { bands: count, rows } })
    }
}

/// Which record of a group is kept. Ties go by input order.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Keep {
    /// The first in the input.
    #[default]
    First,
    /// The last in the input.
    Last,
    /// The longest text, in characters, or the largest set.
    Longest,
    /// The shortest text, in characters, or the smallest set.
    Shortest,
    /// The one with the greatest value in this field.
    Max(String),
    /// The one with the least value in this field.
    Min(String),
}

impl Keep {
    /// The field that the order reads, if it reads one.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Max(field) | Self::Min(field) => Some(field),
            _ => None,
        }
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => formatter.write_str("first"),
            Self::Last => formatter.write_str("last"),
            Self::Longest => formatter.write_str("longest"),
            Self::Shortest => formatter.write_str("shortest"),
            Self::Max(field) => write!(formatter, "max:{field}"),
            Self::Min(field) => write!(formatter, "min:{field}"),
        }
    }
}

impl FromStr for Keep {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "first" => Ok(Self::First),
            "last" => Ok(Self::Last),
            "longest" => Ok(Self::Longest),
            "shortest" => Ok(Self::Shortest),
            _ => match text.split_once(':') {
                Some(("max", field)) if !field.is_empty() => Ok(Self::Max(field.into())),
                Some(("min", field)) if !field.is_empty() => Ok(Self::Min(field.into())),
                _ => Err(Error::setting(format!("\"{text}\" is no keep order"))
                    .advise("write first, last, longest, shortest, max:FIELD or min:FIELD")),
            },
        }
    }
}

/// Lets a setting with a textual form be read and written as that text.
macro_rules! serialize_as_text {
    ($($setting:ty),*) => {$(
        impl TryFrom<String> for $setting {
            type Error = Error;

            fn try_from(text: String) -> Result<Self> {
                text.parse()
            }
        }

        impl From<$setting> for String {
            fn from(setting: $setting) -> String {
                setting.to_string()
            }
        }
    )*};
}

serialize_as_text!(Shingles, Normalize, Bands, Keep);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_read_back_as_written() {
        for text in ["words:5", "words:5/5", "chars:9", "lines"] {
            assert_eq!(text.parse::<Shingles>().unwrap().to_string(), text);
        }
        assert_eq!("auto".parse::<Shingles>().unwrap(), Shingles::words(5));
        for text in ["16x6", "random:125x3"] {
            assert_eq!(text.parse::<Bands>().unwrap().to_string(), text);
        }
        for text in ["first", "last", "longest", "shortest", "max:score", "min:a.b"] {
            assert_eq!(text.parse::<Keep>().unwrap().to_string(), text);
        }
        for text in ["none", "nfc,lower", "nfkc,lower,accents,digits,punct,space"] {
            assert_eq!(text.parse::<Normalize>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn wrong_settings_say_what_to_write() {
        for text in ["words", "words:0", "words:3/4", "chars:x", "bytes:4"] {
            assert!(text.parse::<Shingles>().unwrap_err().to_string().contains("; "), "{text}");
        }
        for text in ["0x5", "5x0", "16", "random:3", "16x6x2"] {
            assert!(text.parse::<Bands>().is_err(), "{text}");
        }
        assert!("max:".parse::<Keep>().is_err() && "biggest".parse::<Keep>().is_err());
        assert!("nfc,stem".parse::<Normalize>().is_err());
    }
}
