//! `lookalike groups`: groups of look-alikes, the keeper first.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use lookalike::Group;
use lookalike_io::{FinishedFile, Input, remove_abandoned};
use serde_json::json;

use super::Ready;
use crate::arguments::{
    GlobalArguments, InputArguments, MatchArguments, ResourceArguments, ResultArguments, ResultFormat,
};
use crate::exit::Exit;
use crate::intake::{KeepShingles, Part, Request};
use crate::names::Records;
use crate::progress::Progress;
use crate::report::ReportArguments;
use crate::results::{Cell, Column, Sink, Table, write_escaped};
use crate::summary::{self, First};

/// What `groups` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Text output: one group a line, ids between tabs, the keeper first, the others in input order; only groups of two
or more. CSV and Parquet: one record a row, with its keeper and how alike they are.")]
pub(crate) struct GroupsArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    matching: MatchArguments,
    #[command(flatten)]
    result: ResultArguments,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    resources: ResourceArguments,
}

pub(crate) fn run(arguments: &GroupsArguments, global: &GlobalArguments) -> Result<Exit> {
    let progress = Progress::new(global);
    remove_abandoned(arguments.result.file());
    let sink = Sink::open(arguments.result.file())?;
    let report = arguments.report.open()?;
    let request = Request {
        command: "groups",
        input: &arguments.input,
        output: arguments.result.file(),
        resources: &arguments.resources,
        shingles: KeepShingles::No,
        part: Part::Everything,
        adds: false,
    };
    // A list is nothing beside its inputs.
    let check = |old: &[Input], new: &[Input]| arguments.result.check(arguments.report.file(), old, new).map(|()| 0);
    let ready = Ready::read(&request, check, &arguments.matching, global, &progress)?;
    let found = ready.find(None, arguments.report.file().is_some(), &progress)?;
    let groups = found.outcome.groups();
    let report = report.write(&found, None, progress.seconds())?;
    match arguments.result.format() {
        ResultFormat::Text => write_lines(&groups, &found.records, sink)?,
        ResultFormat::Jsonl => write_objects(&groups, &found.records, sink)?,
        format => write_rows(&groups, &found.records, sink, format)?,
    }
    report.map(FinishedFile::appear).transpose()?;
    summary::report(First::Kept, global, &found.plan, &found.outcome, &found.records, &progress);
    found.settle();
    Ok(Exit::Done)
}

fn write_lines(groups: &[Group], records: &Records, mut sink: Sink) -> Result<()> {
    for group in groups {
        write_escaped(&mut sink, &records.name(group.keeper))?;
        for (member, _) in &group.members {
            sink.write_all(b"\t")?;
            write_escaped(&mut sink, &records.name(*member))?;
        }
        sink.write_all(b"\n")?;
    }
    sink.commit()
}

fn write_objects(groups: &[Group], records: &Records, mut sink: Sink) -> Result<()> {
    for group in groups {
        let members = group.members.iter();
        let members: Vec<_> = members
            .map(|(member, similarity)| json!({"id": records.name(*member), "similarity": similarity}))
            .collect();
        let object = json!({"keeper": records.name(group.keeper), "size": group.size(), "members": members});
        writeln!(sink, "{object}")?;
    }
    sink.commit()
}

fn write_rows(groups: &[Group], records: &Records, sink: Sink, format: ResultFormat) -> Result<()> {
    const COLUMNS: &[Column] = &[Column::Text("keeper"), Column::Text("id"), Column::Similarity("similarity")];
    let mut table = Table::new(sink, format, COLUMNS)?;
    for group in groups {
        let keeper = records.name(group.keeper);
        for (record, similarity) in std::iter::once(&(group.keeper, 1.0)).chain(&group.members) {
            table.push(&[Cell::Text(&keeper), Cell::Text(&records.name(*record)), Cell::Similarity(*similarity)])?;
        }
    }
    table.finish()?.commit()
}
