//! A client of few words: one request a connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long an answer may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The value of a header; empty where there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("answers are UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The answer to a request that must be done.
    pub(crate) fn done(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// A refusal in its proper form; gives its detail.
    pub(crate) fn refused(self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert!(problem["type"].as_str().unwrap().starts_with("urn:lookalike:problem:"), "{problem}");
        assert!(!problem["title"].as_str().unwrap().is_empty());
        problem["detail"].as_str().unwrap().into()
    }
}

/// Sends a request with these headers; Host is the address unless another is given.
pub(crate) fn ask(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head += &format!("Host: {address}\r\n");
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    let mut stream = connect(address);
    stream.write_all(head.as_bytes()).unwrap();
    // The service may refuse before it has read all.
    let _ = stream.write_all(body);
    read_answer(stream)
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the service listens");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Reads an answer up to the end of the connection.
pub(crate) fn read_answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("the answer comes whole");
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("this is no answer: {}", String::from_utf8_lossy(&bytes)));
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.into(), value.into()));
    Answer { status, headers: headers.collect(), body: bytes[end + 4..].to_vec() }
}
