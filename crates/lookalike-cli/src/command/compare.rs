//! `lookalike compare`: how alike two documents are, and the passages they share.

use std::io::{IsTerminal, Write};
use std::ops::Range;
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use anyhow::bail;
use clap::Args;
use lookalike::{Comparison, Measure, Passage};

use crate::answer::ComparisonAnswer;
use crate::arguments::{GlobalArguments, MatchArguments, ReadArguments, ResourceArguments};
use crate::exit::Exit;
use crate::intake::read_one_text;
use crate::interrupt;

/// What `compare` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
With -t given, the exit status is 1 if the documents are less alike than that.")]
pub(crate) struct CompareArguments {
    /// A document, or - for standard input
    left: PathBuf,
    /// Another
    right: PathBuf,
    #[command(flatten)]
    read: ReadArguments,
    #[command(flatten)]
    matching: MatchArguments,
    #[command(flatten)]
    resources: ResourceArguments,
}

pub(crate) fn run(arguments: &CompareArguments, global: &GlobalArguments) -> Result<Exit> {
    let plan = arguments.matching.plan()?;
    if arguments.left == arguments.right && arguments.left.as_os_str() == "-" {
        bail!("both documents are standard input; name a file for one of them");
    }
    let (options, tmp) = (arguments.read.options(), arguments.resources.tmp());
    let left = read_one_text(&arguments.left, &options, &tmp, "compare")?;
    let right = read_one_text(&arguments.right, &options, &tmp, "compare")?;
    let (plan, left, right, comparison) = interrupt::unless_requested(move || {
        let comparison = plan.compare(&left, &right);
        (plan, left, right, comparison)
    })?;
    let mut out = anstream::stdout().lock();
    if global.json {
        let answer = ComparisonAnswer::new(&comparison, &left, &right);
        writeln!(out, "{}", serde_json::to_value(answer)?)?;
    } else {
        write_words(&mut out, &comparison)?;
        if std::io::stdout().is_terminal() {
            write_highlighted(&mut out, arguments, &comparison, [&left, &right])?;
        } else {
            write_passages(&mut out, &comparison, &left)?;
        }
    }
    let similarity = match plan.settings().measure {
        Measure::Jaccard => comparison.jaccard(),
        Measure::Containment => comparison.left_in_right().max(comparison.right_in_left()),
    };
    let is_no = global.typed_threshold && similarity < plan.settings().threshold;
    Ok(if is_no { Exit::No } else { Exit::Done })
}

fn write_words(out: &mut impl Write, comparison: &Comparison) -> Result<()> {
    let Comparison { shared, left_shingles, right_shingles, .. } = comparison;
    let all = left_shingles + right_shingles - shared;
    writeln!(out, "jaccard      {:.6}  ({shared} of {all} shingles shared)", comparison.jaccard())?;
    writeln!(
        out,
        "containment  {:.6}  of the left in the right ({shared} of {left_shingles})",
        comparison.left_in_right()
    )?;
    writeln!(
        out,
        "             {:.6}  of the right in the left ({shared} of {right_shingles})",
        comparison.right_in_left()
    )?;
    if let Some(estimate) = comparison.estimate {
        writeln!(out, "estimate     {:.6}  ± {:.6} from the sketches", estimate.similarity, estimate.standard_error)?;
    }
    Ok(())
}

/// The shared passages by themselves, for a reader who is not at a terminal.
fn write_passages(out: &mut impl Write, comparison: &Comparison, left: &str) -> Result<()> {
    let passages = comparison.passages.iter().map(|passage| ("passage ", passage));
    for (kind, passage) in passages.chain(comparison.reworded.iter().map(|passage| ("reworded", passage))) {
        let text = left[passage.left.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
        write!(out, "{kind}     {} tokens", passage.tokens)?;
        if passage.similarity < 1.0 {
            write!(out, ", {:.0} % the same", (100.0 * passage.similarity).floor())?;
        }
        write!(out, ": ")?;
        crate::results::write_escaped(out, &text)?;
        writeln!(out)?;
    }
    Ok(())
}

/// Both documents, what they share standing out.
fn write_highlighted(
    out: &mut impl Write,
    arguments: &CompareArguments,
    comparison: &Comparison,
    texts: [&str; 2],
) -> Result<()> {
    const SHARED: Style = AnsiColor::Green.on_default().bold();
    const REWORDED: Style = AnsiColor::Yellow.on_default();
    const TITLE: Style = Style::new().underline();
    let sides: [fn(&Passage) -> Range<usize>; 2] = [|passage| passage.left.clone(), |passage| passage.right.clone()];
    for ((text, path), side) in texts.into_iter().zip([&arguments.left, &arguments.right]).zip(sides) {
        writeln!(out, "\n{TITLE}{}{TITLE:#}", lookalike_io::error::Shown(path))?;
        let shared = merged(comparison.passages.iter().map(side).collect());
        let reworded = merged(comparison.reworded.iter().map(side).collect());
        let mut edges: Vec<usize> = shared.iter().chain(&reworded).flat_map(|range| [range.start, range.end]).collect();
        edges.extend([0, text.trim_end().len()]);
        edges.sort_unstable();
        let is_in = |ranges: &[Range<usize>], at: usize| {
            let behind = ranges.partition_point(|range| range.start <= at);
            behind > 0 && at < ranges[behind - 1].end
        };
        for (from, to) in edges.iter().zip(&edges[1..]).filter(|(from, to)| from < to) {
            let style = match (is_in(&shared, *from), is_in(&reworded, *from)) {
                (true, _) => SHARED,
                (_, true) => REWORDED,
                _ => Style::new(),
            };
            write!(out, "{style}{}{style:#}", harmless(&text[*from..*to]))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Ranges in ascending order, those that touch made one.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// A text without the control characters that could play tricks on a terminal.
fn harmless(text: &str) -> String {
    let is_harmless = |character: char| !character.is_control() || matches!(character, '\n' | '\t');
    text.chars().map(|character| if is_harmless(character) { character } else { '\u{fffd}' }).collect()
}
