//! lookalike.toml: the long flags in a file, read as if they had been typed before the others.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Arg, ArgMatches, Command};
use toml::{Table, Value};

/// The name of the file that is looked for.
const NAME: &str = "lookalike.toml";

/// The words of the command line with those of the configuration file before them, behind the command's name. Flags that
/// the command does not take are left out; flags that no command takes are an error.
pub(crate) fn with_configuration(
    definition: &Command,
    matches: &ArgMatches,
    given: Option<&Path>,
    typed: Vec<OsString>,
) -> Result<Vec<OsString>> {
    let Some(path) = given.map(Path::to_path_buf).or_else(nearest) else { return Ok(typed) };
    let Some((chosen, at)) = command_of(definition, matches, &typed) else { return Ok(typed) };
    let shown = path.display();
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
    let table: Table = text.parse().with_context(|| format!("{shown} is not valid TOML"))?;

    let mut words = Vec::new();
    for (name, value) in &table {
        let takes = |command: &Command| command.get_arguments().any(|argument| argument.get_long() == Some(name));
        let find =
            |command: &Command| command.get_arguments().find(|argument| argument.get_long() == Some(name)).cloned();
        if let Some(argument) = find(chosen).or_else(|| find(definition)) {
            append(&mut words, name, value, &argument).with_context(|| format!("in {shown}"))?;
        } else if !all_commands(definition).any(takes) {
            bail!("{shown}: no command has a flag --{name}; take the line out, or see lookalike help for the flags");
        }
    }
    // The program's name and everything up to the command's, then the file's words, then the rest.
    let (before, behind) = typed.split_at(at);
    Ok(before.iter().cloned().chain(words).chain(behind.iter().cloned()).collect())
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

/// The commands, and those below them.
fn all_commands(definition: &Command) -> impl Iterator<Item = &Command> {
    definition.get_subcommands().flat_map(|command| std::iter::once(command).chain(command.get_subcommands()))
}

/// The file in this folder, or in the nearest one above that has it.
fn nearest() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(NAME)).find(|path| path.is_file())
}

fn append(words: &mut Vec<OsString>, name: &str, value: &Value, argument: &Arg) -> Result<()> {
    let takes_value = argument.get_action().takes_values();
    let text = match value {
        Value::Boolean(true) if !takes_value => {
            words.push(format!("--{name}").into());
            return Ok(());
        }
        Value::Boolean(false) if !takes_value => return Ok(()),
        _ if !takes_value => bail!("{name} is either true or false"),
        Value::Array(items) => items.iter().map(plain).collect::<Result<Vec<_>>>()?.join(","),
        other => plain(other)?,
    };
    words.push(format!("--{name}={text}").into());
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
