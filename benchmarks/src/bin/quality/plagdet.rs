//! How well passages were detected, measured as the PAN evaluations of text alignment do (Potthast et al. 2010):
//! characters of both documents, averaged over cases and over detections, punished for detecting a case in pieces.

use std::ops::Range;

/// A passage in two documents, in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) suspicious: Range<usize>,
    pub(crate) source: Range<usize>,
}

impl Case {
    fn touches(&self, other: &Self) -> bool {
        overlaps(&self.suspicious, &other.suspicious) && overlaps(&self.source, &other.source)
    }

    /// How much of this passage the others cover, those that touch it on both sides.
    fn covered_by(&self, others: &[Self]) -> f64 {
        let touching: Vec<&Self> = others.iter().filter(|other| self.touches(other)).collect();
        let in_suspicious = covered(&self.suspicious, touching.iter().map(|other| &other.suspicious));
        let in_source = covered(&self.source, touching.iter().map(|other| &other.source));
        (in_suspicious + in_source) as f64 / (self.suspicious.len() + self.source.len()).max(1) as f64
    }
}

fn overlaps(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// How many characters of a range lie in others; once, however often they are covered.
fn covered<'a>(range: &Range<usize>, others: impl Iterator<Item = &'a Range<usize>>) -> usize {
    let clipped = others.map(|other| other.start.max(range.start)..other.end.min(range.end));
    let mut clipped: Vec<Range<usize>> = clipped.filter(|part| part.start < part.end).collect();
    clipped.sort_unstable_by_key(|part| part.start);
    let (mut characters, mut end) = (0, 0);
    for part in clipped {
        let start = part.start.max(end);
        characters += part.end.saturating_sub(start);
        end = end.max(part.end);
    }
    characters
}

/// Sums over pairs of documents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Score {
    pub(crate) pairs: usize,
    /// Pairs in which something was detected.
    pub(crate) alarmed: usize,
    pub(crate) cases: usize,
    pub(crate) detections: usize,
    recalled: f64,
    precise: f64,
    found_cases: usize,
    pieces: usize,
}

impl Score {
    /// Adds a pair of documents: its cases, and what was detected.
    pub(crate) fn add(&mut self, cases: &[Case], detections: &[Case]) {
        self.pairs += 1;
        self.alarmed += usize::from(!detections.is_empty());
        self.cases += cases.len();
        self.detections += detections.len();
        for case in cases {
            self.recalled += case.covered_by(detections);
            let pieces = detections.iter().filter(|detection| detection.touches(case)).count();
            self.pieces += pieces;
            self.found_cases += usize::from(pieces > 0);
        }
        self.precise += detections.iter().map(|detection| detection.covered_by(cases)).sum::<f64>();
    }

    pub(crate) fn recall(&self) -> f64 {
        self.recalled / self.cases.max(1) as f64
    }

    pub(crate) fn precision(&self) -> f64 {
        self.precise / self.detections.max(1) as f64
    }

    /// Detections a case, of those that were detected at all.
    pub(crate) fn granularity(&self) -> f64 {
        if self.found_cases == 0 { 1.0 } else { self.pieces as f64 / self.found_cases as f64 }
    }

    pub(crate) fn plagdet(&self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if precision + recall == 0.0 {
            return 0.0;
        }
        2.0 * precision * recall / (precision + recall) / (1.0 + self.granularity()).log2()
    }

    /// The share of pairs in which something was detected.
    pub(crate) fn alarms(&self) -> f64 {
        self.alarmed as f64 / self.pairs.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(suspicious: Range<usize>, source: Range<usize>) -> Case {
        Case { suspicious, source }
    }

    fn score(cases: &[Case], detections: &[Case]) -> Score {
        let mut score = Score::default();
        score.add(cases, detections);
        score
    }

    #[test]
    fn the_whole_case_at_once_is_one() {
        let cases = [case(100..200, 0..100)];
        let score = score(&cases, &cases);
        assert_eq!((score.recall(), score.precision(), score.granularity(), score.plagdet()), (1.0, 1.0, 1.0, 1.0));
    }

    #[test]
    fn pieces_and_half_cases_cost() {
        let cases = [case(0..100, 0..100)];
        let half = score(&cases, &[case(0..50, 0..50)]);
        assert_eq!((half.recall(), half.precision()), (0.5, 1.0));
        assert!((half.plagdet() - 2.0 / 3.0).abs() < 1e-12);
        let pieces = score(&cases, &[case(0..50, 0..50), case(50..100, 50..100)]);
        assert_eq!((pieces.recall(), pieces.precision(), pieces.granularity()), (1.0, 1.0, 2.0));
        assert!((pieces.plagdet() - 1.0 / 3f64.log2()).abs() < 1e-12);
    }

    #[test]
    fn what_touches_one_side_only_is_no_detection() {
        let missed = score(&[case(0..100, 0..100)], &[case(0..100, 500..600)]);
        assert_eq!((missed.recall(), missed.precision(), missed.plagdet()), (0.0, 0.0, 0.0));
        // A character counts once, however often it is detected.
        let twice = score(&[case(0..100, 0..100)], &[case(0..60, 0..60), case(0..60, 0..60)]);
        assert_eq!(twice.recall(), 0.6);
    }

    #[test]
    fn a_detection_in_a_clean_pair_is_a_false_alarm() {
        let mut score = score(&[], &[]);
        score.add(&[], &[case(0..10, 0..10)]);
        assert_eq!((score.alarms(), score.precision()), (0.5, 0.0));
    }
}
