//! `POST /v1/query`: what in the index is like this?

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use lookalike::{Match, Measure, Plan, Query};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::JsonBody;
use super::content::{Given, OwnContent};
use super::problem::Problem;
use super::state::Service;
use crate::answer::{PassageAnswer, passages_of};

/// Matches that are given unless a limit is asked for; and the most that can be.
const DEFAULT_LIMIT: usize = 1_000;
const MOST: usize = 10_000;
/// The same with passages: each match is compared once more, and comes with its text.
const DEFAULT_WITH_PASSAGES: usize = 20;
const MOST_WITH_PASSAGES: usize = 100;

/// What is asked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QueryRequest {
    /// The text whose look-alikes are wanted, or the members of a set.
    text: Given,
    /// The least similarity, above 0 and up to 1. With a limit and without a threshold: the nearest, however far. With
    /// neither: the threshold of the index.
    threshold: Option<f64>,
    /// The most matches.
    #[schema(minimum = 1, maximum = 10_000)]
    limit: Option<usize>,
    /// jaccard or containment (of the text in the item); that of the index by default.
    #[schema(value_type = Option<String>)]
    measure: Option<Measure>,
    /// Whether the text of each match and the passages that it shares are wanted, if the index stores texts; then the limit
    /// is at most 100.
    #[serde(default)]
    passages: bool,
}

/// What was found.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct QueryAnswer {
    /// The look-alikes, best first.
    matches: Vec<MatchAnswer>,
    /// Items that the text was compared with.
    compared: u64,
    /// Keys that more items share than were looked at; the newest were.
    bounded: u64,
    /// The least probability with which an item at the threshold is found; null where nothing is promised, below the
    /// threshold of the index.
    promise: Option<f64>,
}

/// A look-alike.
#[derive(Debug, Serialize, ToSchema)]
struct MatchAnswer {
    id: String,
    /// The exact similarity.
    similarity: f64,
    /// The number of the write that brought it.
    sequence: u64,
    /// Milliseconds since 1970.
    time: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// What it shares with the text that was asked for, which is the left one.
    #[serde(skip_serializing_if = "Option::is_none")]
    passages: Option<Vec<PassageAnswer>>,
}

impl MatchAnswer {
    fn new(found: Match, compared_with: Option<(&Plan, &str)>) -> Self {
        let passages = compared_with.zip(found.text.as_deref()).map(|((plan, asked), text)| {
            let comparison = plan.compare(asked, text);
            passages_of(&comparison.passages, asked, text)
        });
        let Match { id, similarity, sequence, time, text } = found;
        Self { id, similarity, sequence, time, text, passages }
    }
}

impl QueryRequest {
    /// The query, its numbers checked.
    fn query(&self, plan: &Plan) -> Result<Query, Problem> {
        if let Some(threshold) = self.threshold.filter(|threshold| !(*threshold > 0.0 && *threshold <= 1.0)) {
            let advice = "choose one above 0 and up to 1, such as 0.8";
            return Err(Problem::bad_request(format!("the threshold {threshold} is out of range; {advice}")));
        }
        let (default, most) =
            if self.passages { (DEFAULT_WITH_PASSAGES, MOST_WITH_PASSAGES) } else { (DEFAULT_LIMIT, MOST) };
        if let Some(limit) = self.limit.filter(|limit| !(1..=most).contains(limit)) {
            let with = if self.passages { " with passages" } else { "" };
            return Err(Problem::bad_request(format!("the limit {limit} is out of range; choose 1 to {most}{with}")));
        }
        let own_threshold = || self.limit.is_none().then_some(plan.settings().threshold);
        Ok(Query {
            threshold: self.threshold.or_else(own_threshold),
            limit: Some(self.limit.unwrap_or(default)),
            measure: self.measure,
            with_text: self.passages,
        })
    }
}

/// What in the index is like this?
///
/// Similarities are exact. At or above the threshold of the index, each look-alike is found with the probability that is
/// promised; below it, with less.
#[utoipa::path(post, path = "/v1/query", tag = "search", request_body = QueryRequest, responses(
    (status = 200, description = "What was found", body = QueryAnswer),
    (status = "default", description = "Why not", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn query(
    State(service): State<Arc<Service>>,
    JsonBody(request): JsonBody<QueryRequest>,
) -> Result<Json<QueryAnswer>, Problem> {
    let snapshot = service.snapshot()?;
    let query = request.query(snapshot.plan())?;
    let wants_passages = request.passages;
    let content = OwnContent::from(request.text);
    let work = move || {
        let answer = snapshot.query(content.as_content(), &query)?;
        let compared_with = match &content {
            OwnContent::Text(text) if wants_passages => Some((snapshot.plan(), text.as_str())),
            _ => None,
        };
        let matches = answer.matches.into_iter().map(|found| MatchAnswer::new(found, compared_with));
        Ok(QueryAnswer {
            matches: matches.collect(),
            compared: answer.compared,
            bounded: answer.bounded,
            promise: answer.promise,
        })
    };
    service.work(work).await.map(Json)
}
