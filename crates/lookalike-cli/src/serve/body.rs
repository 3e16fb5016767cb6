//! Bodies of requests, read within their limit.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;

use super::problem::Problem;
use super::state::Service;

/// A body of JSON.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<Service>> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, service: &Arc<Service>) -> Result<Self, Problem> {
        require_content_type(request.headers(), &["application/json"])?;
        let mut bytes = Vec::new();
        read(request, service.limits.body, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .await?;
        parse(&bytes).map(Self)
    }
}

/// A body of lines, each a JSON object, as they come in.
pub(super) struct LineBody(Request);

impl FromRequest<Arc<Service>> for LineBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &Arc<Service>) -> Result<Self, Problem> {
        require_content_type(request.headers(), &["application/x-ndjson", "application/ndjson", "application/jsonl"])?;
        Ok(Self(request))
    }
}

impl LineBody {
    /// Shows each line that is not blank, parsed. The first bad one ends it, and is named.
    pub(super) async fn for_each<T: DeserializeOwned>(
        self,
        limit: usize,
        mut visit: impl FnMut(T) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let mut number = 0;
        let mut take = |line: &[u8]| {
            number += 1;
            let line = line.trim_ascii();
            let visited = if line.is_empty() { Ok(()) } else { parse(line).and_then(&mut visit) };
            visited.map_err(|problem| problem.at_line(number))
        };
        let mut unfinished = Vec::new();
        read(self.0, limit, |piece| {
            let mut lines = piece.split(|byte| *byte == b'\n');
            // What is behind the last line break waits for the rest of its line.
            let behind = lines.next_back().unwrap_or_default();
            for line in lines {
                if unfinished.is_empty() {
                    take(line)?;
                } else {
                    unfinished.extend_from_slice(line);
                    take(&unfinished)?;
                    unfinished.clear();
                }
            }
            unfinished.extend_from_slice(behind);
            Ok(())
        })
        .await?;
        take(&unfinished)
    }
}

fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(json).map_err(|error| {
        let what = if error.is_data() { "the JSON does not have the expected form" } else { "this is not valid JSON" };
        Problem::bad_request(format!("{what}: {error}"))
    })
}

/// Only JSON is taken for JSON: a form on another site's page can send texts, but not under this content type.
fn require_content_type(headers: &HeaderMap, accepted: &[&str]) -> Result<(), Problem> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if accepted.iter().any(|accepted| accepted.eq_ignore_ascii_case(essence)) {
        return Ok(());
    }
    Err(Problem::content_type(accepted.first().copied().unwrap_or_default()))
}

/// Shows a body piece by piece, up to a limit.
async fn read(
    request: Request,
    limit: usize,
    mut visit: impl FnMut(&[u8]) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let (head, body) = request.into_parts();
    let announced = head.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let waits_for_leave = head.headers.contains_key(header::EXPECT);
    let refused = if announced.is_some_and(|length: usize| length > limit) {
        if waits_for_leave {
            return Err(Problem::too_large(limit));
        }
        (Problem::too_large(limit), body)
    } else {
        let mut pieces = body.into_data_stream();
        let mut length = 0;
        loop {
            let Some(piece) = pieces.next().await else { return Ok(()) };
            let piece = piece.map_err(|_| Problem::bad_request("the body ended early; send it whole"))?;
            length += piece.len();
            let visited = if length > limit { Err(Problem::too_large(limit)) } else { visit(&piece) };
            if let Err(problem) = visited {
                break (problem, Body::from_stream(pieces));
            }
        }
    };
    let (problem, rest) = refused;
    discard(rest).await;
    Err(problem)
}

/// Reads a body that is of no use, as far as that is reasonable: most clients listen only when they have said all, and would
/// see a broken connection instead of the answer.
async fn discard(body: Body) {
    const REASONABLE: usize = 64 << 20;
    let mut pieces = body.into_data_stream();
    let mut length = 0;
    while let Some(Ok(piece)) = pieces.next().await {
        length += piece.len();
        if length > REASONABLE {
            return;
        }
    }
}
