//! The floor: reads records, cuts them into shingles and hashes those, with the engine's own reader and tokeniser, and
//! does nothing else. What `lookalike` takes beyond that is the price of the answer.
//!
//! `floor [--threads N] [--runs N] FILE...`

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use benchmarks::resources::own_cpu_seconds;
use lookalike::{Content, Shingler, Shingles};
use lookalike_io::{Inputs, ReadOptions, Reader, read_all};

/// What one thread has seen.
struct Seen {
    shingler: Shingler,
    hashes: Vec<u64>,
    records: usize,
    shingles: usize,
    bytes: u64,
    /// The sum of all hashes: it is the same for any number of threads, and makes the work needed.
    checksum: u64,
}

fn main() -> Result<()> {
    let (mut threads, mut runs, mut files) = (1, 1, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<usize> {
            let value = arguments.next().with_context(|| format!("{argument} needs a number"))?;
            value.parse().with_context(|| format!("{value} is no number"))
        };
        match argument.as_str() {
            "--threads" | "-j" => threads = number()?,
            "--runs" => runs = number()?,
            _ => files.push(PathBuf::from(argument)),
        }
    }
    if files.is_empty() {
        bail!("write: floor [--threads N] [--runs N] FILE...");
    }
    for _ in 0..runs {
        println!("{}", run(&files, threads)?);
    }
    Ok(())
}

fn run(files: &[PathBuf], threads: usize) -> Result<String> {
    let (wall, cpu) = (Instant::now(), own_cpu_seconds());
    let reader = Reader::open(Inputs::resolve(files, None, &std::env::temp_dir())?, ReadOptions::default())?;
    let shingles = Shingles::default();
    let start = || Seen {
        shingler: Shingler::new(shingles, shingles.default_normalize(), false),
        hashes: Vec::new(),
        records: 0,
        shingles: 0,
        bytes: 0,
        checksum: 0,
    };
    let seen = read_all(&reader, threads, &AtomicBool::new(false), start, |seen, _, parsed| {
        for record in 0..parsed.batch.len() {
            seen.hashes.clear();
            if let Content::Text(text) = parsed.batch.content(record) {
                seen.shingler.append_text(text, &mut seen.hashes);
            }
            seen.shingles += seen.hashes.len();
            seen.checksum = seen.hashes.iter().fold(seen.checksum, |sum, hash| sum.wrapping_add(*hash));
        }
        seen.records += parsed.batch.len();
        seen.bytes += parsed.bytes;
        Ok::<(), lookalike_io::Error>(())
    })?;
    let (wall, cpu) = (wall.elapsed().as_secs_f64(), own_cpu_seconds() - cpu);
    let records: usize = seen.iter().map(|seen| seen.records).sum();
    let shingles: usize = seen.iter().map(|seen| seen.shingles).sum();
    let megabytes = seen.iter().map(|seen| seen.bytes).sum::<u64>() as f64 / 1e6;
    let checksum = seen.iter().fold(0u64, |sum, seen| sum.wrapping_add(seen.checksum));
    Ok(format!(
        "{records} records, {shingles} shingles, {megabytes:.1} MB, {threads} threads: {wall:.3} s wall, {cpu:.3} s CPU, \
         {:.0} MB/s, {:.0} MB/s a core; checksum {checksum:016x}",
        megabytes / wall,
        megabytes / cpu
    ))
}
