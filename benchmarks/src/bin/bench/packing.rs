//! The same corpus compressed, beside what decompressing and compressing take alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use benchmarks::definition::Definition;
use benchmarks::resources::run_measured;

use crate::program;
use crate::timing::{DEDUP, Timing, kept_of, run};

/// A command on a compressed corpus.
pub(crate) struct Packed {
    pub(crate) compression: &'static str,
    pub(crate) run: Timing,
    /// What is done in it, measured alone.
    pub(crate) parts: Vec<Timing>,
}

pub(crate) fn measure(definition: &Definition, corpus: &Path) -> Result<Vec<Packed>> {
    let mut rows = Vec::new();
    for compression in ["gz", "zst"] {
        let packed = PathBuf::from(format!("{}.{compression}", corpus.display()));
        if !packed.exists() {
            run_measured(Command::new(program("packing")?).arg("pack").arg(corpus).arg(&packed))?;
        }
        for threads in &definition.threads {
            for name in &definition.programs {
                rows.push(measure_one(definition, corpus, &packed, compression, *threads, name)?);
            }
        }
    }
    Ok(rows)
}

fn measure_one(
    definition: &Definition,
    corpus: &Path,
    packed: &Path,
    compression: &'static str,
    threads: usize,
    name: &str,
) -> Result<Packed> {
    let timing = |name: &str| Timing { name: name.to_string(), threads, runs: Vec::new() };
    let mut row = Packed {
        compression,
        run: timing(name),
        parts: [timing("decompress"), timing("plain"), timing("compress")].into(),
    };
    for _ in 0..definition.runs {
        row.run.runs.push(run(name, threads, definition, packed)?);
        row.parts[0].runs.push(run_measured(Command::new(program("packing")?).arg("unpack").arg(packed))?);
        row.parts[1].runs.push(run(name, threads, definition, corpus)?);
        if name == DEDUP {
            let target = kept_of(packed);
            row.parts[2]
                .runs
                .push(run_measured(Command::new(program("packing")?).arg("pack").arg(kept_of(corpus)).arg(&target))?);
        }
    }
    row.parts.retain(|part| !part.runs.is_empty());
    Ok(row)
}
