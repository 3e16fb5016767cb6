//! Selected shingles: what containment finds its candidates by, at any ratio of sizes.
//!
//! A long text has too many shingles to list them all. Of each window of w consecutive shingles one is selected, the
//! least ([winnowing](winnow()), after Schleimer, Wilkerson and Aiken 2003). Whoever looks up *all* shingles of an excerpt
//! meets a selected one in every run of w shared shingles, that is in every verbatim run of w + k − 1 tokens. Short texts
//! are listed whole, so that a pair with a short text is never missed where both are looked up. The other selection,
//! shingles that are 0 mod p, needs no order and promises nothing about a single run.

mod join;
mod winnow;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub(crate) use join::find_contained;
pub use winnow::winnow;

use crate::error::{Error, Result};

/// Which shingles of a text are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Selection {
    /// The least of every so many consecutive ones.
    Winnow(u32),
    /// Those whose hashes are 0 modulo this number.
    Modulo(u32),
}

/// The largest window or modulus that can be asked for.
const MOST: u32 = 65_536;

/// All shingles of a text with no more than these are selected: it has few, and may share fewer than a window in a row.
pub const LISTED_WHOLE: usize = 64;

impl Selection {
    /// Appends the selected ones of the shingles of a text, which are in the order of the text.
    pub fn append(self, shingles: &[u64], selected: &mut Vec<u64>) {
        match self {
            _ if shingles.len() <= LISTED_WHOLE => selected.extend_from_slice(shingles),
            Self::Winnow(window) => winnow(shingles, window as usize, |shingle| selected.push(shingle)),
            Self::Modulo(divisor) => {
                selected.extend(shingles.iter().filter(|shingle| *shingle % u64::from(divisor) == 0));
            }
        }
    }

    /// The least number of tokens in a verbatim run that is always found, for shingles of k tokens; none by modulus.
    pub fn sure_run(self, k: usize) -> Option<usize> {
        match self {
            Self::Winnow(window) => Some(window as usize + k - 1),
            Self::Modulo(1) => Some(k),
            Self::Modulo(_) => None,
        }
    }

    /// The probability that a text meets another one in which a share of its shingles is, if words were changed here and
    /// there with equal probability.
    pub(crate) fn meets(self, similarity: f64, k: usize, tokens: usize) -> f64 {
        if similarity <= 0.0 {
            return 0.0;
        }
        match self {
            Self::Winnow(window) => {
                let unchanged = similarity.powf(1.0 / k as f64);
                probability_of_run(unchanged, (window as usize + k - 1).min(tokens), tokens)
            }
            Self::Modulo(divisor) => {
                let shared = similarity * (tokens + 1).saturating_sub(k).max(1) as f64;
                1.0 - (1.0 - 1.0 / f64::from(divisor)).powf(shared)
            }
        }
    }
}

/// The probability of at least one run of `length` successes among `trials`.
fn probability_of_run(success: f64, length: usize, trials: usize) -> f64 {
    // The probability that there is none among the first n trials: the first run cannot end at n unless the trial before it
    // failed, or it began with the first.
    let of_run = success.powi(length as i32);
    let mut none = vec![1.0; trials + 1];
    for n in length..=trials {
        let ends_here = if n == length { of_run } else { of_run * (1.0 - success) * none[n - length - 1] };
        none[n] = none[n - 1] - ends_here;
    }
    (1.0 - none[trials]).clamp(0.0, 1.0)
}

impl Default for Selection {
    fn default() -> Self {
        Self::Winnow(8)
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Winnow(window) => write!(formatter, "winnow:{window}"),
            Self::Modulo(divisor) => write!(formatter, "mod:{divisor}"),
        }
    }
}

impl FromStr for Selection {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::setting(format!("\"{text}\" is no selection of fingerprints"))
                .advise(format!("write winnow:W or mod:P with a number from 1 to {MOST}, such as winnow:8"))
        };
        let (kind, number) = text.split_once(':').ok_or_else(wrong)?;
        let number = number.parse().ok().filter(|number| (1..=MOST).contains(number)).ok_or_else(wrong)?;
        match kind {
            "winnow" => Ok(Self::Winnow(number)),
            "mod" => Ok(Self::Modulo(number)),
            _ => Err(wrong()),
        }
    }
}

impl TryFrom<String> for Selection {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Selection> for String {
    fn from(selection: Selection) -> Self {
        selection.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_read_back_as_written() {
        for text in ["winnow:8", "mod:16"] {
            assert_eq!(text.parse::<Selection>().unwrap().to_string(), text);
        }
        for text in ["winnow", "winnow:0", "mod:x", "every:3", "mod:65537"] {
            assert!(text.parse::<Selection>().unwrap_err().to_string().contains("winnow:W"), "{text}");
        }
    }

    #[test]
    fn runs_of_successes() {
        assert_eq!(probability_of_run(1.0, 5, 20), 1.0);
        assert_eq!(probability_of_run(0.0, 1, 20), 0.0);
        assert_eq!(probability_of_run(0.5, 3, 3), 0.125);
        // Of the 16 outcomes of four throws, 8 have two heads in a row.
        assert_eq!(probability_of_run(0.5, 2, 4), 0.5);
        assert!(Selection::default().meets(0.8, 5, 200) > 0.99);
        assert!(Selection::default().meets(0.2, 5, 200) < Selection::default().meets(0.5, 5, 200));
    }

    #[test]
    fn by_modulus_the_same_shingles_are_selected_wherever_they_stand() {
        let mut random = crate::hash::SplitMix(3);
        let shingles: Vec<u64> = (0..4000).map(|_| random.next()).collect();
        let (mut all, mut some) = (Vec::new(), Vec::new());
        Selection::Modulo(8).append(&shingles, &mut all);
        Selection::Modulo(8).append(&shingles[1000..2000], &mut some);
        assert!((400..600).contains(&all.len()), "{} of 4000", all.len());
        assert!(some.iter().all(|shingle| all.contains(shingle)));
    }
}
