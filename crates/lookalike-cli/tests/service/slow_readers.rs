//! Clients that take their answers slowly, or not at all.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::http::connect;
use crate::server::{Folder, Server};

/// What the service gives a client that takes nothing, with the flags below: the time of a request, and two seconds.
const FLAGS: &str = "--timeout 200ms --log-level debug";
/// More than this is not the patience with an answer, but that with a head.
const SOON: Duration = Duration::from_secs(20);
/// Connections that the service takes at the same time.
const PLACES: usize = 1_024;
/// Requests whose answers no system's buffers hold.
const MANY: usize = 4_000;

/// Sends many requests at once; the last one asks to close.
fn ask_for_much(server: &Server) -> TcpStream {
    let mut stream = connect(server.address);
    let request = "GET /page.js HTTP/1.1\r\nHost: localhost\r\n";
    let requests = format!("{request}\r\n").repeat(MANY - 1);
    stream.write_all(format!("{requests}{request}Connection: close\r\n\r\n").as_bytes()).unwrap();
    stream
}

#[test]
fn who_takes_nothing_leaves_its_place_to_others() {
    allow_many_files();
    let server = Folder::new().serve(FLAGS);
    let mut greedy = ask_for_much(&server);
    let begin = Instant::now();
    let others: Vec<_> = (1..PLACES).map(|_| connect(server.address)).collect();
    server.get("/healthz").done();
    assert!(begin.elapsed() < SOON, "only the end of the others made room: {:?}", begin.elapsed());
    drop(others);

    // What it did not take is gone, and it is told so.
    let broken = greedy.read_to_end(&mut Vec::new()).map_err(|error| error.kind());
    assert_eq!(broken, Err(std::io::ErrorKind::ConnectionReset));
    server.is_well();
    server.signal("TERM");
    let (status, log) = server.ended();
    assert_eq!(status, Some(0));
    assert!(log.iter().any(|line| line.contains("a connection broke off") && line.contains("takes nothing")));
}

#[test]
fn who_takes_little_at_a_time_gets_all() {
    let server = Folder::new().serve(FLAGS);
    let script = server.get("/page.js").body;
    let mut stream = ask_for_much(&server);
    // So slowly that the system does not call its buffer free again before the patience is over.
    let mut taken = Vec::new();
    let mut piece = [0; 8 << 10];
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(7) {
        let length = stream.read(&mut piece).unwrap();
        taken.extend_from_slice(&piece[..length]);
        std::thread::sleep(Duration::from_millis(40));
    }
    stream.read_to_end(&mut taken).unwrap();
    let answers = taken.windows(script.len()).filter(|window| *window == script).count();
    assert_eq!(answers, MANY);
}

#[test]
fn a_large_answer_keeps_its_place_until_it_is_taken() {
    let text = "ferry ".repeat(2_000_000);
    let server = Folder::with_index(&[("large", &text)]).serve("news.idx --max-requests 1 --timeout 20s");
    let mut stream = connect(server.address);
    stream.write_all(b"GET /v1/items/large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    server.get("/v1/index").refused(503);
    server.is_well();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(rest.len() > text.len());
    server.get("/v1/index").done();
}

#[test]
fn who_takes_nothing_does_not_hold_up_the_end() {
    let server = Folder::new().serve(FLAGS);
    let _greedy = ask_for_much(&server);
    // Until the buffers are full, there is nothing to wait for.
    std::thread::sleep(Duration::from_millis(500));
    server.signal("TERM");
    let (status, log) = server.ended();
    assert_eq!(status, Some(0), "{log:?}");
}

/// Raises the limit of open files, of the service too: many systems allow no more than there are places.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const ENOUGH: u64 = 4 * PLACES as u64;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < ENOUGH) {
        let current = Some(limit.maximum.map_or(ENOUGH, |most| most.min(ENOUGH)));
        setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
    }
}
