//! What was typed, as it was typed: one definition gives parsing, help, man page, completions and configuration.

mod input;
mod matching;
mod output;
mod usage;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::Resettable;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub(crate) use input::{InputArguments, ReadArguments, leave_outputs_out};
pub(crate) use matching::{MatchArguments, MeasureName, parse_share};
pub(crate) use output::{ResultArguments, ResultFormat};

use crate::config::{self, Configured};
use crate::memory::Bytes;

/// Finds what is alike: near-duplicate documents and similar sets.
#[derive(Debug, Parser)]
#[command(
    name = "lookalike",
    version,
    about,
    args_override_self = true,
    propagate_version = true,
    max_term_width = 100,
    after_help = "\
Examples:
  lookalike dedup corpus.jsonl.zst -o clean.jsonl.zst    remove near-duplicates
  lookalike pairs news/*.jsonl -t 0.7                    every similar pair, with its similarity
  lookalike compare essay.txt source.txt                 what two documents share
  lookalike plan -t 0.7 --recall 0.999                   what these settings mean

Exit status: 0 done; 1 a question was asked and the answer is no; 2 error; 130 interrupted."
)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: GlobalArguments,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write the records without their near-duplicates
    Dedup(crate::command::dedup::DedupArguments),
    /// List every similar pair, with its similarity
    Pairs(crate::command::pairs::PairsArguments),
    /// List the groups of look-alikes, the keeper first
    Groups(crate::command::groups::GroupsArguments),
    /// Say how alike two documents are, and which passages they share
    Compare(crate::command::compare::CompareArguments),
    /// Say which parts of a document come from where, the best explanation first
    Sources(crate::command::sources::SourcesArguments),
    /// Make, change and look after an index of records
    Index(crate::command::index::IndexArguments),
    /// Say what in an index is like these records
    Query(crate::command::query::QueryArguments),
    /// Explain what settings mean: bands, S-curve, recall, memory. Reads no data
    Plan(crate::command::plan::PlanArguments),
    /// Say what each threshold would drop, from one run
    Sweep(crate::command::sweep::SweepArguments),
    /// Measure recall and precision on this data, against the exact answer
    Audit(crate::command::audit::AuditArguments),
    /// Answer over HTTP: search, compare and update an index; with a page for browsers
    Serve(crate::command::serve::ServeArguments),
    /// Do what dedup does stage by stage, in parts that a batch queue can run
    Stage(crate::command::stage::StageArguments),
    /// Print the man page, shell completions or the schema of lookalike.toml
    Generate(crate::command::generate::GenerateArguments),
}

/// Flags that every command takes.
#[derive(Debug, Args)]
pub(crate) struct GlobalArguments {
    /// Read flags from this file instead of the nearest lookalike.toml
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global")]
    pub(crate) config: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(short, long, global = true, help_heading = "Global")]
    pub(crate) quiet: bool,
    /// Say more: the plan before the run, and what each stage did
    #[arg(short, long, global = true, help_heading = "Global", conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Global")]
    pub(crate) color: When,
    /// How to show progress
    #[arg(long, global = true, value_name = "HOW", default_value = "auto", help_heading = "Global")]
    pub(crate) progress: ShowProgress,
    /// Give the summary as JSON on stderr; for compare, sources, plan, audit and sweep the answer on stdout
    #[arg(long, global = true, help_heading = "Global")]
    pub(crate) json: bool,
    /// Whether -t was typed, which cannot be told from its value. A configuration file asks no question.
    #[arg(skip)]
    pub(crate) typed_threshold: bool,
    /// The configuration file that some flags are from.
    #[arg(skip)]
    pub(crate) configuration: Option<PathBuf>,
}

/// When to do something that suits terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

/// How to show progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowProgress {
    /// A bar, if stderr is a terminal
    Auto,
    /// Lines, if stderr is not a terminal
    Always,
    /// Nothing
    Never,
    /// One JSON object a line
    Json,
}

/// A number of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threads(usize);

impl FromStr for Threads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const MOST: usize = 1024;
        let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
        number.map(Self).ok_or_else(|| format!("it is no number from 1 to {MOST}"))
    }
}

impl Threads {
    /// As many as were asked for, or one for each core.
    pub(crate) fn or_cores(asked: Option<Self>) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        asked.map_or_else(available, |threads| threads.0)
    }
}

/// How much of the machine to use.
#[derive(Debug, Args)]
#[command(next_help_heading = "Resources")]
pub(crate) struct ResourceArguments {
    /// Threads; as many as there are cores by default. Results do not depend on it
    #[arg(short = 'j', long, value_name = "N", env = "LOOKALIKE_THREADS")]
    pub(crate) threads: Option<Threads>,
    /// Memory to use; three quarters of the machine's by default. Results do not depend on it
    #[arg(long, value_name = "SIZE", env = "LOOKALIKE_MEMORY")]
    pub(crate) memory: Option<Bytes>,
    /// Where temporary and work files go [default: work files beside the output]
    #[arg(long, value_name = "DIR", env = "LOOKALIKE_TMP")]
    pub(crate) tmp: Option<PathBuf>,
    /// Begin anew instead of going on where the same command was interrupted
    #[arg(long)]
    pub(crate) restart: bool,
}

impl ResourceArguments {
    pub(crate) fn threads(&self) -> usize {
        Threads::or_cores(self.threads)
    }

    /// Gives the engine as many threads as were asked for. Called once, before any work.
    pub(crate) fn limit_threads(&self) -> anyhow::Result<()> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads());
        // This thread is one of them: it has work to do anyway, and two that take turns are not always put on two cores.
        let pool = if self.threads() > 1 { pool.use_current_thread() } else { pool };
        Ok(pool.build_global()?)
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.tmp.clone().unwrap_or_else(std::env::temp_dir)
    }
}

/// Reads a command line, and behind it lookalike.toml. Help, version and usage errors end the program.
pub(crate) fn parse(typed: Vec<OsString>) -> Result<Arguments, u8> {
    let definition = without_empty_variables(Arguments::command());
    let show = |error: clap::Error| usage::show(&error, "");
    // What was typed is checked by itself first, so that errors speak of it and not of the file.
    let matches = definition.clone().try_get_matches_from(&typed).map_err(show)?;
    let arguments = Arguments::from_arg_matches(&matches).map_err(show)?;
    let Configured { words, file } =
        config::with_configuration(&definition, &matches, arguments.global.config.as_deref(), typed)
            .map_err(|error| crate::exit::report(Err(error)))?;
    let hint = file.as_ref().map_or_else(String::new, |file| format!("look into {}, or ", file.display()));
    let mut arguments = definition
        .try_get_matches_from(words)
        .and_then(|matches| Arguments::from_arg_matches(&matches))
        .map_err(|error| usage::show(&error, &hint))?;
    arguments.global.configuration = file;
    let typed = matches.subcommand().filter(|(_, command)| command.try_contains_id("threshold").unwrap_or(false));
    arguments.global.typed_threshold = typed
        .is_some_and(|(_, command)| command.value_source("threshold") == Some(clap::parser::ValueSource::CommandLine));
    let choice = match arguments.global.color {
        When::Auto => anstream::ColorChoice::Auto,
        When::Always => anstream::ColorChoice::Always,
        When::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
    Ok(arguments)
}

/// A variable that is set to nothing is not set: that is how scripts and containers take one back.
fn without_empty_variables(definition: clap::Command) -> clap::Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    definition
        .mut_args(
            |argument| {
                if argument.get_env().is_some_and(is_empty) { argument.env(Resettable::Reset) } else { argument }
            },
        )
        .mut_subcommands(without_empty_variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }
}
