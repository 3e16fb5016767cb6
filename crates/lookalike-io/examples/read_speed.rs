//! How fast inputs are read and parsed, the best of several times: `read_speed THREADS CHUNK_KIB INPUT...`

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use lookalike_io::{Error, Inputs, ReadOptions, Reader, read_all};

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args();
    let threads = arguments.nth(1).and_then(|threads| threads.parse().ok()).unwrap_or(1);
    let chunk_bytes = 1024 * arguments.next().and_then(|kib| kib.parse().ok()).unwrap_or(512);
    let paths: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let inputs = Inputs::resolve(&paths, None, &std::env::temp_dir())?;
    let mut best = (f64::INFINITY, 0, 0);
    for _ in 0..15 {
        let reader = Reader::open(inputs.clone(), ReadOptions::default())?.with_chunk_bytes(chunk_bytes);
        let start = Instant::now();
        let counts =
            read_all(&reader, threads, &AtomicBool::new(false), <(u64, usize)>::default, |counts, _, parsed| {
                counts.0 += parsed.bytes;
                counts.1 += parsed.batch.len();
                Ok::<(), Error>(())
            })?;
        let seconds = start.elapsed().as_secs_f64();
        let (bytes, records) = counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        if seconds < best.0 {
            best = (seconds, bytes, records);
        }
    }
    let (seconds, bytes, records) = best;
    println!("{records} records, {bytes} bytes, {seconds:.3} s, {:.0} MB/s", bytes as f64 / 1e6 / seconds);
    Ok(())
}
