//! Many connections that ask a service at the same time, each one request after the other.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::latency::Latencies;

/// A connection that is kept between requests.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

/// A service that does not answer for so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Sends a request and gives the body of its answer, which must be a success.
    pub(crate) fn ask(&mut self, request: &[u8]) -> Result<Vec<u8>> {
        self.stream.get_mut().write_all(request)?;
        let status = self.line()?;
        let mut length = None;
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = Some(value.trim().parse()?);
            }
        }
        let mut body = vec![0; length.context("an answer does not tell its length")?];
        self.stream.read_exact(&mut body)?;
        let is_success = status.split(' ').nth(1).is_some_and(|code| code.starts_with('2'));
        ensure!(is_success, "the service answered {status}: {}", String::from_utf8_lossy(&body));
        Ok(body)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            bail!("the service closed a connection");
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }
}

/// A request as it is sent, with a JSON body.
pub(crate) fn request(method: &str, path: &str, body: &serde_json::Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// What the connections saw.
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) seconds: f64,
    pub(crate) times: Latencies,
    /// The first answer to each request, by its number.
    pub(crate) bodies: Vec<(usize, Vec<u8>)>,
}

/// Lets so many connections send the requests, in turn and over again, for so long.
pub(crate) fn send_all(address: SocketAddr, requests: &[Vec<u8>], connections: usize, time: Duration) -> Result<Load> {
    let next = AtomicUsize::new(0);
    let opened: Vec<Connection> = (0..connections).map(|_| Connection::open(address)).collect::<Result<_>>()?;
    let began = Instant::now();
    let send = |mut connection: Connection| -> Result<Load> {
        let mut load = Load::default();
        while began.elapsed() < time {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let body = load.times.time(|| connection.ask(&requests[number % requests.len()]))?;
            if number < requests.len() {
                load.bodies.push((number, body));
            }
        }
        Ok(load)
    };
    let send = &send;
    let loads: Vec<Result<Load>> = std::thread::scope(|scope| {
        let threads: Vec<_> = opened.into_iter().map(|connection| scope.spawn(move || send(connection))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| bail!("a connection panicked"))).collect()
    });
    let mut all = Load { seconds: began.elapsed().as_secs_f64(), ..Load::default() };
    for load in loads {
        let load = load?;
        all.times.extend(load.times);
        all.bodies.extend(load.bodies);
    }
    Ok(all)
}

/// Sends requests one after the other until it is told to stop.
pub(crate) fn send_until(
    address: SocketAddr,
    stop: &AtomicBool,
    requests: impl Iterator<Item = Vec<u8>>,
) -> Result<Latencies> {
    let mut connection = Connection::open(address)?;
    let mut times = Latencies::default();
    for request in requests {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        times.time(|| connection.ask(&request))?;
    }
    Ok(times)
}
