//! Requests with random damage: each is answered in the proper form, and the service lives on.

use std::io::{Read, Write};

use crate::http::{ask, connect};
use crate::server::{FERRY, Folder, JSON, LATE_FERRY, LINES};

/// Numbers that look random and are the same everywhere (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    /// The bytes with some of them taken out, doubled, exchanged or cut off.
    fn damage(&mut self, bytes: &[u8]) -> Vec<u8> {
        const TELLING: &[u8] = b"\"\\{}[]:,-0123456789.eE \n\r\t\0\x7f\x80\xc3\xff";
        let mut damaged = bytes.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(damaged.len() + 1);
            match self.below(5) {
                0 => damaged.truncate(at),
                1 => damaged.insert(at, TELLING[self.below(TELLING.len())]),
                2 if at < damaged.len() => damaged[at] = self.below(256) as u8,
                3 if at < damaged.len() => {
                    damaged.remove(at);
                }
                _ => {
                    let end = (at + self.below(20)).min(damaged.len());
                    let piece = damaged[at..end].to_vec();
                    damaged.splice(at..at, piece);
                }
            }
        }
        damaged
    }
}

/// How many requests are damaged.
fn count() -> usize {
    if std::env::var_os("LOOKALIKE_LONG").is_some_and(|value| value == "1") { 20_000 } else { 600 }
}

#[test]
fn damaged_bodies_are_answered() {
    let folder = Folder::with_index(&[("old", LATE_FERRY)]);
    let server = folder.serve("news.idx --log-level warn");
    let query =
        format!(r#"{{"text": "{FERRY}", "threshold": 0.8, "limit": 3, "measure": "jaccard", "passages": true}}"#);
    let compare =
        format!(r#"{{"left": "{FERRY} \u00fc \ud834\udd1e", "right": "{LATE_FERRY}", "shingles": "words:2"}}"#);
    let item = format!(r#"{{"text": ["a", 7, true, "{FERRY}"], "time": 1700000000000}}"#);
    let lines =
        format!("{{\"id\": \"a\", \"text\": \"{FERRY}\"}}\n{{\"id\": 7, \"text\": [\"x\", 1], \"time\": 1}}\r\n\n");
    let requests = [
        ("POST", "/v1/query", JSON, query),
        ("POST", "/v1/compare", JSON, compare),
        ("PUT", "/v1/items/a", JSON, item),
        ("POST", "/v1/items", LINES, lines),
    ];
    for (method, path, kind, body) in &requests {
        assert_eq!(server.ask(method, path, &[*kind], body).status, 200, "{path} is right when it is whole");
    }
    let mut numbers = Numbers(4);
    let mut refused = 0;
    for _ in 0..count() {
        let (method, path, kind, body) = &requests[numbers.below(requests.len())];
        let body = numbers.damage(body.as_bytes());
        let answer = ask(server.address, method, path, &[*kind], &body);
        if answer.status == 200 {
            answer.done();
        } else {
            assert!(!answer.refused(400).is_empty(), "{}", String::from_utf8_lossy(&body));
            refused += 1;
        }
    }
    assert!(refused > count() / 4, "the damage shows: {refused}");
    server.is_well();
}

#[test]
fn damaged_heads_do_no_harm() {
    let folder = Folder::with_index(&[("old", LATE_FERRY)]);
    let server = folder.serve("news.idx --log-level warn");
    let head = "GET /v1/items/old?a=b HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nAuthorization: Bearer abc\r\n\
                X-Request-Id: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let mut numbers = Numbers(5);
    for _ in 0..count() {
        let mut stream = connect(server.address);
        let _ = stream.write_all(&numbers.damage(head.as_bytes()));
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let is_fine = answer.is_empty() || answer.starts_with(b"HTTP/1.") && !answer.starts_with(b"HTTP/1.1 5");
        assert!(is_fine, "{}", String::from_utf8_lossy(&answer));
    }
    server.is_well();
}
