//! What settings mean, as JSON.

use lookalike::{Method, Plan, Settings};
use serde::Serialize;
use utoipa::ToSchema;

use crate::estimate::Estimate;

/// What settings mean: bands, recall, memory.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PlanAnswer<'a> {
    /// The settings that the plan was made from, by the names of the long flags.
    #[schema(value_type = Object)]
    settings: &'a Settings,
    /// What is made equal before texts are cut into shingles.
    normalize: String,
    /// The sketches and their bands; null where none are used.
    scheme: Option<SchemeAnswer>,
    /// The probability with which a pair at exactly the threshold is found.
    finds_at_threshold: f64,
    /// The S-curve.
    curve: Vec<CurvePoint>,
    /// Bytes that are kept of a record's content.
    sketch_bytes: u64,
    /// What a run over so many records takes, where that was asked.
    #[schema(value_type = Option<Object>)]
    run: Option<&'a Estimate>,
    /// The promises that these settings give up, in words.
    gives_up: Vec<&'static str>,
    /// Sketches with different fingerprints do not mix.
    fingerprint: String,
}

/// How candidates are found.
#[derive(Debug, Serialize, ToSchema)]
struct SchemeAnswer {
    /// MinHash values of a record.
    hashes: u32,
    /// Bands × rows, such as 16x6.
    bands: String,
    /// Candidates that agree in fewer values are dropped before the exact check.
    least_agreement: u32,
    /// In buckets of up to so many classes of identical records, every pair is compared.
    every_pair_up_to: usize,
    /// In larger ones, each is compared with so many.
    first_in_larger_buckets: usize,
}

/// A point of the S-curve.
#[derive(Debug, Serialize, ToSchema)]
struct CurvePoint {
    /// How alike two records are.
    similarity: f64,
    /// The probability that they are compared: the bands alone.
    compared: f64,
    /// The probability that they are found: filters counted too.
    found: f64,
}

impl<'a> PlanAnswer<'a> {
    /// The plan in figures, its curve at so many evenly spread similarities up to 1.
    pub(crate) fn new(plan: &'a Plan, points: u32, run: Option<&'a Estimate>) -> Self {
        let settings = plan.settings();
        let rule = plan.bucket_rule();
        let similarities = (1..=points).map(|point| f64::from(point) / f64::from(points));
        let curve = similarities.map(|similarity| CurvePoint {
            similarity,
            compared: plan.compares(similarity),
            found: plan.finds(similarity),
        });
        let scheme = match plan.method() {
            Method::Sketches(scheme) => Some(SchemeAnswer {
                hashes: scheme.slots,
                bands: scheme.bands.to_string(),
                least_agreement: scheme.least_agreement,
                every_pair_up_to: rule.every_pair_up_to,
                first_in_larger_buckets: rule.first,
            }),
            _ => None,
        };
        Self {
            settings,
            normalize: plan.normalize().to_string(),
            scheme,
            finds_at_threshold: plan.finds(settings.threshold),
            curve: curve.collect(),
            sketch_bytes: plan.sketch_bytes(),
            run,
            gives_up: plan.gives_up(),
            fingerprint: format!("{:016x}", plan.fingerprint()),
        }
    }
}
