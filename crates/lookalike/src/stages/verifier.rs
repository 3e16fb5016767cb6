//! Pairs → how alike they are, by the sets of their records.

use std::collections::HashMap;

use super::{fill_set, identity};
use crate::batch::Content;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Plan;
use crate::settings::Measure;
use crate::shingle::Shingler;
use crate::verify::{containment, jaccard};

/// Compares records with others that it holds: the lefts of pairs are held, the rights pass by one after another.
#[derive(Clone, Debug)]
pub struct PairVerifier {
    shingler: Shingler,
    measure: fn(&[u64], &[u64]) -> f64,
    held: HashMap<u64, Box<[u64]>>,
    passing: Vec<u64>,
}

impl Plan {
    /// What finds out how alike pairs are for this plan.
    pub fn pair_verifier(&self) -> PairVerifier {
        PairVerifier {
            shingler: self.shingler(),
            measure: match self.settings().measure {
                Measure::Jaccard => jaccard,
                Measure::Containment => containment,
            },
            held: HashMap::new(),
            passing: Vec::new(),
        }
    }
}

impl PairVerifier {
    /// Holds a record. Its identity tells whether it is what it was when it was sketched.
    pub fn hold(&mut self, rank: u64, content: Content<'_>, within: u64, expected: u128) -> Result<()> {
        self.let_pass(content, within, expected)?;
        self.held.insert(rank, self.passing.as_slice().into());
        Ok(())
    }

    /// Takes the next record, to be compared with those that are held.
    pub fn let_pass(&mut self, content: Content<'_>, within: u64, expected: u128) -> Result<()> {
        fill_set(&mut self.shingler, content, &mut self.passing);
        if identity(&self.passing, within) != expected {
            return Err(Error::new(ErrorKind::Changed, "a record is not what it was when it was read first")
                .advise("make sure that the input gives the same records each time it is read, or write it to a table first"));
        }
        Ok(())
    }

    /// How alike a held record is to the one that passes.
    pub fn similarity(&self, held: u64) -> Result<f64> {
        let held = self.held.get(&held).ok_or_else(|| {
            Error::new(ErrorKind::Supply, "a record of a pair was not supplied")
                .advise("make sure that the input gives the same records each time it is read")
        })?;
        Ok((self.measure)(held, &self.passing))
    }

    /// Forgets the records that are held.
    pub fn clear(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use crate::stages::SketchedRows;

    #[test]
    fn similarities_are_those_of_the_records() {
        let plan = Settings::new(0.8).plan().unwrap();
        let (left, right) = (Content::Text("a b c d e f g h i j"), Content::Text("a b c d e f g h i j k"));
        let (mut sketcher, mut rows) = (plan.row_sketcher().unwrap(), SketchedRows::default());
        sketcher.append(left, 0, &mut rows);
        sketcher.append(right, 0, &mut rows);
        let mut verifier = plan.pair_verifier();
        verifier.hold(3, left, 0, rows.identities[0]).unwrap();
        verifier.let_pass(right, 0, rows.identities[1]).unwrap();
        assert_eq!(verifier.similarity(3).unwrap(), plan.similarity(left, right));
        assert_eq!(verifier.let_pass(left, 0, rows.identities[1]).unwrap_err().kind(), ErrorKind::Changed);
        verifier.clear();
        assert_eq!(verifier.similarity(3).unwrap_err().kind(), ErrorKind::Supply);
    }
}
