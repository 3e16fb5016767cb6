//! Measures definitions: speed and memory beside the floor, recall and precision beside the speed.
//!
//! `bench DEFINITION...`, in the root of the repository, with `lookalike`, `floor` and `generate` built beside it.
//! Definitions with engines need `python3`, and the network the first time.

mod accuracy;
mod engines;
mod index;
mod kernel;
mod packing;
mod record;
mod timing;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use benchmarks::definition::Definition;
use benchmarks::resources::run_measured;

use crate::accuracy::Truth;

/// Where made-up corpora, engines and outputs go; git ignores it.
const DATA: &str = "benchmarks/data";
/// Where results are kept.
const RECORD: &str = "benchmarks/record";

fn main() -> Result<()> {
    let definitions: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if definitions.is_empty() {
        bail!("write: bench DEFINITION...");
    }
    for definition in definitions {
        measure(&Definition::read(&definition)?)?;
    }
    Ok(())
}

fn measure(definition: &Definition) -> Result<()> {
    let corpus = make_corpus(definition)?;
    eprintln!("{}: {}", definition.name, corpus.display());
    let page = match &definition.index {
        Some(measures) => index::measure(definition, measures, &corpus)?,
        None => measure_commands(definition, &corpus)?,
    };
    println!("{page}");
    std::fs::create_dir_all(RECORD)?;
    let path = Path::new(RECORD).join(format!("{}.md", definition.name));
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}

/// Measures the commands that a definition asks for, and gives the page.
fn measure_commands(definition: &Definition, corpus: &Path) -> Result<String> {
    let timings = timing::measure(definition, corpus)?;
    let ordinary = match definition.ordinary() {
        Some(ordinary) => timing::measure(&ordinary, &make_corpus(&ordinary)?)?,
        None => Vec::new(),
    };
    let packed = if definition.packed { packing::measure(definition, corpus)? } else { Vec::new() };
    let engines = engines::measure(definition, corpus)?;
    let truth = if definition.exact { Some(Truth::compute(definition, corpus)?) } else { None };
    let mut page = record::page(definition, corpus, &timings, &engines, truth.as_ref())?;
    record::add_ordinary(&mut page, definition, &timings, &ordinary)?;
    record::add_packed(&mut page, &packed)?;
    Ok(page)
}

/// The corpus of a definition, made if it is not there yet.
fn make_corpus(definition: &Definition) -> Result<PathBuf> {
    std::fs::create_dir_all(DATA)?;
    let path = Path::new(DATA).join(definition.corpus_file());
    if !path.exists() {
        let mut generate = std::process::Command::new(program("generate")?);
        generate.args([definition.kind.to_string(), definition.records.to_string(), definition.seed.to_string()]);
        run_measured(generate.arg(&path))?;
    }
    Ok(path)
}

/// A program that was built with this one.
fn program(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let path = own.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    ensure!(path.exists(), "{} is not built; `cargo xtask bench` builds it", path.display());
    Ok(path)
}
