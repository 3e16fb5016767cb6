//! Whatever comes in: a clear refusal, and the service still up.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use lookalike::Index;
use serde_json::json;

use crate::http::{connect, read_answer};
use crate::server::{FERRY, Folder, JSON, LATE_FERRY, LINES, Server};

#[test]
fn broken_bodies_are_refused() {
    let folder = Folder::with_index(&[("old", FERRY)]);
    let server = folder.serve("news.idx");
    for path in ["/v1/query", "/v1/compare"] {
        for body in
            ["", "{", "[]", "null", "{\"text\": }", "\u{1}", "{\"text\": \"x\", \"left\": 1}", "{\"text\": 7.5}"]
        {
            let detail = server.ask("POST", path, &[JSON], body).refused(400);
            assert!(detail.contains("JSON"), "{path} {body}: {detail}");
        }
        let half = [b'{', b'"', 0xff, 0xfe];
        crate::http::ask(server.address, "POST", path, &[JSON], &half).refused(400);
        let deep = "[".repeat(100_000);
        server.ask("POST", path, &[JSON], &deep).refused(400);
    }
    for body in [
        json!({"text": FERRY, "threshold": 0}),
        json!({"text": FERRY, "threshold": 1.5}),
        json!({"text": FERRY, "threshold": "high"}),
        json!({"text": FERRY, "limit": 0}),
        json!({"text": FERRY, "limit": -1}),
        json!({"text": FERRY, "limit": 1_000_000}),
        json!({"text": FERRY, "limit": 101, "passages": true}),
        json!({"text": FERRY, "measure": "length"}),
        json!({"text": FERRY, "treshold": 0.8}),
        json!({"text": [[1]]}),
    ] {
        server.post("/v1/query", &body).refused(400);
    }
    server.post("/v1/compare", &json!({"left": "", "right": "", "shingles": "words:0"})).refused(400);
    server.ask("PUT", "/v1/items/x", &[JSON], r#"{"text": "x", "time": -1}"#).refused(400);
    server.is_well();
    assert_eq!(server.alike(FERRY).len(), 1);
}

#[test]
fn odd_contents_are_taken_as_they_are() {
    let folder = Folder::with_index(&[]);
    let server = folder.serve("news.idx");
    for (id, text) in [("empty", ""), ("nul", "a\0b"), ("marks", "\u{301}\u{301}"), ("wide", &"𝄞 ".repeat(10_000))] {
        server.put(id, text).done();
        assert_eq!(server.get(&format!("/v1/items/{id}")).done()["text"], text);
        server.post("/v1/query", &json!({"text": text, "passages": true})).done();
    }
    assert!(server.alike("").is_empty(), "an empty text is alike to nothing");
}

#[test]
fn other_content_types_are_refused() {
    let folder = Folder::with_index(&[]);
    let server = folder.serve("news.idx");
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    for headers in [&[][..], &[form], &[("Content-Type", "text/plain")], &[LINES]] {
        let detail = server.ask("POST", "/v1/query", headers, r#"{"text":"x"}"#).refused(415);
        assert!(detail.contains("application/json"), "{detail}");
        server.ask("PUT", "/v1/items/x", headers, r#"{"text":"x"}"#).refused(415);
    }
    server.ask("POST", "/v1/items", &[JSON], r#"{"id":1,"text":"x"}"#).refused(415);
    server.ask("POST", "/v1/query", &[("Content-Type", "Application/JSON; charset=utf-8")], r#"{"text":"x"}"#).done();
    assert_eq!(server.get("/v1/index").done()["items"], 0);
}

#[test]
fn unknown_things_are_refused() {
    let folder = Folder::with_index(&[("old", FERRY)]);
    let server = folder.serve("news.idx");
    let detail = server.get("/v1/items/unknown").refused(404);
    assert!(detail.contains("\"unknown\""), "{detail}");
    server.ask("DELETE", "/v1/items/unknown", &[], "").refused(404);
    for path in ["/v2/query", "/v1", "/v1/items/", "/page.html", "/../etc/passwd", "/v1/items/a/b"] {
        server.get(path).refused(404);
    }
    server.get("/v1/items/%ff").refused(400);
    server.get("/v1/query").refused(405);
    server.ask("BREW", "/", &[], "").refused(405);
    server.is_well();
}

#[test]
fn what_is_not_http_does_no_harm() {
    let server = Folder::new().serve("");
    for bytes in
        [&b"\x16\x03\x01\x02\x00"[..], b"GET\r\n\r\n", b"\r\n\r\n\r\n", &[0xff; 4096], b"GET / HTTP/9.9\r\n\r\n"]
    {
        let mut stream = connect(server.address);
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stream, &mut rest);
    }
    let mut stream = connect(server.address);
    stream.write_all(b"POST /v1/compare HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n").unwrap();
    stream.write_all(b"Connection: close\r\nContent-Length: 100\r\n\r\n{\"left\": ").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    // Whoever hangs up in the middle of a body gets a refusal, or nothing.
    let mut rest = Vec::new();
    let _ = std::io::Read::read_to_end(&mut stream, &mut rest);
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 400"), "{}", String::from_utf8_lossy(&rest));
    let mut stream = connect(server.address);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    read_answer(stream).refused(400);
    server.is_well();
}

#[test]
fn what_is_no_index_is_refused_at_the_start() {
    let folder = Folder::new();
    let said = folder.does_not_serve("missing.idx");
    assert!(said.contains("missing.idx") && said.contains("lookalike index build missing.idx"), "{said}");
    std::fs::create_dir(folder.path("other")).unwrap();
    folder.write("other/file", "x");
    let said = folder.does_not_serve("other");
    assert!(said.starts_with("error: ") && said.contains("other"), "{said}");
    folder.write("file", "x");
    assert!(folder.does_not_serve("file --read-only").contains("file"));
}

#[test]
fn a_second_writer_is_refused() {
    let folder = Folder::with_index(&[("old", FERRY)]);
    let writer = Index::open(&folder.path("news.idx")).unwrap();
    let said = folder.does_not_serve("news.idx");
    assert!(said.contains("news.idx") && said.contains("--read-only"), "{said}");
    let server = folder.serve("news.idx --read-only");
    assert_eq!(server.alike(FERRY).len(), 1);
    drop(writer);
    let server = folder.serve("news.idx");
    assert!(folder.does_not_serve("news.idx").contains("--read-only"), "a service is a writer too");
    server.is_well();
}

#[test]
fn a_folder_that_cannot_be_written_is_served_read_only() {
    let folder = Folder::with_index(&[("old", FERRY)]);
    let may = |path: &std::path::Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    for entry in std::fs::read_dir(folder.path("news.idx")).unwrap() {
        may(&entry.unwrap().path(), 0o444);
    }
    may(&folder.path(""), 0o755);
    may(&folder.path("news.idx"), 0o555);
    // Permissions mean nothing to root, who therefore runs a copy of the program as somebody else.
    let program = folder.path("program");
    std::fs::copy(env!("CARGO_BIN_EXE_lookalike"), &program).unwrap();
    may(&program, 0o755);
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0);
    let command = |arguments: &str| {
        let mut command = Command::new(&program);
        command.args(["serve", "--listen", "127.0.0.1:0", "news.idx"]).args(arguments.split_whitespace());
        command.current_dir(folder.path(""));
        if is_root {
            const NOBODY: u32 = 65_534;
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    };
    let said = Folder::ends_at_once(command(""));
    assert!(said.contains("news.idx") && said.contains("--read-only"), "{said}");
    let server = Server::start(command("--read-only"));
    assert_eq!(server.alike(LATE_FERRY).len(), 1);
    let detail = server.put("new", FERRY).refused(403);
    assert!(detail.contains("--read-only"), "{detail}");
    server.is_well();
    may(&folder.path("news.idx"), 0o755);
}

#[test]
fn a_full_disk_is_an_error_and_the_service_goes_on() {
    const MOST: usize = 2_000;
    let folder = Folder::with_index(&[("old", FERRY)]);
    // Files may not grow beyond a few hundred kilobytes: to the program that is what a full disk is.
    let serve = format!("exec {} serve --listen 127.0.0.1:0 news.idx", env!("CARGO_BIN_EXE_lookalike"));
    let mut command = Command::new("sh");
    command.args(["-c", &format!("trap '' XFSZ; ulimit -f 512; {serve}")]).current_dir(folder.path(""));
    let server = Server::start(command);
    let text = |number: usize| (0..200).map(|word| format!("w{} ", number * 1_000 + word)).collect::<String>();
    let stored = (0..MOST).take_while(|number| {
        let answer = server.put(&number.to_string(), &text(*number));
        if answer.status != 200 {
            assert!(!answer.refused(507).is_empty());
            return false;
        }
        true
    });
    let stored = stored.count();
    assert!((1..MOST).contains(&stored), "{stored} items were stored");
    server.is_well();
    assert_eq!(server.alike(FERRY).len(), 1);
    assert_eq!(server.get("/v1/index").done()["items"], stored + 1, "what was refused is not there");
    server.get(&format!("/v1/items/{stored}")).refused(404);
    assert_eq!(server.alike(&text(stored - 1))[0].0, (stored - 1).to_string());
    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
    // With room again, all that was acknowledged is there, and more can come.
    let server = folder.serve("news.idx");
    assert_eq!(server.get("/v1/index").done()["items"], stored + 1);
    server.put("more", LATE_FERRY).done();
    assert_eq!(server.alike(FERRY).len(), 2);
}

#[test]
fn an_address_that_is_taken_is_named() {
    let server = Folder::new().serve("");
    let folder = Folder::new();
    let said = Folder::ends_at_once(folder.command(&format!("serve --listen {}", server.address)));
    assert!(said.contains(&server.address.to_string()) && said.contains("--listen"), "{said}");
}
