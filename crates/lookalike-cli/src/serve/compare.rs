//! `POST /v1/compare`: how alike are two texts, and where?

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use lookalike::{Settings, Shingles};
use serde::Deserialize;
use utoipa::ToSchema;

use super::body::JsonBody;
use super::problem::Problem;
use super::state::Service;
use crate::answer::ComparisonAnswer;

/// Two texts.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompareRequest {
    left: String,
    right: String,
    /// What the texts are cut into, such as words:5, chars:9 or lines; by default as the index does it, or words:5.
    #[schema(value_type = Option<String>)]
    shingles: Option<Shingles>,
}

/// How alike are two texts, and which passages do they share?
#[utoipa::path(post, path = "/v1/compare", tag = "compare", request_body = CompareRequest, responses(
    (status = 200, description = "The same as lookalike compare --json", body = ComparisonAnswer),
    (status = "default", description = "Why not", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn compare(
    State(service): State<Arc<Service>>,
    JsonBody(request): JsonBody<CompareRequest>,
) -> Result<Json<ComparisonAnswer>, Problem> {
    let mut plan = service.plan();
    if let Some(shingles) = request.shingles {
        plan = Settings { shingles, normalize: None, ..plan.settings().clone() }.plan()?;
    }
    let work = move || {
        let comparison = plan.compare(&request.left, &request.right);
        Ok(ComparisonAnswer::new(&comparison, &request.left, &request.right))
    };
    service.work(work).await.map(Json)
}
