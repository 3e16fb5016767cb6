//! `lookalike serve`: the index, the comparison and the S-curve over HTTP, with a page to try them.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::arguments::{GlobalArguments, Threads};
use crate::exit::Exit;
use crate::memory::Bytes;
use crate::serve::{self, Limits, Options, Tokens};

/// What `serve` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Without INDEX the service compares texts and explains settings; with one it searches and updates it too.
Without --token-file, writes are taken on loopback addresses only. Ctrl-C finishes what is under way, and ends.")]
pub(crate) struct ServeArguments {
    /// The folder of an index
    index: Option<PathBuf>,
    /// Address and port; port 0 takes a free one and says which
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", help_heading = "Service")]
    listen: String,
    /// Take no writes, and leave the index to another process that does
    #[arg(long, requires = "index", help_heading = "Service")]
    read_only: bool,
    /// Take writes only with one of the tokens in this file, one a line
    #[arg(long, value_name = "FILE", help_heading = "Service")]
    token_file: Option<PathBuf>,
    /// Take reads only with a token too
    #[arg(long, requires = "token_file", help_heading = "Service")]
    private: bool,
    /// A name by which browsers may call this service, such as search.example.org; several between commas
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "Service")]
    allow_host: Vec<String>,
    /// How severe a message must be to be logged
    #[arg(long, value_name = "LEVEL", default_value = "info", help_heading = "Service")]
    log_level: LogLevel,
    /// Queries and comparisons that are worked on at the same time [default: one a core]
    #[arg(short = 'j', long, value_name = "N", env = "LOOKALIKE_THREADS", help_heading = "Limits")]
    threads: Option<Threads>,
    /// Requests that may be under way or wait; more are told to come back later
    #[arg(long, value_name = "N", default_value = "256", help_heading = "Limits")]
    max_requests: Requests,
    /// The largest body of a request
    #[arg(long, value_name = "SIZE", default_value = "16MiB", help_heading = "Limits")]
    max_body: Bytes,
    /// The longest time for a request, such as 30s or 500ms
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = "Limits")]
    timeout: Patience,
}

/// How severe a message must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

/// A number of requests.
#[derive(Clone, Copy, Debug)]
struct Requests(usize);

impl FromStr for Requests {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const MOST: usize = 100_000;
        let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
        number.map(Self).ok_or_else(|| format!("it is no number from 1 to {MOST}"))
    }
}

/// How long a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Patience(Duration);

impl FromStr for Patience {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const MOST: Duration = Duration::from_secs(24 * 60 * 60);
        let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
        let number = digits.parse::<u64>().ok();
        let time = number.and_then(|number| match &text[digits.len()..] {
            "ms" => Some(Duration::from_millis(number)),
            "" | "s" => Some(Duration::from_secs(number)),
            "m" | "min" => number.checked_mul(60).map(Duration::from_secs),
            _ => None,
        });
        let possible = time.filter(|time| !time.is_zero() && *time <= MOST);
        possible.map(Self).ok_or_else(|| "it is no time such as 30s, 500ms or 2m, of up to a day".into())
    }
}

pub(crate) fn run(arguments: &ServeArguments, global: &GlobalArguments) -> Result<Exit> {
    if let Some(path) = arguments.index.as_ref().filter(|path| !path.is_dir()) {
        let shown = path.display();
        bail!("there is no index at {shown}; make one with: lookalike index build {shown} INPUT");
    }
    let tokens = arguments.token_file.as_deref().map(Tokens::read).transpose()?;
    serve::run(Options {
        index: arguments.index.clone(),
        listen: arguments.listen.clone(),
        read_only: arguments.read_only,
        tokens,
        private: arguments.private,
        hosts: arguments.allow_host.clone(),
        log: if global.quiet { LogLevel::Error } else { arguments.log_level },
        quiet: global.quiet,
        limits: Limits {
            threads: Threads::or_cores(arguments.threads),
            requests: arguments.max_requests.0,
            body: usize::try_from(arguments.max_body.0).unwrap_or(usize::MAX),
            time: arguments.timeout.0,
        },
    })?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, time) in [("30s", 30_000), ("500ms", 500), ("2m", 120_000), ("7", 7_000)] {
            assert_eq!(text.parse(), Ok(Patience(Duration::from_millis(time))), "{text}");
        }
        for text in ["", "0s", "s", "-1s", "9 elephants", "99999999999999999999s", "400000000000000000m", "25h"] {
            assert!(text.parse::<Patience>().is_err(), "{text}");
        }
    }
}
