//! lookalike.toml: the long flags in a file, read as if they had been typed before the others.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::{Table, Value};

use crate::destinations::STDOUT;

/// The name of the file that is looked for.
const NAME: &str = "lookalike.toml";

/// A command line, and the file that flags were added from, if any were.
pub(crate) struct Configured {
    pub(crate) words: Vec<OsString>,
    pub(crate) file: Option<PathBuf>,
}

/// The words of the command line with those of the configuration file before them, behind the command's name. Flags that
/// the command does not take are left out; flags that no command takes are an error.
pub(crate) fn with_configuration(
    definition: &Command,
    matches: &ArgMatches,
    given: Option<&Path>,
    typed: Vec<OsString>,
) -> Result<Configured> {
    // Shells ask for completions wherever they are.
    let reads = matches.subcommand_name() != Some("generate");
    let file = given.map(Path::to_path_buf).or_else(nearest).filter(|_| reads);
    let (Some(path), Some((chosen, at))) = (file, command_of(definition, matches, &typed)) else {
        return Ok(Configured { words: typed, file: None });
    };
    refuse_other_use(&path, matches)?;
    let shown = path.display();
    let folder = folder_of(&path);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
    let table: Table = text.parse().with_context(|| format!("{shown} is not valid TOML"))?;

    let mut words = Vec::new();
    let typed_flags = innermost(matches);
    for (name, value) in &table {
        let takes = |command: &Command| command.get_arguments().any(|argument| argument.get_long() == Some(name));
        let find =
            |command: &Command| command.get_arguments().find(|argument| argument.get_long() == Some(name)).cloned();
        if let Some(argument) = find(chosen).or_else(|| find(definition)) {
            // What is typed counts, also of flags that can be given several times and would add up.
            if typed_flags.value_source(argument.get_id().as_str()) != Some(ValueSource::CommandLine) {
                append(&mut words, name, value, &argument, &folder).with_context(|| format!("in {shown}"))?;
            }
        } else if !all_commands(definition).any(takes) {
            bail!("{shown}: no command has a flag --{name}; take the line out, or see lookalike help for the flags");
        }
    }
    // The program's name and everything up to the command's, then the file's words, then the rest.
    let (before, behind) = typed.split_at(at);
    let file = Some(path).filter(|_| !words.is_empty());
    let words = before.iter().cloned().chain(words).chain(behind.iter().cloned()).collect();
    Ok(Configured { words, file })
}

/// Refuses a command line that names the configuration file as anything else: it would be read as records or overwritten.
fn refuse_other_use(file: &Path, matches: &ArgMatches) -> Result<()> {
    let is_file = |named: &PathBuf| named.canonicalize().ok() == file.canonicalize().ok();
    for id in matches.ids().filter(|id| *id != "config") {
        let named = matches.try_get_many::<PathBuf>(id.as_str()).ok().flatten().into_iter().flatten();
        if let Some(named) = named.into_iter().find(|named| is_file(named)) {
            let named = named.display();
            bail!("{named} is the configuration file that flags are read from; name another file, or another --config");
        }
    }
    matches.subcommand().map_or(Ok(()), |(_, inner)| refuse_other_use(file, inner))
}

/// The command that was typed, down to the verb, and how many words it takes to get there.
fn command_of<'a>(definition: &'a Command, matches: &ArgMatches, typed: &[OsString]) -> Option<(&'a Command, usize)> {
    let (mut command, mut matches, mut at) = (definition, matches, 1);
    while let Some((name, inner)) = matches.subcommand() {
        command = command.find_subcommand(name)?;
        at += typed[at..].iter().position(|word| word == name)? + 1;
        matches = inner;
    }
    (at > 1).then_some((command, at))
}

/// What was typed behind the verb.
fn innermost(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| innermost(inner))
}

/// The folder that paths in a file start from: nothing for this one, so that names stay as they are written.
fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(Path::new(""));
    let is_here = std::env::current_dir().is_ok_and(|here| here == folder);
    if is_here { PathBuf::new() } else { folder.to_path_buf() }
}

/// The commands, and those below them.
fn all_commands(definition: &Command) -> impl Iterator<Item = &Command> {
    definition.get_subcommands().flat_map(|command| std::iter::once(command).chain(command.get_subcommands()))
}

/// The file in this folder, or in the nearest one above that has it.
fn nearest() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(NAME)).find(|path| path.is_file())
}

fn append(words: &mut Vec<OsString>, name: &str, value: &Value, argument: &Arg, folder: &Path) -> Result<()> {
    let takes_value = argument.get_action().takes_values();
    let values = match value {
        Value::Boolean(true) if !takes_value => {
            words.push(format!("--{name}").into());
            return Ok(());
        }
        Value::Boolean(false) if !takes_value => return Ok(()),
        _ if !takes_value => bail!("{name} is either true or false"),
        Value::Array(items) => items.iter().map(plain).collect::<Result<Vec<_>>>()?,
        other => vec![plain(other)?],
    };
    // A list is one word, but for flags that are given once for each value.
    let is_given_for_each =
        matches!(argument.get_action(), ArgAction::Append) && argument.get_value_delimiter().is_none();
    let values = if is_given_for_each { values } else { vec![values.join(",")] };
    let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    for value in values {
        let mut word = OsString::from(format!("--{name}="));
        // A file can be found from wherever the program is run.
        word.push(if is_path && value != STDOUT { folder.join(value).into_os_string() } else { value.into() });
        words.push(word);
    }
    Ok(())
}

fn plain(value: &Value) -> Result<String> {
    Ok(match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        _ => bail!("a flag is a text, a number, true, false, or a list of those"),
    })
}
