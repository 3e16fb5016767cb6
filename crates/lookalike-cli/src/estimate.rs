//! What a run will take: memory, disk and time, told before it begins.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use lookalike::{Batch, Method, Plan, RecordNumber};
use lookalike_io::error::Shown;
use serde::Serialize;

use crate::memory::{Budget, Bytes, RECORD_BYTES};

/// Bytes of an id, where nobody knows.
const ID_BYTES: u64 = 16;
/// What a run takes in all, as a multiple of the time for shingling and sketching.
const ALL_STAGES: f64 = 1.8;
/// Bytes a second that a disk takes in or gives out, at a cautious guess.
const DISK_BYTES_PER_SECOND: f64 = 500e6;
/// How much larger a compressed input may be than it looks.
pub(crate) const COMPRESSION_RATIO: u64 = 4;
/// Bytes of a shingle's share of the inverted lists, the shingle included.
pub(crate) const LISTED_SHINGLE_BYTES: u64 = 40;
/// A word with the space behind it.
const WORD_BYTES: u64 = 7;

/// What a run takes.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Estimate {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    /// With everything in memory.
    pub(crate) memory: u64,
    /// With as much as possible in work files.
    pub(crate) least_memory: u64,
    /// Work files, if there are any.
    pub(crate) work_files: u64,
    /// The output, if nothing is dropped.
    pub(crate) output: u64,
    pub(crate) seconds: f64,
    /// How fast one core shingles and sketches, measured just now.
    pub(crate) bytes_per_second: f64,
}

impl Estimate {
    /// What a run over so many records with so many bytes in all takes.
    pub(crate) fn new(plan: &Plan, budget: &Budget, records: u64, bytes: u64) -> Self {
        let bytes_per_second = measure_speed(plan, bytes / records.max(1));
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(budget.threads());
        let least = budget.least(records, ID_BYTES * records);
        let work_files = work_bytes(plan, records, ID_BYTES * records);
        // Without sketches all shingles stay in memory.
        let (memory, least_memory) = match plan.method() {
            Method::InvertedLists | Method::Fingerprints(_) => {
                let all = least + bytes / WORD_BYTES * LISTED_SHINGLE_BYTES;
                (all, all)
            }
            // Sketches are there, and the slots of those that are compared once more in the order of comparing.
            _ => (least + records * plan.sketch_bytes() * 3 / 2, least),
        };
        let seconds =
            bytes as f64 / bytes_per_second / cores as f64 * ALL_STAGES + bytes as f64 / DISK_BYTES_PER_SECOND;
        Self { records, bytes, memory, least_memory, work_files, output: bytes, seconds, bytes_per_second }
    }

    /// For people.
    pub(crate) fn lines(&self, threads: usize) -> String {
        let memory = if self.least_memory < self.memory {
            format!("{}, or with --memory down to {} and work files", Bytes(self.memory), Bytes(self.least_memory))
        } else {
            Bytes(self.memory).to_string()
        };
        let threads = if threads == 1 { "one thread".to_owned() } else { format!("{threads} threads") };
        let work = if self.least_memory < self.memory { Bytes(self.work_files) } else { Bytes(0) };
        format!(
            "for        {} records, {} in all\n\
             memory     {memory}\n\
             disk       {work} for work files if there are any, {} for the output at most\n\
             time       about {} with {threads}; one core shingles and sketches {:.0} MB/s, measured just now",
            self.records,
            Bytes(self.bytes),
            Bytes(self.output),
            duration(self.seconds),
            self.bytes_per_second / 1e6
        )
    }
}

/// Bytes of all work files of a run over so many records.
pub(crate) fn work_bytes(plan: &Plan, records: u64, id_bytes: u64) -> u64 {
    records * (plan.sketch_bytes() + RECORD_BYTES) + 2 * id_bytes
}

/// How fast records of this size are shingled and sketched here.
fn measure_speed(plan: &Plan, record_bytes: u64) -> f64 {
    const LONG_ENOUGH: Duration = Duration::from_millis(60);
    const MOST_BYTES: u64 = 1 << 20;
    let words = (record_bytes.clamp(WORD_BYTES, MOST_BYTES) / WORD_BYTES) as usize;
    let mut batch = Batch::new();
    let mut made = 0u64;
    let mut bytes = 0;
    for record in 0..(MOST_BYTES / record_bytes.max(1)).clamp(1, 1000) {
        let mut text = String::new();
        for _ in 0..words {
            // No two words alike, and as many of them as a language has.
            made = made.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push_str(&format!("{:06x} ", made >> 42));
        }
        bytes += text.len();
        batch.push_text(RecordNumber::new(0, record), &text);
    }
    let mut sketcher = plan.sketcher().forget_shingles();
    sketcher.sketch(&batch);
    let (began, mut rounds) = (Instant::now(), 0);
    while began.elapsed() < LONG_ENOUGH {
        sketcher.sketch(&batch);
        rounds += 1;
    }
    (bytes * rounds) as f64 / began.elapsed().as_secs_f64()
}

/// Refuses a run whose files of so many bytes would not fit where `path` is or will be. `what` they are is said, and
/// `advice` what to do.
pub(crate) fn check_disk(path: &Path, bytes: u64, what: &str, advice: &str) -> Result<()> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    // The folder may have yet to be made.
    let Some(free) = absolute.ancestors().find_map(|place| rustix::fs::statvfs(place).ok()) else { return Ok(()) };
    let free = free.f_bavail.saturating_mul(free.f_frsize);
    if bytes > free {
        bail!("{what} may take {}, and the disk of {} has {} free; {advice}", Bytes(bytes), Shown(path), Bytes(free));
    }
    Ok(())
}

/// A span of time as people say it.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{:.0} s", seconds.max(1.0)),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lookalike::Settings;

    #[test]
    fn more_records_take_more_of_everything() {
        let plan = Settings::new(0.8).plan().unwrap();
        let budget = Budget::new(None, 2).unwrap();
        let small = Estimate::new(&plan, &budget, 1_000_000, 1 << 30);
        let large = Estimate::new(&plan, &budget, 10_000_000, 10 << 30);
        assert!(large.memory > 5 * small.memory && large.work_files > 5 * small.work_files);
        assert!(small.least_memory < small.memory && large.seconds > 2.0 * small.seconds);
    }

    #[test]
    fn a_disk_that_is_too_small_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("not/yet/there");
        assert!(check_disk(&path, 1, "it", "").is_ok());
        let refusal = check_disk(&path, u64::MAX, "the output", "name another place").unwrap_err().to_string();
        assert!(refusal.contains("the output may take") && refusal.ends_with("name another place"), "{refusal}");
    }

    #[test]
    fn time_is_said_in_the_unit_that_fits() {
        assert_eq!([0.2, 80.0, 600.0, 7200.0].map(duration), ["1 s", "80 s", "10 min", "2.0 h"].map(String::from));
    }
}
