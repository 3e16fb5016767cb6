//! The page for browsers: three files that are part of the program. It asks no other host, and nobody can make it.

use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};

/// What the page may do: run its own script, wear its own style, and ask this service.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page.
#[utoipa::path(get, path = "/", tag = "page", responses((status = 200, description = "The page", body = String, content_type = "text/html")))]
pub(super) async fn html() -> Response {
    file("text/html; charset=utf-8", include_str!("page/index.html"))
}

pub(super) async fn style() -> Response {
    file("text/css; charset=utf-8", include_str!("page/page.css"))
}

pub(super) async fn script() -> Response {
    file("text/javascript; charset=utf-8", include_str!("page/page.js"))
}

pub(super) async fn icon() -> Response {
    file("image/svg+xml", include_str!("page/icon.svg"))
}

fn file(kind: &'static str, content: &'static str) -> Response {
    let headers: [(HeaderName, &str); 3] = [
        (header::CONTENT_TYPE, kind),
        // Another version of the program has another page.
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    (headers, content).into_response()
}
