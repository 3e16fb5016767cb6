//! Work files: what a run has found so far, on disk, so that it need not be in memory and survives an interruption.
//!
//! A work file appears whole or not at all, says which run it belongs to, and has checksums over everything, so that a
//! machine may die at any moment: what is missing or damaged is made again.

mod file;
mod segment;

use std::path::{Path, PathBuf};

pub use file::HiddenFile;
pub(crate) use file::{WorkFile, WorkWriter};
pub use segment::Segment;
pub(crate) use segment::{Stored, columns};

use xxhash_rust::xxh3::xxh3_128;

use crate::error::Result;
use crate::watch::{Stage, Watch};

/// Which run a work file belongs to: a fingerprint of everything that the content of its work files depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(pub u128);

impl Stamp {
    /// The stamp of a run that is described by this text.
    pub fn of(description: &str) -> Self {
        Self(xxh3_128(description.as_bytes()))
    }
}

/// The folder of a run's work files.
#[derive(Clone, Debug)]
pub struct WorkFolder {
    path: PathBuf,
    stamp: Stamp,
}

/// Something that is kept in a work file of its own.
pub(crate) trait Checkpoint: Sized {
    fn save(&self, writer: &mut WorkWriter) -> Result<()>;
    fn load(file: &WorkFile) -> Result<Self>;
}

impl WorkFolder {
    /// A folder that exists. Whoever makes it sees to it that one run uses it at a time.
    pub fn new(path: &Path, stamp: Stamp) -> Self {
        Self { path: path.into(), stamp }
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which run it belongs to.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What an earlier attempt left under this name, if it is there and whole.
    pub(crate) fn load<T: Checkpoint>(&self, name: &str) -> Option<T> {
        let file = WorkFile::open(&self.file(name), self.stamp).ok()?;
        T::load(&file).ok()
    }

    /// What earlier attempts left under names that begin so, as far as it is whole.
    pub(crate) fn load_all<T: Checkpoint>(&self, beginning: &str) -> Vec<T> {
        let entries = self.path.read_dir().into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.starts_with(beginning)).filter_map(|name| self.load(&name)).collect()
    }

    pub(crate) fn save<T: Checkpoint>(&self, name: &str, value: &T) -> Result<()> {
        let mut writer = WorkWriter::create(&self.file(name), self.stamp)?;
        value.save(&mut writer)?;
        writer.finish()?;
        Ok(())
    }
}

/// What an earlier attempt left under this name, or else what `make` makes, which is then left there.
pub(crate) fn load_or_make<T: Checkpoint>(
    work: Option<&WorkFolder>,
    name: &str,
    stage: Stage,
    watch: &dyn Watch,
    make: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let Some(work) = work else { return make() };
    if let Some(made) = work.load(name) {
        watch.reuse(stage, 1);
        return Ok(made);
    }
    let made = make()?;
    work.save(name, &made)?;
    Ok(made)
}
