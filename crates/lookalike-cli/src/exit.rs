//! How the program ends: a status that scripts can rely on, and one line that says why.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use lookalike_io::error::Shown;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// A question was asked, and the answer is no.
    No,
}

/// The status of a run that did what was asked.
const DONE: u8 = 0;
/// The status of a question whose answer is no.
const NO: u8 = 1;
/// The status of an error.
const ERROR: u8 = 2;
/// The status of a run that was interrupted: 128 + SIGINT.
const INTERRUPTED: u8 = 130;

/// Turns the result of a command into the status of the program, and says what went wrong.
pub(crate) fn report(result: anyhow::Result<Exit>) -> u8 {
    report_with(result, None)
}

/// The same, for a command of which some flags are from a file: what is wrong may stand there.
pub(crate) fn report_with(result: anyhow::Result<Exit>, configuration: Option<&Path>) -> u8 {
    match result {
        Ok(Exit::Done) => DONE,
        Ok(Exit::No) => NO,
        Err(error) if is_closed_pipe(&error) => DONE,
        Err(_) if crate::interrupt::is_requested() => {
            say("interrupted", &format!("nothing was written{}", how_to_go_on()));
            INTERRUPTED
        }
        Err(error) => {
            say("error", &format!("{}{}", in_words(error), how_to_go_on()));
            if let Some(file) = configuration {
                say("note", &format!("some flags are from {}", Shown(file)));
            }
            ERROR
        }
    }
}

/// What to do to go on, where something was left to go on from.
fn how_to_go_on() -> String {
    crate::work::left().map_or_else(String::new, |folder| {
        format!("; the next attempt goes on from here (to give it up, remove {})", Shown(&folder))
    })
}

/// What went wrong, on one line. Inputs and files name themselves in their errors; a bare error of the system can only
/// come from standard output.
fn in_words(error: anyhow::Error) -> String {
    if error.chain().count() > 1 {
        return format!("{error:#}");
    }
    match error.downcast::<io::Error>() {
        Ok(bare) => lookalike_io::Error::sink(bare).to_string(),
        Err(other) => other.to_string(),
    }
}

/// Whoever read the output has seen enough; that is no error.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kind_of = |cause: &(dyn std::error::Error + 'static)| {
        let plain = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        plain.or_else(|| cause.downcast_ref::<lookalike_io::Error>().and_then(lookalike_io::Error::io_kind))
    };
    error.chain().any(|cause| kind_of(cause) == Some(ErrorKind::BrokenPipe))
}

fn say(what: &str, why: &str) {
    const RED: Style = AnsiColor::Red.on_default().bold();
    let style = if what == "note" { Style::new() } else { RED };
    // Nothing can be done about a closed stderr.
    let _ = writeln!(anstream::stderr(), "{style}{what}{style:#}: {why}");
}
