//! The program `lookalike`: finds near-duplicate documents and similar sets.

mod allocator;

use std::process::ExitCode;

fn main() -> ExitCode {
    allocator::keep_pages();
    lookalike_cli::run(std::env::args_os()).into()
}
