//! The program `lookalike`: finds near-duplicate documents and similar sets.

mod against;
mod allocator;
mod answer;
mod arguments;
mod command;
mod config;
mod destinations;
mod estimate;
mod exit;
mod intake;
mod interrupt;
mod load;
mod memory;
mod names;
mod plot;
mod progress;
mod results;
mod second_read;
mod serve;
mod stdin;
mod summary;
mod try_each;
mod work;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match arguments::parse() {
        Ok(arguments) => arguments,
        Err(stop) => return stop,
    };
    exit::report(command::run(&arguments))
}
