//! What carries no weight: the shingles of templates (`--ignore`), and those that too many records have (`--ignore-common`).

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail};
use lookalike::{Plan, Shingler, Stage, Watch};
use lookalike_io::{Chunk, Input, Inputs, Parsed, Reader, read_all};
use rayon::prelude::*;

use crate::arguments::InputArguments;
use crate::gathering::decompressed_bytes;
use crate::intake::{Part, Request};
use crate::interrupt;
use crate::memory::Budget;
use crate::progress::Progress;
use crate::stdin::Stdin;

/// Bytes of text to a shingle, about; fewer only make for more passes.
const SHINGLE_BYTES: u64 = 6;

/// In how many records a shingle is common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Commonness {
    /// In more than so many.
    Records(u64),
    /// In more than this share of all, in per cent.
    Percent(f64),
}

impl FromStr for Commonness {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "it is neither a number of records, such as 100, nor a share, such as 5%".to_string();
        match text.strip_suffix('%') {
            None => text.parse().ok().filter(|records| *records > 0).map(Self::Records).ok_or_else(wrong),
            Some(share) => {
                let share = share.trim().parse().ok().filter(|share| *share > 0.0 && *share < 100.0);
                share.map(Self::Percent).ok_or_else(wrong)
            }
        }
    }
}

impl Commonness {
    /// The most records that a shingle may be in.
    fn most(self, records: u64) -> u64 {
        match self {
            Self::Records(most) => most,
            Self::Percent(share) => (share / 100.0 * records as f64).floor() as u64,
        }
    }
}

/// The plan without the shingles that were asked to be ignored.
pub(crate) fn leave_out(plan: Plan, request: &Request<'_>, progress: &Progress) -> Result<Plan> {
    let input = request.input;
    if input.ignore.is_empty() && input.ignore_common.is_none() {
        return Ok(plan);
    }
    if input.against_index().is_some() {
        bail!(
            "an index holds its items as they are, so --ignore and --ignore-common cannot be used with it; compare with files"
        );
    }
    let mut ignored = Vec::new();
    if !input.ignore.is_empty() {
        let tmp = request.resources.tmp();
        let templates = Inputs::resolve_with(&input.ignore, None, &tmp, &mut Stdin::default())?;
        ignored = template_shingles(&plan, request, templates)?;
    }
    if let Some(commonness) = input.ignore_common {
        ignored.append(&mut common_shingles(&plan, request, commonness, progress)?);
    }
    Ok(plan.ignoring(ignored))
}

/// The files that hold templates, which no output may replace. What can be read only once is not looked at again.
pub(crate) fn templates(input: &InputArguments, tmp: &Path) -> Result<Vec<Input>> {
    let is_lasting = |path: &&PathBuf| path.is_file() || path.is_dir() || (!path.exists() && path.as_os_str() != "-");
    let lasting: Vec<PathBuf> = input.ignore.iter().filter(is_lasting).cloned().collect();
    Ok(Inputs::resolve(&lasting, None, tmp)?)
}

/// A shingler that gives shingles by themselves, whether repeats count or not.
fn plain_shingler(plan: &Plan) -> Shingler {
    Shingler::new(plan.settings().shingles, plan.normalize(), false)
}

fn template_shingles(plan: &Plan, request: &Request<'_>, templates: Vec<Input>) -> Result<Vec<u64>> {
    let reader = Reader::open(templates, request.input.read.options())?;
    let make = || (plain_shingler(plan), Vec::new());
    let take = |(shingler, shingles): &mut (Shingler, Vec<u64>), _: &Chunk, parsed: &mut Parsed| {
        for record in 0..parsed.batch.len() {
            shingler.append(parsed.batch.content(record), shingles);
        }
        Ok::<_, anyhow::Error>(())
    };
    let states = read_all(&reader, request.resources.threads(), interrupt::flag(), make, take)?;
    Ok(states.into_iter().flat_map(|(_, shingles)| shingles).collect())
}

/// What a thread has counted.
struct Counting {
    shingler: Shingler,
    buffer: Vec<u64>,
    /// The shingles of each record, each once.
    seen: Vec<u64>,
    records: u64,
}

/// The shingles that are in too many records, old and new ones. The inputs are read as often as their shingles, of which only
/// some are counted at a time, need to fit into memory.
fn common_shingles(
    plan: &Plan,
    request: &Request<'_>,
    commonness: Commonness,
    progress: &Progress,
) -> Result<Vec<u64>> {
    let input = request.input;
    if input.inputs.is_empty() || input.inputs.iter().chain(&input.against).any(|path| path.as_os_str() == "-") {
        bail!("--ignore-common reads the records twice, and standard input cannot be; save it to a file first");
    }
    if matches!(request.part, Part::Sketching(_)) {
        bail!("--ignore-common counts in all records, and a stage reads some of them; leave it to dedup");
    }
    let budget = Budget::new(request.resources.memory, request.resources.threads())?;
    let (old, new) = input.resolve(&request.resources.tmp())?;
    let inputs: Vec<Input> = old.into_iter().chain(new).collect();
    let at_once = (budget.sketches() / 16).max(1 << 20);
    let passes = (decompressed_bytes(&inputs) / SHINGLE_BYTES).div_ceil(at_once).max(1);
    let mut common = Vec::new();
    for pass in 0..passes {
        progress.begin(Stage::Read, Some(inputs.iter().map(|input| input.size).sum()));
        let reader = Reader::open(inputs.clone(), input.read.options())?;
        let is_counted = |shingle: &u64| ((u128::from(*shingle) * u128::from(passes)) >> 64) as u64 == pass;
        let make = || Counting { shingler: plain_shingler(plan), buffer: Vec::new(), seen: Vec::new(), records: 0 };
        let take = |counting: &mut Counting, chunk: &Chunk, parsed: &mut Parsed| {
            for record in 0..parsed.batch.len() {
                counting.buffer.clear();
                counting.shingler.append(parsed.batch.content(record), &mut counting.buffer);
                counting.buffer.retain(is_counted);
                counting.buffer.sort_unstable();
                counting.buffer.dedup();
                counting.seen.extend_from_slice(&counting.buffer);
            }
            counting.records += parsed.batch.len() as u64;
            progress.advance(chunk.file_bytes);
            Ok::<_, anyhow::Error>(())
        };
        let states = read_all(&reader, request.resources.threads(), interrupt::flag(), make, take)?;
        let most = commonness.most(states.iter().map(|counting| counting.records).sum());
        let mut seen: Vec<u64> = states.into_iter().flat_map(|counting| counting.seen).collect();
        seen.par_sort_unstable();
        let lists = seen.chunk_by(|left, right| left == right);
        common.extend(lists.filter(|same| same.len() as u64 > most).map(|same| same[0]));
    }
    Ok(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_common_is_too_common() {
        assert_eq!("100".parse(), Ok(Commonness::Records(100)));
        assert_eq!("2.5%".parse(), Ok(Commonness::Percent(2.5)));
        assert_eq!(Commonness::Percent(2.5).most(200), 5);
        for text in ["0", "-1", "0%", "100%", "many", "%", "NaN%"] {
            assert!(text.parse::<Commonness>().is_err(), "{text}");
        }
    }
}
