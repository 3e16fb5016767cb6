//! What counts as alike.

use anyhow::Result;
use clap::{Args, ValueEnum};
use lookalike::{Bands, Grouping, Keep, Measure, Normalize, Plan, Selection, Settings, Shingles, Verify};

/// What counts as alike, and which record of a group is kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Matching")]
pub(crate) struct MatchArguments {
    /// How alike two records must be, above 0 and up to 1
    #[arg(short, long, value_name = "T", default_value_t = 0.8, value_parser = parse_share)]
    pub(crate) threshold: f64,
    /// The least probability with which a pair at the threshold is found
    #[arg(long, value_name = "P", default_value_t = 0.99, value_parser = parse_share)]
    pub(crate) recall: f64,
    /// jaccard: shared over all shingles; containment: shared over the shingles of one
    #[arg(long, value_name = "MEASURE", default_value = "jaccard")]
    pub(crate) measure: MeasureName,
    /// What a text is cut into: auto (= words:5), words:K, words:K/STEP, chars:K, lines
    #[arg(long, value_name = "KIND", default_value = "auto")]
    pub(crate) shingles: Shingles,
    /// Count repeated shingles
    #[arg(long)]
    pub(crate) bag: bool,
    /// What is made equal: a list of nfc, nfkc, lower, accents, digits, punct, space, or none
    /// [default: nfc,lower for words; space for chars and lines]
    #[arg(long, value_name = "LIST")]
    pub(crate) normalize: Option<Normalize>,
    /// MinHash values of a record [default: as many as the bands need]
    #[arg(long, value_name = "N")]
    pub(crate) hashes: Option<u32>,
    /// Banding, such as 16x6 or random:125x3 [default: from threshold and recall]. More bands find
    /// more pairs, more rows fewer
    #[arg(long, value_name = "BxR")]
    pub(crate) bands: Option<Bands>,
    /// How candidates are checked: exact; by the estimate from the sketches; by the edits between the texts; or off
    #[arg(long, value_name = "HOW", default_value = "exact")]
    pub(crate) verify: VerifyName,
    /// Compare without sketches: slower, and nothing is missed
    #[arg(long)]
    pub(crate) exact: bool,
    /// Which shingles containment finds its candidates by: winnow:W, the least of every W in a row, or
    /// mod:P [default: winnow:8, which finds every shared run of 12 words]
    #[arg(long, value_name = "WHICH")]
    pub(crate) fingerprints: Option<Selection>,
    /// anchored: every member is alike to its keeper; connected: to some other member
    #[arg(long, value_name = "HOW", default_value = "anchored")]
    pub(crate) group: GroupingName,
    /// Which record of a group is kept: first, last, longest, shortest, max:FIELD, min:FIELD
    #[arg(long, value_name = "WHICH", default_value = "first")]
    pub(crate) keep: Keep,
    /// Where the randomness of the sketch starts
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// A number; whether it is in range depends on what it is for.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "it is no number such as 0.8".to_owned())
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MeasureName {
    Jaccard,
    Containment,
}

impl From<MeasureName> for Measure {
    fn from(name: MeasureName) -> Self {
        match name {
            MeasureName::Jaccard => Self::Jaccard,
            MeasureName::Containment => Self::Containment,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum VerifyName {
    Exact,
    Estimate,
    Edit,
    Off,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum GroupingName {
    Anchored,
    Connected,
}

impl MatchArguments {
    /// The settings, checked and resolved.
    pub(crate) fn plan(&self) -> Result<Plan> {
        let settings = Settings {
            threshold: self.threshold,
            recall: self.recall,
            measure: self.measure.into(),
            shingles: self.shingles,
            bag: self.bag,
            normalize: self.normalize,
            hashes: self.hashes,
            bands: self.bands,
            verify: match self.verify {
                VerifyName::Exact => Verify::Exact,
                VerifyName::Estimate => Verify::Estimate,
                VerifyName::Edit => Verify::Edit,
                VerifyName::Off => Verify::Off,
            },
            exact: self.exact,
            fingerprints: self.fingerprints,
            group: match self.group {
                GroupingName::Anchored => Grouping::Anchored,
                GroupingName::Connected => Grouping::Connected,
            },
            keep: self.keep.clone(),
            seed: self.seed,
        };
        Ok(settings.plan()?)
    }
}
