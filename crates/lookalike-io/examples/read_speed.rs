//! How fast inputs are read and parsed: `read_speed THREADS INPUT...`

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use lookalike_io::{Error, Inputs, ReadOptions, Reader, read_all};

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args();
    let threads = arguments.nth(1).and_then(|threads| threads.parse().ok()).unwrap_or(1);
    let paths: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let inputs = Inputs::resolve(&paths, None, &std::env::temp_dir())?;
    for _ in 0..5 {
        let reader = Reader::open(inputs.clone(), ReadOptions::default())?;
        let start = Instant::now();
        let counts =
            read_all(&reader, threads, &AtomicBool::new(false), <(u64, usize)>::default, |counts, _, parsed| {
                counts.0 += parsed.bytes;
                counts.1 += parsed.batch.len();
                Ok::<(), Error>(())
            })?;
        let seconds = start.elapsed().as_secs_f64();
        let (bytes, records) = counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        println!("{records} records, {bytes} bytes, {seconds:.3} s, {:.0} MB/s", bytes as f64 / 1e6 / seconds);
    }
    Ok(())
}
