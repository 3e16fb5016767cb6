//! How probable it is that a pair of a given similarity is found: the S-curve, filters included.

use crate::settings::Bands;

/// A way of finding candidates with sketches: slots, keys made of them, and the least number of agreeing slots with
/// which a candidate goes on to the exact check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheme {
    /// Slots of a sketch.
    pub slots: u32,
    /// How slots make keys.
    pub bands: Bands,
    /// Candidates that agree in fewer slots are dropped unseen.
    pub least_agreement: u32,
}

impl Scheme {
    /// The probability that two records of this similarity share a key and pass the filter.
    pub fn finds(&self, similarity: f64) -> f64 {
        let agreeing = self.agreement_and_shared_key(similarity);
        agreeing[(self.least_agreement as usize).min(agreeing.len())..].iter().sum::<f64>().clamp(0.0, 1.0)
    }

    /// The probability that two records of this similarity share a key, filter or not.
    pub fn meets(&self, similarity: f64) -> f64 {
        Self { least_agreement: 0, ..*self }.finds(similarity)
    }

    /// For each m, the probability that exactly m slots agree and a key is shared.
    fn agreement_and_shared_key(&self, similarity: f64) -> Vec<f64> {
        let slots = self.slots as usize;
        let agreeing = binomial(slots, similarity);
        match self.bands {
            // P[m agree, some band whole] = P[m agree] − P[m agree, no band whole].
            Bands::Disjoint { bands, rows } => {
                let mut band = binomial(rows as usize, similarity);
                band.pop();
                let mut none_whole = vec![1.0];
                for _ in 0..bands {
                    none_whole = multiply(&none_whole, &band);
                }
                let unused = slots - (bands * rows) as usize;
                none_whole = multiply(&none_whole, &binomial(unused, similarity));
                none_whole.resize(slots + 1, 0.0);
                agreeing.iter().zip(none_whole).map(|(all, none)| (all - none).max(0.0)).collect()
            }
            // Given m agreeing slots, each key is one of C(k, r) equally probable choices.
            Bands::Random { keys, rows } => {
                let share = |m: usize| -> f64 {
                    (0..rows as usize).map(|row| (m.saturating_sub(row)) as f64 / (slots - row) as f64).product()
                };
                let shared_key = |m: usize| 1.0 - (1.0 - share(m)).powi(keys as i32);
                agreeing.iter().enumerate().map(|(m, probability)| probability * shared_key(m)).collect()
            }
        }
    }
}

/// The probability of each number of successes in `trials`.
fn binomial(trials: usize, probability: f64) -> Vec<f64> {
    if probability >= 1.0 {
        let mut certain = vec![0.0; trials + 1];
        certain[trials] = 1.0;
        return certain;
    }
    // In logarithms: the terms of a thousand trials are far below what a float can hold.
    let odds = probability.ln() - (1.0 - probability).ln();
    let mut term = trials as f64 * (1.0 - probability).ln();
    (0..=trials)
        .map(|successes| {
            if successes > 0 {
                term += ((trials - successes + 1) as f64 / successes as f64).ln() + odds;
            }
            term.exp()
        })
        .collect()
}

/// The product of two polynomials: the distribution of a sum.
fn multiply(left: &[f64], right: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; left.len() + right.len() - 1];
    for (i, left) in left.iter().enumerate() {
        for (j, right) in right.iter().enumerate() {
            product[i + j] += left * right;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disjoint(bands: u32, rows: u32) -> Scheme {
        Scheme { slots: bands * rows, bands: Bands::Disjoint { bands, rows }, least_agreement: 0 }
    }

    #[test]
    fn the_textbook_curve() {
        let scheme = disjoint(20, 5);
        let expected = [0.006, 0.047, 0.186, 0.470, 0.802, 0.975, 0.9996];
        for (at, expected) in expected.into_iter().enumerate() {
            let found = scheme.finds(0.2 + 0.1 * at as f64);
            let digits = if expected > 0.999 { 4 } else { 3 };
            assert_eq!(format!("{found:.digits$}"), format!("{expected:.digits$}"));
        }
        let steepest = (1.0f64 / 20.0).powf(1.0 / 5.0);
        assert!((scheme.finds(steepest) - 0.64).abs() < 0.01, "near (1/b)^(1/r) a pair is found with 1 − 1/e");
    }

    #[test]
    fn bands_follow_the_closed_form() {
        for (bands, rows) in [(1, 1), (9, 13), (16, 6), (450, 2)] {
            for similarity in [0.0f64, 0.1, 0.5, 0.8, 0.99, 1.0] {
                let closed = 1.0 - (1.0 - similarity.powi(rows as i32)).powi(bands as i32);
                let found = disjoint(bands, rows).finds(similarity);
                assert!((found - closed).abs() < 1e-9, "{bands}x{rows} at {similarity}: {found} {closed}");
            }
        }
    }

    #[test]
    fn random_keys_follow_their_own_curve() {
        // With as many rows as slots there is but one key, whatever their number.
        let scheme = Scheme { slots: 4, bands: Bands::Random { keys: 10, rows: 4 }, least_agreement: 0 };
        assert!((scheme.finds(0.7) - 0.7f64.powi(4)).abs() < 1e-12);
        // With one row and very many keys, one agreeing slot is enough.
        let scheme = Scheme { slots: 5, bands: Bands::Random { keys: 100_000, rows: 1 }, least_agreement: 0 };
        assert!((scheme.finds(0.3) - (1.0 - 0.7f64.powi(5))).abs() < 1e-9);
    }

    #[test]
    fn the_filter_only_takes_away() {
        let free = disjoint(16, 6);
        for least_agreement in [10, 50, 70, 96] {
            let filtered = Scheme { least_agreement, ..free };
            for similarity in [0.2, 0.5, 0.8, 0.95] {
                assert!(filtered.finds(similarity) <= free.finds(similarity) + 1e-12);
            }
        }
        assert!(Scheme { least_agreement: 96, ..free }.finds(0.9) - 0.9f64.powi(96) < 1e-9);
    }
}
