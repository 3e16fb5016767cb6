//! How the service ends: nothing that was promised is lost.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lookalike::Snapshot;
use serde_json::json;

use crate::http::{connect, read_answer};
use crate::server::{FERRY, Folder};

#[test]
fn signals_end_it_in_peace() {
    for signal in ["INT", "TERM"] {
        let folder = Folder::with_index(&[]);
        let server = folder.serve("news.idx");
        server.put("kept", FERRY).done();
        server.signal(signal);
        let (status, log) = server.ended();
        assert_eq!(status, Some(0), "{log:?}");
        assert!(log.last().is_some_and(|line| line.contains("stopped")), "{log:?}");
        assert!(Snapshot::open(&folder.path("news.idx")).unwrap().get("kept").unwrap().is_some());
    }
}

#[test]
fn a_request_that_is_under_way_is_finished() {
    let folder = Folder::with_index(&[]);
    let server = folder.serve("news.idx");
    let body = json!({ "text": FERRY }).to_string();
    let mut stream = connect(server.address);
    let head = "PUT /v1/items/late HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{}", body.len(), &body[..5]).as_bytes()).unwrap();
    // Only what has arrived can be under way.
    while !server.get("/metrics").text().contains("lookalike_http_requests_under_way 2") {
        std::thread::sleep(Duration::from_millis(10));
    }
    server.signal("TERM");
    std::thread::sleep(Duration::from_millis(300));
    assert!(std::net::TcpStream::connect(server.address).is_err(), "no new connections are taken");
    stream.write_all(&body.as_bytes()[5..]).unwrap();
    read_answer(stream).done();
    let (status, log) = server.ended();
    assert_eq!(status, Some(0), "{log:?}");
    assert!(Snapshot::open(&folder.path("news.idx")).unwrap().get("late").unwrap().is_some());
}

#[test]
fn every_acknowledged_write_is_on_disk() {
    for signal in ["TERM", "KILL"] {
        let folder = Folder::with_index(&[]);
        let server = folder.serve("news.idx --log-level off");
        let address = server.address;
        let is_over = AtomicBool::new(false);
        let acknowledged = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let is_over = &is_over;
                    scope.spawn(move || {
                        let mut acknowledged = Vec::new();
                        for number in 0.. {
                            let id = format!("{writer}-{number}");
                            if is_over.load(Ordering::Relaxed) || !put(address, &id) {
                                return acknowledged;
                            }
                            acknowledged.push(id);
                        }
                        acknowledged
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_millis(300));
            server.signal(signal);
            let status = server.ended().0;
            assert_eq!(status, (signal == "TERM").then_some(0));
            is_over.store(true, Ordering::Relaxed);
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(!acknowledged.is_empty());
        let snapshot = Snapshot::open(&folder.path("news.idx")).unwrap();
        for id in acknowledged {
            assert!(snapshot.get(&id).unwrap().is_some(), "{id} was acknowledged and is gone after SIG{signal}");
        }
    }
}

/// Puts an item; false where the service is not there any more.
fn put(address: std::net::SocketAddr, id: &str) -> bool {
    let attempt = || {
        let mut stream = std::net::TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let body = json!({ "text": format!("{FERRY} {id}") }).to_string();
        let head = format!("PUT /v1/items/{id} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        let length = body.len();
        write!(stream, "{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")?;
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut stream, &mut answer)?;
        Ok::<_, std::io::Error>(answer.starts_with("HTTP/1.1 200") && answer.contains("sequence"))
    };
    attempt().unwrap_or(false)
}

#[test]
fn silence_is_kept_where_it_is_asked_for() {
    let folder = Folder::new();
    // Without a line that names the port, one must be known.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = folder
        .command(&format!("serve -q --listen 127.0.0.1:{port}"))
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let address = format!("127.0.0.1:{port}").parse().unwrap();
    let patience = std::time::Instant::now() + Duration::from_secs(20);
    while std::net::TcpStream::connect(address).is_err() {
        assert!(std::time::Instant::now() < patience, "it never listened");
        std::thread::sleep(Duration::from_millis(10));
    }
    crate::http::ask(address, "GET", "/healthz", &[], b"").done();
    let sent = std::process::Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(sent.success());
    let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}
