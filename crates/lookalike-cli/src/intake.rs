//! From inputs to sketched records: reading, shingling and sketching on all threads at once.

use std::path::Path;

use anyhow::{Result, bail};
use lookalike::{Plan, Sketched, Stage, Watch};
use lookalike_io::{Input, ReadOptions, Reader, read_all};

use crate::arguments::{InputArguments, ResourceArguments};
use crate::interrupt;
use crate::names::{Records, Stretch};
use crate::progress::Progress;
use crate::stdin::Stdin;

/// Everything that was read: what the engine needs, and what the outputs need.
pub(crate) struct Intake {
    pub(crate) old: Vec<Sketched>,
    pub(crate) new: Vec<Sketched>,
    pub(crate) records: Records,
    pub(crate) reader: Reader,
}

/// Whether all shingles are kept, because all of them are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeepShingles {
    Yes,
    No,
}

/// Reads the inputs of a command, once the old and the new ones have passed `check_outputs`.
pub(crate) fn read(
    arguments: &InputArguments,
    check_outputs: impl FnOnce(&[Input], &[Input]) -> Result<()>,
    resources: &ResourceArguments,
    plan: &Plan,
    progress: &Progress,
    shingles: KeepShingles,
) -> Result<Intake> {
    let (old, new) = arguments.resolve(&resources.tmp())?;
    check_outputs(&old, &new)?;
    let options = ReadOptions {
        keep: plan.settings().keep.field().map(|field| field.parse().map_err(anyhow::Error::msg)).transpose()?,
        within: arguments.within.clone(),
        ..arguments.read.options()
    };
    let old_inputs = old.len();
    let inputs: Vec<Input> = old.into_iter().chain(new).collect();
    progress.begin(Stage::Read, Some(inputs.iter().map(|input| input.size).sum()));
    let reader = Reader::open(inputs, options)?;
    let states = read_all(
        &reader,
        resources.threads(),
        interrupt::flag(),
        || {
            let sketcher = plan.sketcher();
            let sketcher = if shingles == KeepShingles::No { sketcher.forget_shingles() } else { sketcher };
            (sketcher, Vec::new())
        },
        |(sketcher, taken), chunk, parsed| {
            taken.push((chunk.order, sketcher.sketch(&parsed.batch), Stretch::take(chunk.input, parsed)));
            progress.count_records(parsed.batch.len() as u64);
            progress.advance(chunk.file_bytes);
            Ok::<_, anyhow::Error>(())
        },
    )?;
    let mut taken: Vec<(u64, Sketched, Stretch)> = states.into_iter().flat_map(|(_, taken)| taken).collect();
    taken.sort_unstable_by_key(|(order, ..)| *order);
    let (mut old, mut new, mut stretches) = (Vec::new(), Vec::new(), Vec::new());
    for (_, sketched, stretch) in taken {
        if stretch.input() < old_inputs {
            old.push(sketched)
        } else {
            new.push(sketched)
        }
        stretches.push(stretch);
    }
    let records = Records::new(reader.inputs().to_vec(), old_inputs, stretches);
    records.check_ids()?;
    Ok(Intake { old, new, records, reader })
}

/// The text of the one record that a file holds.
pub(crate) fn read_one_text(path: &Path, options: &ReadOptions, tmp: &Path) -> Result<String> {
    use lookalike::Content;

    let inputs = lookalike_io::Inputs::resolve_with(&[path.to_path_buf()], options.format, tmp, &mut Stdin::default())?;
    let shown = lookalike_io::error::Shown(path);
    let reader = Reader::open(inputs, options.clone())?;
    let texts = read_all(&reader, 1, interrupt::flag(), Vec::new, |texts, _, parsed| {
        for record in 0..parsed.batch.len() {
            match parsed.batch.content(record) {
                Content::Text(text) => texts.push(text.to_owned()),
                Content::Set(_) => bail!("{shown} holds a set, and compare shows texts; use pairs for sets"),
            }
        }
        Ok(())
    })?;
    let mut texts: Vec<String> = texts.into_iter().flatten().collect();
    if texts.len() > 1 {
        bail!(
            "{shown} holds {} records, and compare takes one document a file; use pairs for collections",
            texts.len()
        );
    }
    match texts.pop() {
        Some(text) => Ok(text),
        None => bail!("{shown} holds no record; name a file with a text"),
    }
}
