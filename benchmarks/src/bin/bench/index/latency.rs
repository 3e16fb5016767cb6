//! How long single calls took.

use std::time::{Duration, Instant};

use anyhow::Result;

/// The times of many calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies(Vec<Duration>);

impl Latencies {
    /// Calls, and notes how long it took.
    pub(crate) fn time<T>(&mut self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let began = Instant::now();
        let result = call();
        self.0.push(began.elapsed());
        result
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// What a share of the calls did not exceed.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or_default()
    }

    pub(crate) fn longest(&self) -> Duration {
        self.quantile(1.0)
    }

    /// All calls, one after the other.
    pub(crate) fn sum(&self) -> Duration {
        self.0.iter().sum()
    }

    /// Calls a second, one after the other.
    pub(crate) fn rate(&self) -> f64 {
        self.len() as f64 / self.sum().as_secs_f64()
    }

    /// Every other one, from this one on.
    pub(crate) fn every_other(&self, from: usize) -> Self {
        Self(self.0.iter().skip(from).step_by(2).copied().collect())
    }
}

impl FromIterator<Duration> for Latencies {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        Self(times.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_were_measured() {
        let times: Latencies = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(times.quantile(0.5), Duration::from_millis(100));
        assert_eq!(times.quantile(0.99), Duration::from_millis(198));
        assert_eq!(times.longest(), Duration::from_millis(200));
        assert_eq!(times.every_other(0).longest(), Duration::from_millis(200));
        assert_eq!(times.every_other(1).longest(), Duration::from_millis(199));
        assert_eq!(Latencies::default().quantile(0.5), Duration::ZERO);
    }
}
