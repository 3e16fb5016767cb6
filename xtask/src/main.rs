//! The project's command list, the same on a laptop and in continuous integration: `cargo xtask help`.

mod bench;
mod fuzz;
mod lint;
mod long_record;
mod python;
mod quality;
mod step;
mod test;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
cargo xtask COMMAND

  test [--long]         lint, then every test; --long: the full counts, recorded in docs/long-tests.md
  python                the wheel of the Python package, and its tests in a fresh environment
  lint                  format, clippy and documentation without a warning; cargo-deny where it is installed
  bench [NAME]...       speed, memory, recall and precision, recorded in benchmarks/record (NAME: a file of
                        benchmarks/definitions, or datasketch-drop-in; without one: natural-100k and plain-100k)
  quality [--seeds N]   recall, precision and F1 on real corpora, recorded in docs/quality.md (20 seeds)
  fuzz [SECONDS]        every fuzz target for so many seconds (60); needs a nightly Rust and cargo-fuzz
  help                  this page

Exit status: 0 all is well, 1 something failed, 2 the command could not be run as asked.";

/// An error that is not the code's fault: a wrong argument, or a tool or data that is not there.
#[derive(Debug)]
struct CannotRun(String);

impl std::fmt::Display for CannotRun {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for CannotRun {}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(if error.is::<CannotRun>() { 2 } else { 1 })
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let (command, rest) = arguments.split_first().map_or(("help", &[][..]), |(first, rest)| (first.as_str(), rest));
    match command {
        "test" => test::run(rest),
        "python" => python::run(rest),
        "lint" => lint::run(rest),
        "bench" => bench::run(rest),
        "quality" => quality::run(rest),
        "fuzz" => fuzz::run(rest),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(())
        }
        unknown => bail!(CannotRun(format!("there is no command {unknown}; `cargo xtask help` lists them"))),
    }
}

/// An error unless nothing is left on the command line.
fn expect_no_arguments(arguments: &[String]) -> Result<()> {
    match arguments.first() {
        None => Ok(()),
        Some(unknown) => bail!(CannotRun(format!("{unknown} is not understood; `cargo xtask help` says what is"))),
    }
}
