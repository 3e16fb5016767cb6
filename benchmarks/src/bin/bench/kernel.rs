//! How fast the sketch kernel is by itself, on one core.

use std::time::{Duration, Instant};

use benchmarks::random::Random;
use lookalike::MinHash;

/// Shingles of a record, and values of a sketch.
pub(crate) const SHINGLES: usize = 235;
pub(crate) const VALUES: usize = 128;

/// Records a second, the best of several rounds.
pub(crate) fn measure() -> f64 {
    const ROUNDS: usize = 10;
    const RECORDS: usize = 500;
    const ROUND: Duration = Duration::from_millis(100);
    let mut random = Random::new(&[1]);
    let records: Vec<Vec<u64>> = (0..RECORDS).map(|_| (0..SHINGLES).map(|_| random.word()).collect()).collect();
    let minhash = MinHash::new(VALUES, 1);
    let mut sketch = Vec::with_capacity(VALUES);
    let mut best = 0.0f64;
    for _ in 0..ROUNDS {
        let (began, mut done) = (Instant::now(), 0);
        while began.elapsed() < ROUND {
            for shingles in &records {
                sketch.clear();
                minhash.append(shingles, &mut sketch);
                std::hint::black_box(&sketch);
            }
            done += RECORDS;
        }
        best = best.max(done as f64 / began.elapsed().as_secs_f64());
    }
    best
}
