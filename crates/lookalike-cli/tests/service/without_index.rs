//! What a service without an index does: compare, explain, and show the page.

use serde_json::json;

use crate::server::{FERRY, Folder, LATE_FERRY, Server};

/// What the command line answers to these arguments.
fn answer_of(folder: &Folder, arguments: &str) -> serde_json::Value {
    let output = folder.command(arguments).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn comparing_is_the_same_as_on_the_command_line() {
    let folder = Folder::new();
    let server = folder.serve("");
    let (left, right) = (format!("𝄞 «Ü» {FERRY}"), format!("{LATE_FERRY} 𝄞 «Ü»"));
    folder.write("left.txt", &left);
    folder.write("right.txt", &right);
    let answer = server.post("/v1/compare", &json!({"left": left, "right": right})).done();
    assert_eq!(answer, answer_of(&folder, "compare left.txt right.txt --json"));
    assert_eq!(answer["passages"][0]["left"][0], 6, "spans count characters, not bytes: {answer}");
    let words = server.post("/v1/compare", &json!({"left": left, "right": right, "shingles": "words:1"})).done();
    assert_eq!(words, answer_of(&folder, "compare left.txt right.txt --json --shingles words:1"));
    let empty = server.post("/v1/compare", &json!({"left": "", "right": ""})).done();
    assert_eq!((&empty["jaccard"], &empty["passages"]), (&json!(0.0), &json!([])));
}

#[test]
fn plans_are_the_same_as_on_the_command_line() {
    let folder = Folder::new();
    let server = folder.serve("");
    for (parameters, flags) in [
        ("", ""),
        ("?threshold=0.7&recall=0.95", "-t 0.7 --recall 0.95"),
        ("?bands=20x5&threshold=0.5", "--bands 20x5 -t 0.5"),
        (
            "?shingles=chars:9&normalize=nfc,lower&bag=true&seed=3",
            "--shingles chars:9 --normalize nfc,lower --bag --seed 3",
        ),
        ("?exact=true", "--exact"),
        ("?measure=containment", "--measure containment"),
    ] {
        let answer = server.get(&format!("/v1/plan{parameters}")).done();
        assert_eq!(answer, answer_of(&folder, &format!("plan --json {flags}")), "{parameters}");
    }
    let fine = server.get("/v1/plan?points=100").done();
    assert_eq!(fine["curve"].as_array().unwrap().len(), 100);
    assert_eq!(fine["curve"][79]["similarity"], 0.8);
}

#[test]
fn impossible_plans_are_refused() {
    let server = Folder::new().serve("");
    for (parameters, word) in [
        ("threshold=2", "out of range"),
        ("threshold=x", "threshold"),
        ("bands=0x5", "banding"),
        ("bands=60000x1", "up to 2000"),
        ("hashes=60000", "up to 2000"),
        ("points=0", "points"),
        ("points=1000000", "points"),
        ("colour=red", "colour"),
        ("exact=true&bands=4x4", "--bands"),
    ] {
        let detail = server.get(&format!("/v1/plan?{parameters}")).refused(400);
        assert!(detail.contains(word), "{parameters}: {detail}");
    }
    server.is_well();
}

#[test]
fn what_needs_an_index_says_so() {
    let server = Folder::new().serve("");
    let says_so = |answer: crate::http::Answer| {
        let detail = answer.refused(409);
        assert!(detail.contains("lookalike serve INDEX"), "{detail}");
    };
    says_so(server.get("/v1/index"));
    says_so(server.get("/v1/items/a"));
    says_so(server.put("a", FERRY));
    says_so(server.ask("DELETE", "/v1/items/a", &[], ""));
    says_so(server.ask("POST", "/v1/items", &[crate::server::LINES], "{\"id\": 1, \"text\": \"x\"}"));
    says_so(server.post("/v1/query", &json!({"text": FERRY})));
    server.is_well();
}

#[test]
fn the_page_and_its_files_are_guarded_by_headers() {
    let server = Folder::new().serve("");
    for (path, kind) in
        [("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript"), ("/icon.svg", "image/svg+xml")]
    {
        let answer = server.get(path);
        assert_eq!(answer.status, 200);
        assert!(answer.header("content-type").starts_with(kind), "{path}");
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        let names_hosts = ["http://", "https://", "//cdn"]
            .iter()
            .any(|host| answer.text().replace("http://www.w3.org/2000/svg", "").contains(host));
        assert!(!names_hosts, "{path} names another host");
    }
    assert!(!server.get("/page.js").text().contains("innerHTML"));
    assert!(server.get("/healthz").header("access-control-allow-origin").is_empty());
}

#[test]
fn requests_have_ids_and_leave_their_mark() {
    let server: Server = Folder::new().serve("");
    assert_eq!(server.ask("GET", "/healthz", &[("X-Request-Id", "mine-7")], "").header("x-request-id"), "mine-7");
    let made = server.get("/healthz").header("x-request-id").to_owned();
    assert!(!made.is_empty() && made != server.get("/healthz").header("x-request-id"));
    let long = "x".repeat(200);
    assert_ne!(server.ask("GET", "/healthz", &[("X-Request-Id", &long)], "").header("x-request-id"), long);

    server.post("/v1/compare", &json!({"left": "secret words", "right": FERRY})).done();
    server.get("/nowhere").refused(404);
    let figures = server.get("/metrics");
    assert!(figures.header("content-type").starts_with("application/openmetrics-text"));
    for line in [
        r#"lookalike_http_requests_total{method="POST",route="/v1/compare",status="200"} 1"#,
        r#"lookalike_http_requests_total{method="GET",route="other",status="404"} 1"#,
        r#"lookalike_http_request_duration_seconds_count{route="/v1/compare"} 1"#,
        "lookalike_http_requests_under_way 1",
    ] {
        assert!(figures.text().contains(line), "{line} is not in\n{}", figures.text());
    }
    server.signal("TERM");
    let (_, log) = server.ended();
    let lines: Vec<serde_json::Value> = log.iter().map(|line| serde_json::from_str(line).expect(line)).collect();
    let compared = lines.iter().find(|line| line["path"] == "/v1/compare").expect("the request is logged");
    assert_eq!(
        (&compared["method"], &compared["status"], &compared["level"]),
        (&json!("POST"), &json!(200), &json!("INFO"))
    );
    assert!(compared["ms"].as_f64().is_some() && compared["id"].as_str().is_some_and(|id| !id.is_empty()));
    assert!(!log.iter().any(|line| line.contains("secret")), "texts are never logged");
}
