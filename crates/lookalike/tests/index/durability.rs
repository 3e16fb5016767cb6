//! kill -9 loses nothing that was acknowledged.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use lookalike::{Bands, Content, Index, IndexOptions, Settings, Shingles, Snapshot};

use crate::is_long;
use crate::random::Random;

/// Tells this program that it is the writer, and where the index is.
const WRITER: &str = "LOOKALIKE_TEST_WRITER";
/// The item that tells how many steps were committed.
const STEP: &str = "step";

/// What one step does: texts to insert, and ids to remove.
fn step(number: u64) -> Vec<(String, Option<String>)> {
    let mut random = Random::new(number);
    let mut changes: Vec<(String, Option<String>)> = vec![(STEP.into(), Some(number.to_string()))];
    for _ in 0..1 + random.below(6) {
        let id = format!("item {}", random.below(60));
        let words = 10 + random.below(60);
        let text: String = (0..words).map(|_| format!("w{} ", random.below(300))).collect();
        changes.push((id, (random.below(4) > 0).then_some(text)));
    }
    changes
}

/// The writer: steps on from where the index is, and acknowledges each on standard output. Called by the test below.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(WRITER) else { return };
    let mut index = Index::open(Path::new(&path)).unwrap();
    index.limit_log(30_000);
    let item = index.snapshot().get(STEP).unwrap();
    let mut number: u64 = item.map_or(0, |item| item.text.unwrap().parse().unwrap());
    loop {
        number += 1;
        for (id, text) in step(number) {
            match text {
                Some(text) => index.insert(&id, Content::Text(&text), Some(number)).unwrap(),
                None => {
                    index.remove(&id).unwrap();
                }
            }
        }
        index.commit().unwrap();
        writeln!(std::io::stdout(), "acknowledged {number}").unwrap();
        if number.is_multiple_of(17) {
            index.compact().unwrap();
        }
    }
}

#[test]
fn a_killed_writer_loses_nothing_and_invents_nothing() {
    let kills = if is_long() { 200 } else { 20 };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let settings = Settings::new(0.6).shingles(Shingles::words(2)).bands(Bands::Disjoint { bands: 8, rows: 2 });
    let options = IndexOptions { store_text: true };
    drop(Index::create_with(&path, &settings.plan().unwrap(), &options).unwrap());
    let mut random = Random::new(31);
    let mut model: BTreeMap<String, (String, u64)> = BTreeMap::new();
    let mut at = 0;
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "durability::writer", "--nocapture"])
            .env(WRITER, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let acknowledged = std::thread::spawn(move || {
            let numbers = output.lines().map_while(Result::ok);
            numbers.filter_map(|line| line.rsplit_once("acknowledged ")?.1.parse::<u64>().ok()).last()
        });
        std::thread::sleep(Duration::from_millis(30 + random.below(300) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let acknowledged = acknowledged.join().unwrap().unwrap_or(at);

        let snapshot = Snapshot::open(&path).unwrap();
        snapshot.check().unwrap();
        let reached = snapshot.get(STEP).unwrap().map_or(0, |item| item.text.unwrap().parse().unwrap());
        assert!(reached == acknowledged || reached == acknowledged + 1, "kill {kill}: {acknowledged} and {reached}");
        while at < reached {
            at += 1;
            for (id, text) in step(at) {
                match text {
                    Some(text) => model.insert(id, (text, at)),
                    None => model.remove(&id),
                };
            }
        }
        let items = snapshot.items().map(|item| item.unwrap());
        let found: BTreeMap<String, (String, u64)> =
            items.map(|item| (item.id, (item.text.unwrap(), item.time))).collect();
        assert_eq!(found, model, "kill {kill}, at step {at}");
    }
    assert!(at > kills, "{at} steps in {kills} kills are no test");
}
