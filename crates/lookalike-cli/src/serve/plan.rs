//! `GET /v1/plan`: what do these settings mean?

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use lookalike::{Bands, Measure, Normalize, Plan, Settings, Shingles};
use serde::Deserialize;
use utoipa::IntoParams;

use super::problem::Problem;
use super::state::Service;
use crate::answer::PlanAnswer;

/// Points of the curve, unless others are asked for; and the most that can be.
const DEFAULT_POINTS: u32 = 10;
const MOST_POINTS: u32 = 200;
/// The most hashes whose curve is drawn for anybody who asks: it takes time that grows with their square.
const MOST_HASHES: u32 = 2_000;

/// Settings, by the names of the long flags of `lookalike plan`. Without any, the plan of the index.
#[derive(Debug, Default, PartialEq, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PlanParameters {
    /// How alike two records must be, above 0 and up to 1.
    threshold: Option<f64>,
    /// The least probability with which a pair at the threshold is found.
    recall: Option<f64>,
    /// jaccard or containment.
    #[param(value_type = Option<String>)]
    measure: Option<Measure>,
    /// What a text is cut into, such as words:5, chars:9 or lines.
    #[param(value_type = Option<String>)]
    shingles: Option<Shingles>,
    /// Whether repeated shingles count.
    bag: Option<bool>,
    /// What is made equal, such as nfc,lower.
    #[param(value_type = Option<String>)]
    normalize: Option<Normalize>,
    /// MinHash values of a record, up to 2000.
    hashes: Option<u32>,
    /// Banding, such as 16x6, of up to 2000 hashes.
    #[param(value_type = Option<String>)]
    bands: Option<Bands>,
    /// Whether to compare without sketches.
    exact: Option<bool>,
    /// Where the randomness of the sketch starts.
    seed: Option<u64>,
    /// Points of the curve, up to 200; 10 by default.
    points: Option<u32>,
}

impl PlanParameters {
    fn points(&self) -> Result<u32, Problem> {
        let points = self.points.unwrap_or(DEFAULT_POINTS);
        if (1..=MOST_POINTS).contains(&points) {
            return Ok(points);
        }
        Err(Problem::bad_request(format!("a curve of {points} points cannot be had; choose 1 to {MOST_POINTS}")))
    }

    /// The plan of these settings; none where none was given.
    fn plan(self) -> Result<Option<Plan>, Problem> {
        if self == (Self { points: self.points, ..Self::default() }) {
            return Ok(None);
        }
        let in_bands = self.bands.map(|bands| bands.keys().saturating_mul(bands.rows()));
        if self.hashes.max(in_bands).is_some_and(|hashes| hashes > MOST_HASHES) {
            return Err(Problem::bad_request(format!(
                "the service explains up to {MOST_HASHES} hashes; ask lookalike plan for more"
            )));
        }
        let default = Settings::default();
        let settings = Settings {
            threshold: self.threshold.unwrap_or(default.threshold),
            recall: self.recall.unwrap_or(default.recall),
            measure: self.measure.unwrap_or(default.measure),
            shingles: self.shingles.unwrap_or(default.shingles),
            bag: self.bag.unwrap_or(default.bag),
            normalize: self.normalize,
            hashes: self.hashes,
            bands: self.bands,
            exact: self.exact.unwrap_or(default.exact),
            seed: self.seed.unwrap_or(default.seed),
            ..default
        };
        Ok(Some(settings.plan()?))
    }
}

/// What do these settings mean: bands, recall, the S-curve, memory?
#[utoipa::path(get, path = "/v1/plan", tag = "plan", params(PlanParameters), responses(
    (status = 200, description = "The same as lookalike plan --json", body = PlanAnswer),
    (status = "default", description = "Why not", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn plan(
    State(service): State<Arc<Service>>,
    parameters: Result<Query<PlanParameters>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(parameters) = parameters.map_err(|error| Problem::bad_request(error.body_text()))?;
    let points = parameters.points()?;
    let own = service.plan();
    let work = move || {
        let plan = parameters.plan()?.unwrap_or(own);
        let answer = PlanAnswer::new(&plan, points, None);
        serde_json::to_vec(&answer).map_err(|error| Problem::internal(error.to_string()))
    };
    let json = service.work(work).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], json).into_response())
}
