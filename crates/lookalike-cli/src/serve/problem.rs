//! What the service refuses, and why: `application/problem+json` (RFC 9457).

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// Why a request was refused.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// Which problem it is, for programs: `urn:lookalike:problem:` and a name that stays.
    #[serde(rename = "type")]
    kind: String,
    /// Which problem it is, for people.
    title: &'static str,
    /// The HTTP status, once more.
    status: u16,
    /// What is wrong with this request, and what to do.
    detail: String,
    /// The line of a bulk body where it is, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

impl Problem {
    fn new(status: StatusCode, name: &str, title: &'static str, detail: impl Into<String>) -> Self {
        let kind = format!("urn:lookalike:problem:{name}");
        Self { kind, title, status: status.as_u16(), detail: detail.into(), line: None }
    }

    pub(super) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", "The request cannot be understood", detail)
    }

    pub(super) fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "token", "A token is needed", detail)
    }

    pub(super) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "This is not allowed", detail)
    }

    pub(super) fn foreign(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "foreign-origin", "Another site's page may not ask this", detail)
    }

    pub(super) fn unknown_host(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::MISDIRECTED_REQUEST, "unknown-host", "This service does not go by that name", detail)
    }

    pub(super) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "There is no such thing", detail)
    }

    pub(super) fn method_not_allowed() -> Self {
        let detail = "this address takes other methods; see /openapi.json";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", "The method does not fit the address", detail)
    }

    pub(super) fn no_index() -> Self {
        let detail = "this service was started without an index; start it with one: lookalike serve INDEX";
        Self::new(StatusCode::CONFLICT, "no-index", "There is no index", detail)
    }

    pub(super) fn too_large(limit: usize) -> Self {
        let detail = format!("the body is larger than {limit} bytes; send less at once, or raise --max-body");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body is too large", detail)
    }

    pub(super) fn content_type(wanted: &str) -> Self {
        let detail = format!("send the header Content-Type: {wanted}");
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", "The content type does not fit", detail)
    }

    pub(super) fn out_of_time(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "time", "The request took too long", detail)
    }

    pub(super) fn busy() -> Self {
        let detail = "too many requests are under way; try again in a moment";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "The service is busy", detail)
    }

    pub(super) fn not_ready(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", "The service is not ready", detail)
    }

    pub(super) fn cannot_store(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "not-stored", "The write could not be stored", detail)
    }

    pub(super) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "The service failed", detail)
    }

    /// The same problem, at this line of the body.
    pub(super) fn at_line(mut self, line: usize) -> Self {
        self.detail = format!("line {line}: {}", self.detail);
        self.line = Some(line);
        self
    }
}

impl From<lookalike::Error> for Problem {
    fn from(error: lookalike::Error) -> Self {
        match error.kind() {
            lookalike::ErrorKind::Setting | lookalike::ErrorKind::Unavailable => Self::bad_request(error.to_string()),
            _ => Self::internal(error.to_string()),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}
