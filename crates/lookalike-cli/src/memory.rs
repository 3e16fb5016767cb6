//! How much memory a run may use, and what it needs.

use std::str::FromStr;

use anyhow::{Result, bail};

/// A number of bytes, as people write it: 512MiB, 2G, 1.5GB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) u64);

const MIB: u64 = 1 << 20;

/// What the program takes before it has read anything.
const BASE_BYTES: u64 = 24 * MIB;
/// What a thread takes: its buffers, and what it has sketched and not yet put away.
const THREAD_BYTES: u64 = 8 * MIB;
/// What a record takes as long as the run lasts, its id not counted: where it stands, its class, its keeper.
pub(crate) const RECORD_BYTES: u64 = 90;
/// The least room for sketches and sets that are compared: less would have them loaded again and again.
const LEAST_ROOM: u64 = 16 * MIB;
/// The share of the machine's memory that a run may use unless told otherwise.
const DEFAULT_SHARE: f64 = 0.75;

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic()).trim_end();
        let unit = match text[digits.len()..].trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1.0,
            "k" | "kib" => 1024.0,
            "m" | "mib" => 1024f64.powi(2),
            "g" | "gib" => 1024f64.powi(3),
            "t" | "tib" => 1024f64.powi(4),
            "kb" => 1e3,
            "mb" => 1e6,
            "gb" => 1e9,
            "tb" => 1e12,
            _ => return Err("it is no size such as 512MiB or 4GiB".into()),
        };
        let number: Option<f64> = digits.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        number.map(|number| Self((number * unit) as u64)).ok_or_else(|| "it is no size such as 512MiB or 4GiB".into())
    }
}

impl std::fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
        const GIB: usize = 3;
        let mut number = self.0 as f64;
        let mut unit = 0;
        while number >= 1024.0 && unit + 1 < UNITS.len() {
            number /= 1024.0;
            unit += 1;
        }
        let decimals = usize::from(number < 10.0 && unit >= GIB);
        write!(formatter, "{number:.decimals$} {}", UNITS[unit])
    }
}

/// What a run may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) bytes: u64,
    threads: u64,
}

impl Budget {
    /// The memory that was asked for, or most of what the machine has.
    pub(crate) fn new(asked: Option<Bytes>, threads: usize) -> Result<Self> {
        let bytes = asked.map_or_else(default_memory, |asked| asked.0);
        let budget = Self { bytes, threads: threads as u64 };
        if bytes < budget.least(0, 0) {
            let least = Bytes(budget.least(0, 0).next_multiple_of(MIB));
            if threads == 1 {
                bail!("{} of memory are too little; allow at least {least} with --memory", Bytes(bytes));
            }
            bail!(
                "{} of memory are too little for {threads} threads; allow at least {least} with --memory, or fewer threads with -j",
                Bytes(bytes)
            );
        }
        Ok(budget)
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads as usize
    }

    /// What a run over so many records, whose ids take so many bytes, needs at least.
    pub(crate) fn least(&self, records: u64, id_bytes: u64) -> u64 {
        BASE_BYTES + self.threads * THREAD_BYTES + records * RECORD_BYTES + id_bytes + LEAST_ROOM
    }

    /// Bytes of sketches that may stay in memory before they go to work files.
    pub(crate) fn sketches(&self) -> u64 {
        self.bytes.saturating_sub(self.least(0, 0)) * 2 / 5
    }

    /// Bytes that a thread may gather before it writes a work file.
    pub(crate) fn segment(&self) -> usize {
        const MOST: u64 = 16 * MIB;
        (THREAD_BYTES / 2).min(self.bytes / (8 * self.threads)).clamp(MIB, MOST) as usize
    }

    /// Refuses records that take more than is allowed, and says what they need. `share` of the input has been read.
    pub(crate) fn check(&self, records: u64, id_bytes: u64, share: f64) -> Result<()> {
        if self.least(records, id_bytes) <= self.bytes {
            return Ok(());
        }
        let expected = |count: u64| (count as f64 / share.clamp(1e-3, 1.0)) as u64;
        let needed = self.least(expected(records), expected(id_bytes));
        bail!(
            "{} of memory are too little: about {} records need {}; raise --memory, or split the input and compare the parts with --against",
            Bytes(self.bytes),
            expected(records),
            Bytes(needed.next_multiple_of(16 * MIB))
        )
    }

    /// What is left for the sketches and sets that are compared, when so much is in memory already.
    pub(crate) fn room(&self, records: u64, id_bytes: u64, sketches: u64) -> u64 {
        let taken = self.least(records, id_bytes) - LEAST_ROOM + sketches;
        self.bytes.saturating_sub(taken).max(LEAST_ROOM)
    }
}

/// Most of the memory of the machine, or of the group of processes that the program runs in.
fn default_memory() -> u64 {
    let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|info| {
        let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
    });
    let group = number("/sys/fs/cgroup/memory.max").or_else(|| number("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    // Where nobody tells, a laptop's worth.
    const FALLBACK: u64 = 8 << 30;
    let total = machine.into_iter().chain(group).min().unwrap_or(FALLBACK);
    (total as f64 * DEFAULT_SHARE) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in
            [("64MiB", 64 << 20), ("2G", 2 << 30), ("1.5GB", 1_500_000_000), ("1000", 1000), ("4 gib", 4 << 30)]
        {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "x", "-1G", "0", "4 elephants", "GiB"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        assert_eq!(Bytes(3 << 29).to_string(), "1.5 GiB");
        assert_eq!(Bytes(64 << 20).to_string(), "64 MiB");
        assert_eq!(
            [Bytes(0), Bytes(1000), Bytes(5000)].map(|bytes| bytes.to_string()),
            ["0 bytes", "1000 bytes", "5 KiB"]
        );
    }

    #[test]
    fn too_little_says_how_much_is_needed() {
        assert!(Budget::new(Some(Bytes(1 << 20)), 2).unwrap_err().to_string().contains("at least"));
        let budget = Budget::new(Some(Bytes(256 << 20)), 2).unwrap();
        assert!(budget.check(1000, 10_000, 0.5).is_ok());
        let refusal = budget.check(10_000_000, 100_000_000, 0.5).unwrap_err().to_string();
        assert!(refusal.contains("20000000 records need 1.9 GiB"), "{refusal}");
        assert!(budget.room(1000, 0, 0) > budget.room(1000, 0, 100 << 20));
    }
}
