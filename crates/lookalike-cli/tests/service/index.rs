//! What a service with an index does: search, look up, add, replace, remove.

use serde_json::{Value, json};

use crate::server::{FERRY, Folder, JSON, LATE_FERRY, LIBRARY, LINES};

#[test]
fn look_alikes_come_best_first_with_what_they_share() {
    let folder = Folder::with_index(&[("late", LATE_FERRY), ("library", LIBRARY), ("on-time", FERRY)]);
    let server = folder.serve("news.idx");
    let answer = server.post("/v1/query", &json!({"text": FERRY, "passages": true})).done();
    assert_eq!(answer["matches"][0]["id"], "on-time");
    assert_eq!(answer["matches"][0]["similarity"], 1.0);
    let late = &answer["matches"][1];
    assert_eq!((&late["id"], &late["similarity"]), (&json!("late"), &json!(13.0 / 15.0)));
    assert_eq!((&late["text"], &late["time"]), (&json!(LATE_FERRY), &json!(1_700_000_000_000_u64)));
    let shared = FERRY.strip_suffix(" open").unwrap();
    let (span, text) = ([0, shared.len()], shared);
    let expected = json!([{"tokens": 17, "similarity": 1.0, "left": span, "right": span, "text": text}]);
    assert_eq!(late["passages"], expected);
    assert_eq!(answer["matches"].as_array().unwrap().len(), 2);
    assert!(answer["promise"].as_f64().unwrap() >= 0.99, "{answer}");
    assert!(answer["compared"].as_u64().is_some() && answer["bounded"] == 0);
}

#[test]
fn thresholds_limits_and_measures_are_heard() {
    let folder = Folder::with_index(&[("late", LATE_FERRY), ("library", LIBRARY), ("on-time", FERRY)]);
    let server = folder.serve("news.idx");
    let ids = |query: Value| {
        let answer = server.post("/v1/query", &query).done();
        let ids = answer["matches"].as_array().unwrap().iter().map(|found| found["id"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>(), answer["promise"].clone())
    };
    assert_eq!(ids(json!({"text": FERRY})).0, ["on-time", "late"]);
    assert_eq!(ids(json!({"text": FERRY, "threshold": 0.9})).0, ["on-time"]);
    assert_eq!(ids(json!({"text": FERRY, "limit": 1})).0, ["on-time"]);
    let start = FERRY.split_inclusive(' ').take(9).collect::<String>();
    assert!(ids(json!({"text": start})).0.is_empty());
    assert_eq!(ids(json!({"text": FERRY, "threshold": 0.5})).1, Value::Null, "below 0.8 nothing is promised");
    let plain = server.post("/v1/query", &json!({"text": FERRY})).done();
    assert!(plain["matches"][0].get("text").is_none(), "texts come where passages are asked for");
}

#[test]
fn without_stored_texts_there_are_matches_and_no_passages() {
    let folder = Folder::with_index_of(&[("late", LATE_FERRY)], false);
    let server = folder.serve("news.idx");
    let answer = server.post("/v1/query", &json!({"text": FERRY, "passages": true})).done();
    assert_eq!(answer["matches"][0]["id"], "late");
    assert!(answer["matches"][0].get("text").is_none() && answer["matches"][0].get("passages").is_none());
    assert_eq!(server.get("/v1/index").done()["stores_text"], false);
}

#[test]
fn items_are_added_replaced_and_removed() {
    let folder = Folder::with_index(&[]);
    let server = folder.serve("news.idx");
    let first = server.put("a%2Fb%20%C3%BC", FERRY).done();
    assert_eq!(first["items"], 1);
    assert_eq!(server.alike(FERRY), [("a/b ü".into(), 1.0)]);
    let item = server.get("/v1/items/a%2Fb%20%C3%BC").done();
    assert_eq!((&item["id"], &item["text"], &item["shingles"]), (&json!("a/b ü"), &json!(FERRY), &json!(14)));

    let second = server.put("a%2Fb%20%C3%BC", LIBRARY).done();
    assert!(second["sequence"].as_u64() > first["sequence"].as_u64());
    assert!(server.alike(FERRY).is_empty() && server.alike(LIBRARY).len() == 1);
    assert_eq!(server.get("/v1/index").done()["items"], 1);

    assert_eq!(server.ask("DELETE", "/v1/items/a%2Fb%20%C3%BC", &[], "").done()["items"], 1);
    assert!(server.alike(LIBRARY).is_empty());
    server.get("/v1/items/a%2Fb%20%C3%BC").refused(404);
    let dated = json!({"text": FERRY, "time": 7}).to_string();
    server.ask("PUT", "/v1/items/dated", &[JSON], &dated).done();
    assert_eq!(server.get("/v1/items/dated").done()["time"], 7);
}

#[test]
fn sets_are_lists() {
    let folder = Folder::with_index(&[]);
    let server = folder.serve("news.idx");
    server.ask("PUT", "/v1/items/basket", &[JSON], r#"{"text": ["milk", "bread", 7, "eggs", "rice"]}"#).done();
    let answer = server.post("/v1/query", &json!({"text": ["rice", "7", "eggs", "bread", "milk"]})).done();
    assert_eq!(answer["matches"][0]["similarity"], 1.0, "{answer}");
}

#[test]
fn a_bulk_is_taken_whole_or_not_at_all() {
    let folder = Folder::with_index(&[]);
    let server = folder.serve("news.idx");
    let lines = (0..500).map(|id| format!("{{\"id\": {id}, \"text\": \"{LIBRARY} {id}\", \"url\": \"x\"}}\r\n\n"));
    let answer = server.ask("POST", "/v1/items", &[LINES], &lines.collect::<String>()).done();
    assert_eq!(answer["items"], 500);
    assert_eq!(server.get("/v1/index").done()["items"], 500);
    assert_eq!(server.get("/v1/items/499").done()["id"], "499");

    let bad = format!("{{\"id\": \"new\", \"text\": \"{FERRY}\"}}\n\n{{\"id\": \"newer\"}}\n");
    let answer = server.ask("POST", "/v1/items", &[LINES], &bad);
    assert_eq!(answer.json()["line"], 3);
    let detail = answer.refused(400);
    assert!(detail.starts_with("line 3: ") && detail.contains("text"), "{detail}");
    for (bad, line) in
        [("{\"id\": \"new\", \"text\": \"x\"}\n{\"id\"", 2), ("x", 1), ("{\"id\": \"\", \"text\": \"\"}", 1)]
    {
        let detail = server.ask("POST", "/v1/items", &[LINES], bad).refused(400);
        assert!(detail.starts_with(&format!("line {line}: ")), "{detail}");
    }
    server.ask("POST", "/v1/items", &[LINES], "\n\n").refused(400);
    assert_eq!(server.get("/v1/index").done()["items"], 500, "nothing of a bad body is kept");
    server.get("/v1/items/new").refused(404);
}

#[test]
fn many_writers_are_all_heard() {
    const WRITERS: usize = 16;
    const EACH: usize = 8;
    let folder = Folder::with_index(&[]);
    let server = folder.serve("news.idx");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let server = &server;
            scope.spawn(move || {
                for number in 0..EACH {
                    server.put(&format!("{writer}-{number}"), &format!("{FERRY} {writer} {number}")).done();
                    assert_eq!(server.get(&format!("/v1/items/{writer}-{number}")).status, 200, "it is seen at once");
                }
            });
        }
    });
    assert_eq!(server.get("/v1/index").done()["items"], WRITERS * EACH);
    let figures = server.get("/metrics");
    let figure = |name: &str| {
        let line = figures.text().lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {}", figures.text())).trim().parse::<usize>().unwrap()
    };
    assert_eq!(figure("lookalike_index_writes_total"), WRITERS * EACH);
    assert_eq!(figure("lookalike_index_items"), WRITERS * EACH);
    assert!(figure("lookalike_index_commits_total") <= WRITERS * EACH);
    assert_eq!(figure("lookalike_index_failed_merges_total"), 0);
}

#[test]
fn a_read_only_service_follows_the_writer() {
    let folder = Folder::with_index(&[("late", LATE_FERRY)]);
    let writing = folder.serve("news.idx");
    let reading = folder.serve("news.idx --read-only");
    assert_eq!(reading.get("/v1/index").done()["read_only"], true);
    assert_eq!(reading.alike(FERRY).len(), 1);
    writing.put("on-time", FERRY).done();
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while reading.alike(FERRY).len() < 2 {
        assert!(std::time::Instant::now() < patience, "the reader never saw what was written");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    reading.put("x", FERRY).refused(403);
    reading.ask("DELETE", "/v1/items/late", &[], "").refused(403);
    assert_eq!(writing.get("/v1/index").done()["items"], 2);
}

#[test]
fn a_reader_that_loses_its_index_says_so_and_finds_it_again() {
    let folder = Folder::with_index(&[("late", LATE_FERRY)]);
    let server = folder.serve("news.idx --read-only");
    let until = |status| {
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while server.get("/readyz").status != status {
            assert!(std::time::Instant::now() < patience, "readiness was never {status}");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    };
    std::fs::rename(folder.path("news.idx"), folder.path("away.idx")).unwrap();
    until(503);
    assert_eq!(server.alike(FERRY).len(), 1, "the last state is still shown");
    std::fs::rename(folder.path("away.idx"), folder.path("news.idx")).unwrap();
    until(200);
}
