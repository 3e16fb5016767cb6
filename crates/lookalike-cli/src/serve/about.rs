//! What the service says about itself: the index it serves, its health and its figures.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use lookalike::Settings;
use serde::Serialize;
use utoipa::ToSchema;

use super::problem::Problem;
use super::state::Service;

/// The index that is served.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct IndexAnswer {
    /// Items that can be found.
    items: u64,
    /// Items that were removed or replaced and still take room.
    deleted: u64,
    /// Files of the index that are searched.
    segments: u64,
    /// Bytes on disk.
    bytes: u64,
    /// Bytes of them in the log of recent writes.
    log_bytes: u64,
    /// The number of the last write.
    sequence: u64,
    /// Whether texts are in the index, so that passages can be shown.
    stores_text: bool,
    /// Whether this service refuses writes.
    read_only: bool,
    /// What the index was made for, by the names of the long flags.
    #[schema(value_type = Object)]
    settings: Settings,
}

/// That the service is there.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct StatusAnswer {
    status: &'static str,
}

/// The index that is served: its size, and the settings that it was made for.
#[utoipa::path(get, path = "/v1/index", tag = "search", responses(
    (status = 200, description = "The index", body = IndexAnswer),
    (status = "default", description = "Why not", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn index(State(service): State<Arc<Service>>) -> Result<Json<IndexAnswer>, Problem> {
    let served = service.served()?;
    let (snapshot, read_only) = (served.shown.snapshot(), served.is_read_only());
    let work = move || {
        let info = snapshot.info();
        Ok(IndexAnswer {
            items: info.items,
            deleted: info.deleted,
            segments: info.segments,
            bytes: info.bytes,
            log_bytes: info.log_bytes,
            sequence: info.sequence,
            stores_text: info.stores_text,
            read_only,
            settings: snapshot.plan().settings().clone(),
        })
    };
    service.work(work).await.map(Json)
}

/// Whether the process lives. If not, start it again.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, description = "It lives", body = StatusAnswer)))]
pub(super) async fn healthz() -> Json<StatusAnswer> {
    Json(StatusAnswer { status: "alive" })
}

/// Whether the service should get requests.
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, description = "It is ready", body = StatusAnswer),
    (status = 503, description = "Why not", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn readyz(State(service): State<Arc<Service>>) -> Result<Json<StatusAnswer>, Problem> {
    match service.trouble() {
        Some(trouble) => Err(Problem::not_ready(trouble)),
        None => Ok(Json(StatusAnswer { status: "ready" })),
    }
}

/// Figures for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health", responses(
    (status = 200, description = "In the OpenMetrics text format", body = String, content_type = "application/openmetrics-text"),
))]
pub(super) async fn metrics(State(service): State<Arc<Service>>) -> Result<Response, Problem> {
    const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let text = service.metrics.text().map_err(|error| Problem::internal(error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, FORMAT)], text).into_response())
}
