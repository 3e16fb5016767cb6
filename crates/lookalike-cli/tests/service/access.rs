//! Who may ask: tokens, origins, hosts, loopback.

use serde_json::json;

use crate::server::{FERRY, Folder, JSON, LIBRARY, LINES, Server};

const TOKEN: &str = "a-token-of-some-length";

fn guarded(folder: &Folder, arguments: &str) -> Server {
    folder.write("tokens", &format!("{TOKEN}\nanother-token-of-mine\n"));
    folder.serve(&format!("news.idx --token-file tokens {arguments}"))
}

fn writes(server: &Server, headers: &[(&str, &str)]) -> [crate::http::Answer; 3] {
    let with = |kind| [headers, &[kind]].concat();
    let item = json!({ "text": FERRY }).to_string();
    [
        server.ask("PUT", "/v1/items/new", &with(JSON), &item),
        server.ask("POST", "/v1/items", &with(LINES), &json!({"id": "new", "text": FERRY}).to_string()),
        server.ask("DELETE", "/v1/items/old", headers, ""),
    ]
}

#[test]
fn writes_need_a_token_where_there_is_one() {
    let folder = Folder::with_index(&[("old", LIBRARY)]);
    let server = guarded(&folder, "");
    for answer in writes(&server, &[]) {
        assert_eq!(answer.header("www-authenticate"), "Bearer");
        let detail = answer.refused(401);
        assert!(detail.contains("Authorization: Bearer"), "{detail}");
    }
    for wrong in [
        "Bearer wrong-token-of-mine",
        "Bearer ",
        "Basic YTpi",
        "a-token-of-some-length",
        "Bearer a-token-of-some-lengt",
    ] {
        for answer in writes(&server, &[("Authorization", wrong)]) {
            answer.refused(401);
        }
    }
    assert_eq!(server.get("/v1/index").done()["items"], 1, "reads are open, and nothing was written");
    for token in [TOKEN, "another-token-of-mine"] {
        server
            .ask("PUT", "/v1/items/old", &[JSON, ("Authorization", &format!("Bearer {token}"))], r#"{"text":"x"}"#)
            .done();
    }
    for answer in writes(&server, &[("Authorization", &format!("Bearer {TOKEN}"))]) {
        answer.done();
    }
    server.is_well();
}

#[test]
fn a_private_service_keeps_its_reads_too() {
    let folder = Folder::with_index(&[("old", LIBRARY)]);
    let server = guarded(&folder, "--private");
    for path in ["/v1/index", "/v1/items/old", "/v1/plan", "/metrics"] {
        server.get(path).refused(401);
        assert_eq!(server.ask("GET", path, &[("Authorization", &format!("Bearer {TOKEN}"))], "").status, 200, "{path}");
    }
    server.post("/v1/query", &json!({"text": FERRY})).refused(401);
    server.post("/v1/compare", &json!({"left": "", "right": ""})).refused(401);
    // Without data, these tell nothing.
    for path in ["/", "/page.js", "/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
}

#[test]
fn pages_of_other_sites_are_refused() {
    let folder = Folder::with_index(&[("old", LIBRARY)]);
    let server = folder.serve("news.idx");
    for origin in ["http://example.org", "null", "http://127.0.0.1:1", "https://127.0.0.1.example.org"] {
        for answer in writes(&server, &[("Origin", origin)]) {
            answer.refused(403);
        }
        server.ask("POST", "/v1/query", &[JSON, ("Origin", origin)], r#"{"text":"x"}"#).refused(403);
    }
    assert_eq!(server.get("/v1/index").done()["items"], 1);
    let own = format!("http://{}", server.address);
    for answer in writes(&server, &[("Origin", &own)]) {
        answer.done();
    }
    // A browser would ask for leave like this, and gets none.
    let leave = [("Origin", "http://example.org"), ("Access-Control-Request-Method", "PUT")];
    assert!(server.ask("OPTIONS", "/v1/items/old", &leave, "").header("access-control-allow-origin").is_empty());
}

#[test]
fn names_that_others_can_own_are_refused() {
    let server = Folder::new().serve("--allow-host search.example.org");
    for host in ["example.org", "attacker.test:8080", "192.0.2.7"] {
        let detail = server.ask("GET", "/v1/plan", &[("Host", host)], "").refused(421);
        assert!(detail.contains("--allow-host"), "{detail}");
    }
    for host in ["localhost", "search.example.org", "Search.Example.org:443", "[::1]:80"] {
        assert_eq!(server.ask("GET", "/v1/plan", &[("Host", host)], "").status, 200, "{host}");
    }
}

#[test]
fn beyond_loopback_writes_need_a_token() {
    let folder = Folder::with_index(&[("old", LIBRARY)]);
    let server = folder.serve("news.idx --listen 0.0.0.0:0");
    let address = format!("127.0.0.1:{}", server.address.port()).parse().unwrap();
    let answer = crate::http::ask(address, "PUT", "/v1/items/x", &[JSON], br#"{"text":"x"}"#);
    let detail = answer.refused(403);
    assert!(detail.contains("--token-file"), "{detail}");
    assert_eq!(crate::http::ask(address, "GET", "/v1/items/old", &[], b"").status, 200);
}

#[test]
fn token_files_must_hold_a_token() {
    let folder = Folder::with_index(&[]);
    for (content, words) in [("", "there is no token"), ("short\n", "line 1"), ("\nwith a blank in it\n", "line 2")] {
        folder.write("tokens", content);
        let said = folder.does_not_serve("news.idx --token-file tokens");
        assert!(said.contains("tokens") && said.contains(words) && said.contains("openssl rand"), "{said}");
    }
    assert!(folder.does_not_serve("news.idx --token-file missing").contains("missing"));
    assert!(folder.does_not_serve("news.idx --private").contains("--token-file"));
}
