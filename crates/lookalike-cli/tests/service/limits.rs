//! Limits on body, time and number.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http::{connect, read_answer};
use crate::server::{FERRY, Folder, JSON, LINES};

#[test]
fn bodies_have_a_limit() {
    let folder = Folder::with_index(&[]);
    let server = folder.serve("news.idx --max-body 10kb");
    let text = "x ".repeat(6_000);
    for answer in [
        server.post("/v1/query", &json!({ "text": text })),
        server.post("/v1/compare", &json!({"left": text, "right": ""})),
        server.put("large", &text),
        server.ask("POST", "/v1/items", &[LINES], &format!("{}\n", json!({"id": "large", "text": "x"})).repeat(500)),
    ] {
        let detail = answer.refused(413);
        assert!(detail.contains("10000 bytes") && detail.contains("--max-body"), "{detail}");
    }
    assert_eq!(server.get("/v1/index").done()["items"], 0);
    server.post("/v1/query", &json!({ "text": &text[..9_000] })).done();
    server.is_well();
}

#[test]
fn a_large_body_is_refused_to_those_who_ask_first_and_those_who_do_not_say() {
    let server = Folder::new().serve("--max-body 1MiB");
    let head =
        "POST /v1/compare HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n";
    let mut stream = connect(server.address);
    stream.write_all(format!("{head}Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n").as_bytes()).unwrap();
    read_answer(stream).refused(413);

    let mut stream = connect(server.address);
    stream.write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes()).unwrap();
    let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
    for _ in 0..40 {
        stream.write_all(&chunk).unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    read_answer(stream).refused(413);
    // The default takes 16 MiB and no more.
    let server = Folder::new().serve("");
    let compare = |length| server.post("/v1/compare", &json!({"left": "x".repeat(length), "right": ""}));
    assert_eq!(compare(16_000_000).status, 200);
    compare(17_000_000).refused(413);
    server.is_well();
}

#[test]
fn requests_have_so_much_time() {
    let server = Folder::new().serve("--timeout 300ms");
    let begin = Instant::now();
    let mut stream = connect(server.address);
    stream.write_all(b"POST /v1/compare HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n").unwrap();
    stream.write_all(b"Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{").unwrap();
    let detail = read_answer(stream).refused(503);
    assert!(detail.contains("300ms") && detail.contains("--timeout"), "{detail}");
    assert!(begin.elapsed() >= Duration::from_millis(300));
    server.is_well();
}

#[test]
fn more_requests_than_there_are_places_for_come_back_later() {
    let server = Folder::new().serve("--max-requests 2 --timeout 20s");
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = connect(server.address);
            let head = format!(
                "POST /v1/compare HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}: {}\r\n",
                JSON.0, JSON.1
            );
            stream.write_all(format!("{head}Content-Length: 24\r\nExpect: 100-continue\r\n\r\n").as_bytes()).unwrap();
            // The service asks for the body once the request has its place.
            let mut leave = [0; 25];
            stream.read_exact(&mut leave).unwrap();
            assert_eq!(leave, *b"HTTP/1.1 100 Continue\r\n\r\n");
            stream
        })
        .collect();
    let refused = server.post("/v1/compare", &json!({"left": FERRY, "right": FERRY}));
    assert_eq!(refused.header("retry-after"), "1");
    refused.refused(503);
    server.is_well();
    for mut stream in waiting {
        stream.write_all(b"{\"left\":\"x\",\"right\":\"x\"}").unwrap();
        assert_eq!(read_answer(stream).status, 200);
    }
    server.post("/v1/compare", &json!({"left": FERRY, "right": FERRY})).done();
}
