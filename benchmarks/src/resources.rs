//! What a process has used: wall clock, CPU and memory.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use wait4::Wait4;

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Seconds on the clock.
    pub wall: f64,
    /// Seconds of all threads, in the program and in the system for it.
    pub cpu: f64,
    /// The most bytes that were resident.
    pub peak_bytes: u64,
}

/// Runs a command to its end and tells what it took. Its output goes where the command says.
pub fn run_measured(command: &mut Command) -> Result<Usage> {
    let shown = format!("{command:?}");
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {shown}"))?;
    let used = child.wait4().with_context(|| format!("cannot wait for {shown}"))?;
    let wall = start.elapsed().as_secs_f64();
    ensure!(used.status.success(), "{shown} ended with {}", used.status);
    let cpu = used.rusage.utime + used.rusage.stime;
    Ok(Usage { wall, cpu: cpu.as_secs_f64(), peak_bytes: used.rusage.maxrss })
}

/// The CPU seconds that this process has used so far.
pub fn own_cpu_seconds() -> f64 {
    getrusage(UsageWho::RUSAGE_SELF).map_or(0.0, |usage| {
        (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e6
    })
}

/// The name of this machine's CPU, as far as it tells, and its vector units: one name may stand for several generations.
pub fn cpu_model() -> String {
    let told = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|told| {
        let line = told.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_string())
    });
    told.unwrap_or_else(|| std::env::consts::ARCH.to_string()) + vector_units()
}

fn vector_units() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw") {
            return " with AVX-512";
        }
        if is_x86_feature_detected!("avx2") {
            return " with AVX2";
        }
    }
    ""
}
