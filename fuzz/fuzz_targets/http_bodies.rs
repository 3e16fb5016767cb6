//! Any bytes as the body of any request: an answer, never a panic, and an index that is still whole.
#![no_main]

use std::cell::OnceCell;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use libfuzzer_sys::fuzz_target;
use lookalike::{Content, Index, IndexOptions, Settings};
use tokio::runtime::Runtime;
use tower::ServiceExt;

const ROUTES: [(&str, &str, &str); 4] = [
    ("POST", "/v1/query", "application/json"),
    ("POST", "/v1/compare", "application/json"),
    ("PUT", "/v1/items/a", "application/json"),
    ("POST", "/v1/items", "application/x-ndjson"),
];

struct Server {
    runtime: Runtime,
    router: Router,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("index");
        let plan = Settings::new(0.5).plan().expect("sound settings");
        let mut index = Index::create_with(&path, &plan, &IndexOptions { store_text: true }).expect("room for it");
        index.insert("a", Content::Text("one text that is there from the beginning"), None).expect("room for it");
        index.commit().expect("room for it");
        drop(index);
        let runtime = Runtime::new().expect("threads");
        let router = runtime.block_on(async { lookalike_cli::router(&path) }).expect("an index");
        Self { runtime, router, _folder: folder }
    }
}

thread_local! {
    static SERVER: OnceCell<Server> = const { OnceCell::new() };
}

fuzz_target!(|input: (u8, &[u8])| {
    let (method, path, kind) = ROUTES[input.0 as usize % ROUTES.len()];
    SERVER.with(|server| {
        let server = server.get_or_init(Server::start);
        let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
        let request = request.header(header::CONTENT_TYPE, kind).body(Body::from(input.1.to_vec()));
        let answer = server.router.clone().oneshot(request.expect("a sound request"));
        let status = server.runtime.block_on(answer).expect("an answer").status();
        assert!(status.as_u16() < 500, "{method} {path}: {status}");
    });
});
