//! A part of some work, for those who divide it by hand.

use std::ops::Range;
use std::str::FromStr;

/// One of several parts of some work: `2/5` is the second of five.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// All of it.
    pub const ALL: Self = Self { index: 0, count: 1 };

    /// Which part it is, counted from 1.
    pub fn number(self) -> u64 {
        self.index + 1
    }

    /// How many parts there are.
    pub fn count(self) -> u64 {
        self.count
    }

    /// All parts of the same work.
    pub fn all(self) -> impl Iterator<Item = Self> {
        (0..self.count).map(move |index| Self { index, ..self })
    }

    /// Whether the thing with this number is in this part, where things are dealt out one by one.
    pub fn has(self, number: u64) -> bool {
        number % self.count == self.index
    }

    /// The part of a list of things that stay together.
    pub fn range(self, things: usize) -> Range<usize> {
        let bound = |index: u64| (things as u128 * u128::from(index) / u128::from(self.count)) as usize;
        bound(self.index)..bound(self.index + 1)
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.number(), self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        match parsed {
            Some((number, count)) if (1..=count).contains(&number) => Ok(Self { index: number - 1, count }),
            _ => Err("it is no part such as 2/5, the second of five".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_divide_everything() {
        let shards: Vec<Shard> = "1/3".parse::<Shard>().unwrap().all().collect();
        assert_eq!(shards.iter().map(Shard::to_string).collect::<Vec<_>>(), ["1/3", "2/3", "3/3"]);
        for things in [0, 1, 2, 3, 100] {
            assert_eq!(
                shards.iter().flat_map(|shard| shard.range(things)).collect::<Vec<_>>(),
                (0..things).collect::<Vec<_>>()
            );
        }
        assert!((0..100).all(|number| shards.iter().filter(|shard| shard.has(number)).count() == 1));
        for wrong in ["0/3", "4/3", "1", "1/0", "a/b", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
