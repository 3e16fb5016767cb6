//! The program `lookalike` as a library: [`run`] is what its `main` does, so that others can carry the program too.

mod against;
mod answer;
mod arguments;
mod boilerplate;
mod command;
mod config;
mod copies;
mod destinations;
mod estimate;
mod exit;
mod gathering;
mod intake;
mod interrupt;
mod load;
mod memory;
mod names;
mod plot;
mod progress;
mod repeated_hashes;
mod report;
mod results;
mod second_read;
mod serve;
mod skipped;
mod stdin;
mod stored_pairs;
mod summary;
mod try_each;
mod work;

use std::ffi::OsString;

/// Does what a command line says, the name of the program first, and gives the exit status. It takes the process for its own:
/// it sets up its threads, and listens for interruption.
pub fn run(command_line: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = match arguments::parse(command_line.into_iter().collect()) {
        Ok(arguments) => arguments,
        Err(stop) => return stop,
    };
    exit::report_with(command::run(&arguments), arguments.global.configuration.as_deref())
}

/// What `lookalike serve` answers with, for those who ask without a network.
#[doc(hidden)]
pub fn router(index: &std::path::Path) -> anyhow::Result<axum::Router> {
    serve::router(index)
}
