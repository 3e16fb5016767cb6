//! `lookalike serve` under many connections, with and without a writer.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use benchmarks::corpus::Corpus;
use benchmarks::definition::{Definition, IndexMeasures};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;
use serde_json::json;

use super::asked::{Answers, Asked, Found};
use super::latency::Latencies;
use super::load::{self, Load};
use crate::accuracy::Accuracy;
use crate::program;

/// How long requests are sent before it counts.
const WARMING: Duration = Duration::from_secs(2);

/// What the connections saw, and what the answers told.
pub(crate) struct Served {
    pub(crate) seconds: f64,
    pub(crate) times: Latencies,
    pub(crate) accuracy: Accuracy,
}

/// The service without a writer, and with one.
pub(crate) struct Services {
    pub(crate) reading: Served,
    pub(crate) beside_writer: Served,
    pub(crate) writes: Latencies,
}

/// Unseen texts of numbers from `first_unseen` on are written, and stay.
pub(crate) fn measure(
    index: &Path,
    definition: &Definition,
    measures: &IndexMeasures,
    asked: &Asked,
    answers: &Answers,
    (corpus, first_unseen): (&Corpus, u64),
) -> Result<Services> {
    let service = Service::start(index, definition.most_threads())?;
    let requests: Vec<Vec<u8>> =
        asked.texts.iter().map(|text| load::request("POST", "/v1/query", &json!({ "text": text }))).collect();
    let send = |time: Duration| load::send_all(service.address, &requests, measures.connections, time);
    let time = Duration::from_secs(measures.service_seconds);
    send(WARMING)?;
    let reading = send(time)?;
    let stop = AtomicBool::new(false);
    let (beside_writer, writes) = std::thread::scope(|scope| {
        let puts = (0..).map(|number| {
            let text = corpus.unseen_text(first_unseen + number);
            load::request("PUT", &format!("/v1/items/w{number}"), &json!({ "text": text }))
        });
        let writer = scope.spawn(|| load::send_until(service.address, &stop, puts));
        let load = send(time);
        stop.store(true, Ordering::Relaxed);
        let writes = writer.join().ok().context("the writer panicked")?;
        anyhow::Ok((load?, writes?))
    })?;
    service.stop()?;
    Ok(Services { reading: understand(reading, answers)?, beside_writer: understand(beside_writer, answers)?, writes })
}

/// What of an answer is looked at.
#[derive(Deserialize)]
struct Told {
    matches: Vec<ToldMatch>,
}

#[derive(Deserialize)]
struct ToldMatch {
    id: String,
    similarity: f64,
}

fn understand(load: Load, answers: &Answers) -> Result<Served> {
    let mut found: Vec<(usize, Found)> = Vec::new();
    for (number, body) in &load.bodies {
        let told: Told = serde_json::from_slice(body).context("an answer is not understood")?;
        found.push((*number, told.matches.into_iter().map(|item| (item.id, Some(item.similarity))).collect()));
    }
    let accuracy = answers.compare(u64::MAX, found.iter().map(|(number, found)| (*number, found.as_slice())));
    Ok(Served { seconds: load.seconds, times: load.times, accuracy })
}

/// A service that runs; killed if it is dropped before it was stopped.
struct Service {
    child: Child,
    address: SocketAddr,
}

impl Service {
    fn start(index: &Path, threads: usize) -> Result<Self> {
        let mut command = Command::new(program("lookalike")?);
        // A line a request would measure the log.
        command.arg("serve").arg(index).args(["--listen", "127.0.0.1:0", "--log-level", "warn"]);
        command.args(["-j", &threads.to_string()]).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start the service")?;
        let mut told = BufReader::new(child.stderr.take().context("the service has no stderr")?);
        let mut service = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let mut line = String::new();
        told.read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.with_context(|| format!("the service did not start: {line}"))?;
        service.address = address.parse().with_context(|| format!("{address} is no address"))?;
        // Whatever else it says is shown; a full pipe would stop it.
        std::thread::spawn(move || std::io::copy(&mut told, &mut std::io::stderr()));
        Ok(service)
    }

    fn stop(mut self) -> Result<()> {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).context("cannot stop the service")?;
        let status = self.child.wait()?;
        ensure!(status.success(), "the service ended with {status}");
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // After an error elsewhere; one that has ended already cannot be killed, and need not be.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
