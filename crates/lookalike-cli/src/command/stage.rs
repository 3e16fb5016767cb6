//! `lookalike stage`: `dedup` stage by stage, each divided into parts, for a batch queue. What is between the stages is in
//! the work folder.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use lookalike::{Shard, Stage};

use super::{Ready, dedup, find};
use crate::arguments::GlobalArguments;
use crate::exit::Exit;
use crate::intake::Part;
use crate::progress::Progress;
use crate::summary::{self, First};

/// What `stage` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Type the arguments of dedup behind the stage, the same for all stages. Parts of a stage can run at the same time, on
any machine that sees the inputs and the work files, and again if they fail; a stage begins when the one before it
has ended. sketch, band and verify do the work; group tells what was found; write writes the files. The bytes are
those of dedup, which goes on from whichever stages were done.")]
pub(crate) struct StageArguments {
    /// Which stage
    stage: StageName,
    /// Which part of it: 2/5 is the second of five
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    shard: Shard,
    #[command(flatten)]
    dedup: dedup::DedupArguments,
}

/// The stages that can be done by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StageName {
    /// Read the inputs into sketches
    Sketch,
    /// Find candidates
    Band,
    /// Check the candidates
    Verify,
    /// Find groups, and say how many records are kept
    Group,
    /// Write the outputs
    Write,
}

pub(crate) fn run(arguments: &StageArguments, global: &GlobalArguments) -> Result<Exit> {
    let StageArguments { stage, shard, dedup } = arguments;
    if dedup.resources.tmp.is_none() && dedup.request(Part::AfterSketching).output.is_none() {
        bail!("stages leave their work beside the output or in a folder; name it with -o or --tmp");
    }
    match stage {
        StageName::Sketch => sketch(dedup, *shard, global)?,
        StageName::Band => prepare_stage(dedup, Stage::Band, *shard, global)?,
        StageName::Verify => prepare_stage(dedup, Stage::Verify, *shard, global)?,
        StageName::Group => group(dedup, *shard, global)?,
        StageName::Write => return dedup::run_part(dedup, global, Part::AfterSketching, *shard),
    }
    Ok(Exit::Done)
}

fn sketch(dedup: &dedup::DedupArguments, shard: Shard, global: &GlobalArguments) -> Result<()> {
    let progress = Progress::new(global).expecting_reuse();
    let request = dedup.request(Part::Sketching(shard));
    let check = |old: &[_], new: &[_]| dedup.destinations(old, new).map(|destinations| destinations.bytes(new));
    Ready::read(&request, check, &dedup.matching, global, &progress)?.check_ids()?;
    say_done("sketch", shard, global, &progress);
    Ok(())
}

fn prepare_stage(dedup: &dedup::DedupArguments, stage: Stage, shard: Shard, global: &GlobalArguments) -> Result<()> {
    let progress = Progress::new(global).expecting_reuse();
    let check = |old: &[_], new: &[_]| dedup.destinations(old, new).map(|_| 0);
    let request = dedup.request(Part::AfterSketching);
    Ready::read(&request, check, &dedup.matching, global, &progress)?.prepare(stage, shard, &progress)?;
    say_done(&stage.to_string(), shard, global, &progress);
    Ok(())
}

fn group(dedup: &dedup::DedupArguments, shard: Shard, global: &GlobalArguments) -> Result<()> {
    if shard != Shard::ALL {
        bail!("groups cannot be found in parts; leave --shard out");
    }
    let progress = Progress::new(global).expecting_reuse();
    let check = |old: &[_], new: &[_]| dedup.destinations(old, new).map(|_| 0);
    let found = find(&dedup.request(Part::AfterSketching), check, &dedup.matching, global, &progress)?;
    summary::report(First::Kept, global, &found.plan, &found.outcome, &found.records, &progress);
    Ok(())
}

fn say_done(stage: &str, shard: Shard, global: &GlobalArguments, progress: &Progress) {
    progress.finish();
    if !global.quiet {
        progress.say(&format!("{stage} {shard}: done in {:.2} s", progress.seconds()));
    }
}
