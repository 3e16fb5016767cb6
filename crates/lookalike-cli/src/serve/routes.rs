//! Which address leads where, and what every request goes through.

use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use tokio::sync::OwnedSemaphorePermit;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::access::Wish;
use super::problem::Problem;
use super::state::Service;
use super::{about, compare, items, page, plan, query, request_log};

/// The description of the service; paths and types come from the handlers.
#[derive(OpenApi)]
#[openapi(
    info(title = "lookalike", description = "Finds what is alike: search an index for look-alikes, compare texts, see what settings mean."),
    tags(
        (name = "search", description = "What is like this?"),
        (name = "items", description = "What is in the index"),
        (name = "compare", description = "Two texts side by side"),
        (name = "plan", description = "What settings mean"),
        (name = "health", description = "For those who run the service"),
        (name = "page", description = "For browsers"),
    ),
    // Whether a token is needed, the one who starts the service decides.
    security((), ("token" = [])),
    modifiers(&TokenScheme)
)]
struct Description;

/// How a token is sent.
struct TokenScheme;

impl Modify for TokenScheme {
    fn modify(&self, description: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        description.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

/// All addresses.
pub(super) fn router(service: Arc<Service>) -> Router {
    let (router, description) = OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(query::query))
        .routes(routes!(compare::compare))
        .routes(routes!(items::get_item, items::put_item, items::delete_item))
        .routes(routes!(items::post_items))
        .routes(routes!(about::index))
        .routes(routes!(plan::plan))
        .routes(routes!(about::healthz))
        .routes(routes!(about::readyz))
        .routes(routes!(about::metrics))
        .routes(routes!(page::html))
        .split_for_parts();
    let description = Arc::new(description);
    let describe = move || {
        let description = Arc::clone(&description);
        async move { Json(description.as_ref().clone()) }
    };
    router
        .route("/openapi.json", get(describe))
        .route("/page.css", get(page::style))
        .route("/page.js", get(page::script))
        .route("/icon.svg", get(page::icon))
        .fallback(|| async { Problem::not_found("nothing is at this address; /openapi.json lists what is") })
        .method_not_allowed_fallback(|| async { Problem::method_not_allowed() })
        .layer(middleware::from_fn_with_state(Arc::clone(&service), keep_limits))
        .layer(CatchPanicLayer::custom(|_| Problem::internal("the service failed at this request").into_response()))
        .layer(middleware::from_fn(add_headers))
        .layer(middleware::from_fn_with_state(Arc::clone(&service), request_log::record))
        .with_state(service)
}

/// What a request wishes to do. What is not known to be harmless is a write.
fn wish(method: &Method, path: &str) -> Wish {
    let is_asking = matches!(*method, Method::GET | Method::HEAD);
    match path {
        "/v1/query" | "/v1/compare" | "/metrics" => Wish::Read,
        _ if !path.starts_with("/v1/") => Wish::Public,
        _ if is_asking => Wish::Read,
        _ => Wish::Write,
    }
}

/// Refuses who may not ask; lets only so many in; and gives each only so long.
async fn keep_limits(State(service): State<Arc<Service>>, request: Request, next: Next) -> Result<Response, Problem> {
    let wish = wish(request.method(), request.uri().path());
    service.access.check(request.uri(), request.headers(), wish)?;
    let place = match wish {
        // Whoever asks after the health of a busy service should hear that it lives.
        Wish::Public => None,
        Wish::Read | Wish::Write => Some(Arc::clone(&service.places).try_acquire_owned().map_err(|_| Problem::busy())?),
    };
    let limit = service.limits.time;
    let response = tokio::time::timeout(limit, next.run(request)).await.map_err(|_| {
        let maybe = if wish == Wish::Write { " (the write may have been made)" } else { "" };
        Problem::out_of_time(format!("it was not done in {limit:?}{maybe}; ask for less, or raise --timeout"))
    })?;
    match place {
        Some(place) if response.body().size_hint().lower() > LIGHT => keep_place(response, place).await,
        _ => Ok(response),
    }
}

/// Bytes of an answer that may wait for its reader without a place: there are only so many connections.
const LIGHT: u64 = 64 << 10;

/// An answer and the place of its request.
struct HeavyAnswer {
    bytes: Bytes,
    _place: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for HeavyAnswer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Gives the place back when the client has taken the answer. Answers wait in memory, so only so many may.
async fn keep_place(response: Response, place: OwnedSemaphorePermit) -> Result<Response, Problem> {
    let (head, body) = response.into_parts();
    // Answers are whole: this neither waits nor copies.
    let bytes = to_bytes(body, usize::MAX).await.map_err(|error| Problem::internal(error.to_string()))?;
    Ok(Response::from_parts(head, Body::from(Bytes::from_owner(HeavyAnswer { bytes, _place: place }))))
}

/// What every answer tells a browser: guess no content type, tell nobody where you came from, and show this nowhere else.
async fn add_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_is_a_write() {
        assert_eq!(wish(&Method::GET, "/v1/items/7"), Wish::Read);
        assert_eq!(wish(&Method::POST, "/v1/query"), Wish::Read);
        for method in [Method::PUT, Method::DELETE, Method::POST, Method::PATCH, Method::OPTIONS] {
            assert_eq!(wish(&method, "/v1/items/7"), Wish::Write, "{method}");
        }
        assert_eq!(wish(&Method::GET, "/"), Wish::Public);
        assert_eq!(wish(&Method::GET, "/metrics"), Wish::Read);
    }
}
