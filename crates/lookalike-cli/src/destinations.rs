//! Where the records of `dedup` go, decided and checked before anything is read.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use lookalike_io::error::Shown;
use lookalike_io::input::format_by_name;
use lookalike_io::{
    Compression, Format, Input, check_writable, is_folder_output, plan_outputs, refuse_overwriting, remove_abandoned,
};

use crate::estimate::COMPRESSION_RATIO;

/// What stands for standard output.
pub(crate) const STDOUT: &str = "-";

/// Where the records of each new input go.
#[derive(Debug)]
pub(crate) enum Destinations {
    Files(Vec<PathBuf>),
    Stdout,
    Nowhere,
}

/// What was typed about outputs.
pub(crate) struct Wanted<'a> {
    /// The inputs as they were typed.
    pub(crate) typed: &'a [PathBuf],
    /// Where the records go; none for standard output.
    pub(crate) output: Option<&'a Path>,
    /// Lists that are written besides.
    pub(crate) lists: Vec<&'a Path>,
    /// Whether the records are written at all.
    pub(crate) writes_records: bool,
    pub(crate) annotates: bool,
}

impl Destinations {
    /// Decides where records go, and refuses what would lose something or cannot be done.
    pub(crate) fn plan(wanted: &Wanted<'_>, old: &[Input], new: &[Input]) -> Result<Self> {
        let destinations = match wanted.output {
            _ if !wanted.writes_records => Self::Nowhere,
            None => Self::to_stdout(new)?,
            Some(output) => Self::to_files(wanted, output, new)?,
        };
        if wanted.annotates
            && let Some(input) = new.iter().find(|input| !can_be_annotated(input.format))
        {
            bail!(
                "{}: records of the format {} have no place for annotations; JSONL, CSV, TSV and Parquet can be annotated; \
                 ask for groups instead",
                Shown(&input.name),
                input.format
            );
        }
        let files: &[PathBuf] = if let Self::Files(files) = &destinations { files } else { &[] };
        let all: Vec<&Path> = files.iter().map(PathBuf::as_path).chain(wanted.lists.iter().copied()).collect();
        refuse_overwriting(old, &all)?;
        refuse_overwriting(new, &all)?;
        // One stands for all: they share a folder, and a run of hours should not end with what could be told at once.
        files.first().map_or(Ok(()), |first| check_writable(first))?;
        let to_stdout = usize::from(matches!(destinations, Self::Stdout));
        if to_stdout + wanted.lists.iter().filter(|list| list.as_os_str() == STDOUT).count() > 1 {
            bail!("only one output can go to standard output; name files for the others");
        }
        let mut places: Vec<(PathBuf, &Path)> = all.iter().map(|path| (place(path), *path)).collect();
        places.sort_unstable();
        if let Some(twice) = places.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            bail!("two outputs would be written to {}; give each a file of its own", Shown(twice[0].1));
        }
        Ok(destinations)
    }

    /// Removes what a killed run left of these outputs.
    pub(crate) fn clean(&self) {
        if let Self::Files(paths) = self {
            remove_abandoned(paths.iter().map(PathBuf::as_path));
        }
    }

    /// Bytes of disk that the records take if none is dropped.
    pub(crate) fn bytes(&self, new: &[Input]) -> u64 {
        let Self::Files(paths) = self else { return 0 };
        let expands = |input: &Input, path: &Path| {
            input.compression != Compression::None
                && Compression::by_name(path).unwrap_or_default() == Compression::None
        };
        let inputs = new.iter().zip(paths);
        inputs.map(|(input, path)| if expands(input, path) { COMPRESSION_RATIO * input.size } else { input.size }).sum()
    }

    fn to_files(wanted: &Wanted<'_>, output: &Path, new: &[Input]) -> Result<Self> {
        // A glob may match one file today and several tomorrow.
        let is_named_folder = output.as_os_str().as_bytes().ends_with(b"/");
        let into_folder = is_folder_output(wanted.typed, new) || is_named_folder;
        if let ([input], false) = (new, into_folder) {
            if output.is_dir() {
                bail!("the output {} is a folder; name a file in it", Shown(output));
            }
            if let Some(packer) = Compression::unknown_by_name(output) {
                bail!(
                    "{} is named as {packer} names its files, which is not written; end it in .gz or .zst, or in neither",
                    Shown(output)
                );
            }
            let told = format_by_name(output).filter(|told| has_a_shape(*told) && *told != input.format);
            if let Some(told) = told {
                bail!(
                    "{} holds {}, and records leave unchanged, so they cannot become {told} in {}; name an output that \
                     ends as the input does",
                    Shown(&input.name),
                    input.format,
                    Shown(output)
                );
            }
        }
        Ok(Self::Files(plan_outputs(new, output, into_folder)?))
    }

    fn to_stdout(new: &[Input]) -> Result<Self> {
        let [first, rest @ ..] = new else { return Ok(Self::Stdout) };
        let same = |input: &Input| input.format == first.format;
        let joins = !matches!(first.format, Format::Text | Format::Html | Format::Parquet) && rest.iter().all(same);
        if !rest.is_empty() && !joins {
            bail!("these inputs cannot be written one after another; name a folder for them with -o");
        }
        Ok(Self::Stdout)
    }
}

/// Whether a program that reads the format would stumble over another.
fn has_a_shape(format: Format) -> bool {
    matches!(format, Format::Jsonl | Format::Csv | Format::Tsv | Format::Parquet | Format::Warc)
}

fn can_be_annotated(format: Format) -> bool {
    matches!(format, Format::Jsonl | Format::Csv | Format::Tsv | Format::Parquet)
}

/// A path with its folder resolved, so that two ways of writing the same place are equal.
fn place(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else { return absolute };
    // The folder may not exist yet; then the part of it that does is resolved.
    for ancestor in folder.ancestors() {
        if let (Ok(resolved), Ok(rest)) = (ancestor.canonicalize(), folder.strip_prefix(ancestor)) {
            return resolved.join(rest).join(name);
        }
    }
    absolute
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ways_to_one_place_are_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir(at("a")).unwrap();
        assert_eq!(place(&at("a/../x")), place(&at("x")));
        assert_eq!(place(&at("a/./new/x")), place(&at("a/new/x")));
        assert_ne!(place(&at("a/x")), place(&at("x")));
    }
}
