//! What is remembered of a request: its id, a line in the log and a place in the figures. Never its text.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;

use super::state::Service;
use crate::command::serve::LogLevel;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id that is taken from a client.
const LONGEST_ID: usize = 128;

/// Starts the log: one JSON object a line, on stderr.
pub(super) fn start(level: LogLevel) {
    let level = match level {
        LogLevel::Off => tracing::level_filters::LevelFilter::OFF,
        LogLevel::Error => tracing::level_filters::LevelFilter::ERROR,
        LogLevel::Warn => tracing::level_filters::LevelFilter::WARN,
        LogLevel::Info => tracing::level_filters::LevelFilter::INFO,
        LogLevel::Debug => tracing::level_filters::LevelFilter::DEBUG,
    };
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_max_level(level)
        .with_writer(std::io::stderr);
    // It is started once, before anything is logged.
    let _ = tracing::subscriber::set_global_default(subscriber.finish());
}

/// Gives the request an id, and remembers how it was answered.
pub(super) async fn record(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let begin = Instant::now();
    let _under_way = service.metrics.began();
    let id = id_of(request.headers());
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().map_or("other".into(), |route| route.as_str().to_owned());
    let mut response = next.run(request).await;
    let (time, status) = (begin.elapsed(), response.status().as_u16());
    service.metrics.answered(name_of(&method), &route, status, time);
    let ms = (time.as_secs_f64() * 1e6).round() / 1e3;
    let shown_id = id.to_str().unwrap_or_default();
    if status >= 500 {
        tracing::warn!(id = shown_id, %method, path, status, ms, "request");
    } else {
        tracing::info!(id = shown_id, %method, path, status, ms, "request");
    }
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// The id that the client or a proxy gave, or a new one.
fn id_of(headers: &HeaderMap) -> HeaderValue {
    let is_fit = |id: &&HeaderValue| {
        let bytes = id.as_bytes();
        (1..=LONGEST_ID).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
    };
    headers.get(REQUEST_ID).filter(is_fit).cloned().unwrap_or_else(new_id)
}

/// An id that no other request of this machine has: the time, and a number.
fn new_id() -> HeaderValue {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    HeaderValue::from_str(&format!("{time:x}-{count:x}")).unwrap_or(HeaderValue::from_static("unknown"))
}

/// The method's name in the figures: clients can make up methods, and must not make up figures.
fn name_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
