//! The commands: one verb, one file, one `run`.

pub(crate) mod audit;
pub(crate) mod compare;
pub(crate) mod dedup;
pub(crate) mod generate;
pub(crate) mod groups;
pub(crate) mod index;
pub(crate) mod pairs;
pub(crate) mod plan;
pub(crate) mod query;
pub(crate) mod serve;
pub(crate) mod sources;
pub(crate) mod stage;
pub(crate) mod sweep;

use std::sync::Arc;

use anyhow::Result;
use lookalike::{Decided, Hear, Outcome, Plan, Resources, Shard, Stage};
use lookalike_io::error::Shown;
use lookalike_io::{Input, Reader};

use crate::against::ItemsFirst;
use crate::arguments::{Arguments, Command, GlobalArguments, MatchArguments};
use crate::boilerplate;
use crate::copies::Copies;
use crate::exit::Exit;
use crate::intake::{self, Intake, Request};
use crate::interrupt;
use crate::names::Records;
use crate::progress::Progress;
use crate::second_read::SecondRead;
use crate::work::Work;

/// Does what was typed.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit> {
    interrupt::listen();
    let global = &arguments.global;
    if let Some(file) = global.configuration.as_ref().filter(|_| global.verbose) {
        Progress::new(global).note(&format!("some flags are from {}", Shown(file)));
    }
    match &arguments.command {
        Command::Dedup(arguments) => dedup::run(arguments, global),
        Command::Pairs(arguments) => pairs::run(arguments, global),
        Command::Groups(arguments) => groups::run(arguments, global),
        Command::Compare(arguments) => compare::run(arguments, global),
        Command::Plan(arguments) => plan::run(arguments, global),
        Command::Sweep(arguments) => sweep::run(arguments, global),
        Command::Audit(arguments) => audit::run(arguments, global),
        Command::Index(arguments) => index::run(arguments, global),
        Command::Query(arguments) => query::run(arguments, global),
        Command::Serve(arguments) => serve::run(arguments, global),
        Command::Sources(arguments) => sources::run(arguments, global),
        Command::Stage(arguments) => stage::run(arguments, global),
        Command::Generate(arguments) => generate::run(arguments),
    }
}

/// A run of the engine on the inputs of a command.
pub(crate) struct Found {
    pub(crate) plan: Plan,
    pub(crate) records: Records,
    pub(crate) outcome: Outcome,
    /// Reads records once more.
    pub(crate) reader: Reader,
    /// Whether the old records are items of an index.
    pub(crate) is_against_index: bool,
    work: Option<Arc<Work>>,
    /// What the records are called together in an index that they are added to.
    addition: Option<String>,
}

impl Found {
    /// All is written: what was left for another attempt is of no use any more.
    fn settle(self) {
        if let Some(work) = self.work.and_then(Arc::into_inner) {
            work.remove();
        }
    }
}

/// Reads the inputs and finds what is alike. `check_outputs` is shown the old and the new inputs before they are read, and
/// says how many bytes of disk the outputs may take.
fn find(
    request: &Request<'_>,
    check_outputs: impl FnOnce(&[Input], &[Input]) -> Result<u64>,
    matching: &MatchArguments,
    global: &GlobalArguments,
    progress: &Progress,
) -> Result<Found> {
    Ready::read(request, check_outputs, matching, global, progress)?.find(None, true, progress)
}

/// Inputs that have been read.
struct Ready {
    plan: Plan,
    intake: Intake,
    threads: usize,
}

impl Ready {
    /// Reads the inputs, as [`find`] does.
    fn read(
        request: &Request<'_>,
        check_outputs: impl FnOnce(&[Input], &[Input]) -> Result<u64>,
        matching: &MatchArguments,
        global: &GlobalArguments,
        progress: &Progress,
    ) -> Result<Self> {
        request.resources.limit_threads()?;
        let plan = boilerplate::leave_out(matching.plan()?, request, progress)?;
        if global.verbose {
            progress.say(&plan.to_string());
        }
        let intake = intake::read(request, check_outputs, &plan, progress)?;
        Ok(Self { plan, intake, threads: request.resources.threads() })
    }

    /// Finds what is alike: every pair, or only who is kept. Copies that are under way hear what is dropped as soon as that is
    /// known.
    fn find(self, copies: Option<&Copies>, needs_pairs: bool, progress: &Progress) -> Result<Found> {
        let Self { plan, intake, threads } = self;
        let Intake { old, new, items, records, reader, work, room, addition } = intake;
        let supply = SecondRead { reader: &reader, records: &records, plan: &plan, threads };
        let supply = ItemsFirst { items: items.as_ref(), records: supply };
        let hear = copies.map(|copies| |decided: Decided<'_>| copies.hear(&records, decided));
        let resources = Resources {
            supply: Some(&supply),
            room,
            work: work.as_ref().map(|work| work.folder()),
            decided: hear.as_ref().map(|hear| hear as &Hear<'_>),
            needs_pairs,
        };
        // Pairs are counted aloud before they are found, which an error should come before.
        let outcome = if threads > 1 && !needs_pairs {
            // Ids are checked where the stages leave a processor idle.
            let check = || records.check_ids().inspect_err(|_| progress.fail());
            let (outcome, checked) = rayon::join(|| plan.finish_with(old, new, &resources, progress), check);
            checked?;
            outcome?
        } else {
            records.check_ids()?;
            plan.finish_with(old, new, &resources, progress)?
        };
        let is_against_index = items.is_some();
        Ok(Found { plan, records, outcome, reader, is_against_index, work, addition })
    }

    /// Refuses ids that stand twice.
    fn check_ids(&self) -> Result<()> {
        self.intake.records.check_ids()
    }

    /// Does one part of a stage, and leaves it in work files.
    fn prepare(self, stage: Stage, shard: Shard, progress: &Progress) -> Result<()> {
        self.check_ids()?;
        let Self { plan, intake, threads } = self;
        let Intake { old, new, records, reader, work, room, .. } = intake;
        let supply = SecondRead { reader: &reader, records: &records, plan: &plan, threads };
        let work = work.as_ref().map(|work| work.folder());
        let resources = Resources { supply: Some(&supply), room, work, ..Resources::default() };
        Ok(plan.prepare(stage, shard, (old, new), &resources, progress)?)
    }
}
