//! `lookalike generate`: man page, completions, schema of the configuration file; all from the one definition of flags.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use clap::{Args, CommandFactory, Subcommand};
use clap_complete::Shell;
use serde_json::json;

use crate::arguments::Arguments;
use crate::exit::Exit;

/// What `generate` takes.
#[derive(Debug, Args)]
pub(crate) struct GenerateArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The manual, in roff: lookalike generate man | man -l -
    Man,
    /// Completions for a shell
    Completion { shell: Shell },
    /// The JSON schema of lookalike.toml
    ConfigSchema,
}

pub(crate) fn run(arguments: &GenerateArguments) -> Result<Exit> {
    let mut definition = Arguments::command();
    let mut out = Vec::new();
    match arguments.what {
        What::Man => {
            definition.build();
            clap_mangen::Man::new(definition.clone()).render(&mut out)?;
            for command in definition.get_subcommands().filter(|command| command.get_name() != "help") {
                writeln!(out, ".SH \"LOOKALIKE {}\"", command.get_name().to_uppercase())?;
                let man = clap_mangen::Man::new(command.clone());
                man.render_description_section(&mut out)?;
                man.render_synopsis_section(&mut out)?;
                man.render_options_section(&mut out)?;
            }
        }
        What::Completion { shell } => clap_complete::generate(shell, &mut definition, "lookalike", &mut out),
        What::ConfigSchema => writeln!(out, "{:#}", config_schema(&definition))?,
    }
    std::io::stdout().write_all(&out)?;
    Ok(Exit::Done)
}

/// Every long flag of every command, once.
fn config_schema(definition: &clap::Command) -> serde_json::Value {
    let mut properties = BTreeMap::new();
    let all = definition.get_subcommands().flat_map(clap::Command::get_arguments).chain(definition.get_arguments());
    for argument in all {
        let Some(name) = argument.get_long().filter(|name| !matches!(*name, "help" | "version" | "config")) else {
            continue;
        };
        let description = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let schema = if argument.get_action().takes_values() {
            json!({"description": description, "type": ["string", "number", "array"]})
        } else {
            json!({"description": description, "type": "boolean"})
        };
        properties.insert(name.to_owned(), schema);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "lookalike.toml",
        "description": "The long flags of lookalike, as if they had been typed before the others.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}
