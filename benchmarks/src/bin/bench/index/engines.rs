//! Other libraries as indexes on the same texts: in their own memory, and in Redis.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use benchmarks::definition::{Definition, IndexMeasures};
use benchmarks::resources::run_measured;
use serde::Deserialize;

use super::asked::{Answers, Asked, Found, name};
use super::latency::Latencies;
use crate::accuracy::Accuracy;
use crate::engines::Place;

/// What an engine did with one storage.
pub(crate) struct EngineIndex {
    pub(crate) name: String,
    pub(crate) items: u64,
    pub(crate) sketching_seconds: f64,
    pub(crate) inserting_seconds: f64,
    pub(crate) text: Latencies,
    pub(crate) sketch: Latencies,
    pub(crate) accuracy: Accuracy,
    pub(crate) told: String,
}

/// What was measured, and why the rest was not.
#[derive(Default)]
pub(crate) struct EngineIndexes {
    pub(crate) measured: Vec<EngineIndex>,
    pub(crate) left_out: Vec<String>,
}

/// What an engine's script writes.
#[derive(Deserialize)]
struct Report {
    items: u64,
    sketching_seconds: f64,
    inserting_seconds: f64,
    text_nanoseconds: Vec<u64>,
    sketch_nanoseconds: Vec<u64>,
    found: std::collections::HashMap<String, Vec<String>>,
    told: String,
}

pub(crate) fn measure(
    definition: &Definition,
    measures: &IndexMeasures,
    corpus: &Path,
    asked: &Asked,
    answers: &Answers,
) -> Result<EngineIndexes> {
    let mut indexes = EngineIndexes::default();
    for engine in &definition.engines {
        let place = Place::prepare(engine).with_context(|| format!("{engine} cannot be installed"))?;
        let run = |records: u64, storage: &str| run(&place, definition, corpus, asked, answers, records, storage);
        let in_memory = run(measures.engine_records, "memory")?;
        indexes.measured.push(EngineIndex { name: format!("{engine}, memory"), ..in_memory });
        match Redis::start(&place.folder)? {
            Some(redis) => {
                let in_redis = run(measures.redis_records, &redis.port.to_string())?;
                indexes.measured.push(EngineIndex { name: format!("{engine}, Redis"), ..in_redis });
            }
            None => indexes.left_out.push(format!("{engine}, Redis: `redis-server` is not installed")),
        }
    }
    Ok(indexes)
}

fn run(
    place: &Place,
    definition: &Definition,
    corpus: &Path,
    asked: &Asked,
    answers: &Answers,
    records: u64,
    storage: &str,
) -> Result<EngineIndex> {
    let output = place.folder.join("answers.json");
    let mut command = place.script();
    command.arg(corpus).arg(records.to_string()).arg(&asked.file);
    command.args([&definition.threshold.to_string(), storage]).arg(&output);
    let usage = run_measured(command.stderr(File::create(place.folder.join("log.txt"))?))
        .with_context(|| format!("{} says why in log.txt in {}", place.name, place.folder.display()))?;
    eprintln!("  {} {records} records, {storage}: {:>7.3} s wall {:>7.3} s CPU", place.name, usage.wall, usage.cpu);
    let report = std::fs::read(&output).with_context(|| format!("cannot read {}", output.display()))?;
    let report: Report = serde_json::from_slice(&report).context("the report of an engine is not understood")?;
    let times = |nanoseconds: Vec<u64>| nanoseconds.into_iter().map(Duration::from_nanos).collect();
    let mut found: Vec<Found> = Vec::with_capacity(asked.texts.len());
    for number in 0..asked.texts.len() {
        let ids = report.found.get(&name(number)).map_or(&[][..], Vec::as_slice);
        found.push(ids.iter().map(|id| (id.clone(), None)).collect());
    }
    Ok(EngineIndex {
        name: String::new(),
        items: report.items,
        sketching_seconds: report.sketching_seconds,
        inserting_seconds: report.inserting_seconds,
        text: times(report.text_nanoseconds),
        sketch: times(report.sketch_nanoseconds),
        accuracy: answers.compare(records, found.iter().map(Vec::as_slice).enumerate()),
        told: report.told,
    })
}

/// A Redis of our own on loopback that keeps nothing; gone when it is dropped.
struct Redis {
    child: Child,
    port: u16,
}

/// How long Redis may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

impl Redis {
    /// `None` if it is not installed.
    fn start(folder: &Path) -> Result<Option<Self>> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.arg("--dir").arg(folder).stdin(Stdio::null()).stdout(File::create(folder.join("redis.txt"))?);
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).context("cannot start redis-server"),
        };
        let redis = Self { child, port };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(
                began.elapsed() < PATIENCE,
                "redis-server says why it did not start in redis.txt in {}",
                folder.display()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(redis))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It keeps nothing, so there is nothing to lose; one that has ended already need not be ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
