//! The work folder of a run: where it is, whose it is, and what is left in it for another attempt.

use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lookalike::{Plan, Segment, Sketched, Stamp, WorkFolder};
use lookalike_io::error::Shown;
use lookalike_io::{Input, ReadOptions};
use serde::{Deserialize, Serialize};

use crate::progress::Progress;

/// What the files that hold read records are called, before their number.
const READ: &str = "read-";
/// Says which inputs the folder was made for.
const MANIFEST: &str = "inputs.json";
const LOCK: &str = "lock";

/// A work folder that belongs to this run alone.
pub(crate) struct Work {
    folder: WorkFolder,
    /// Held as long as the run lasts.
    _lock: File,
    is_private: bool,
}

/// What the answer depends on, besides the inputs' content.
#[derive(Debug)]
pub(crate) struct Identity<'a> {
    pub(crate) command: &'a str,
    pub(crate) plan: &'a Plan,
    pub(crate) options: &'a ReadOptions,
    pub(crate) output: Option<&'a Path>,
}

/// An input as it was looked at.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Seen {
    name: String,
    size: u64,
    modified: Option<(u64, u32)>,
    how: String,
}

impl Seen {
    fn of(input: &Input) -> Self {
        let path = std::path::absolute(&input.path).unwrap_or_else(|_| input.path.clone());
        let since = input.modified().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        Self {
            name: path.to_string_lossy().into_owned(),
            size: input.size,
            modified: since.map(|since| (since.as_secs(), since.subsec_nanos())),
            how: format!("{:?} {:?}", input.format, input.compression),
        }
    }
}

/// Where the work folder of a run is, if it needs one.
pub(crate) struct WorkPlace {
    path: PathBuf,
    stamp: Stamp,
    seen: Vec<Seen>,
    is_private: bool,
    restart: bool,
}

impl WorkPlace {
    /// The place of this run's work folder: in `tmp`, or else beside the output, or else among the system's temporary
    /// files. `restart` has it emptied when it is opened.
    pub(crate) fn of(identity: &Identity<'_>, inputs: &[Input], tmp: Option<&Path>, restart: bool) -> Result<Self> {
        let seen: Vec<Seen> = inputs.iter().map(Seen::of).collect();
        let names: Vec<&String> = seen.iter().map(|seen| &seen.name).collect();
        let output = identity.output.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.into()));
        let settings = format!(
            "{} {} {:?} {:?}",
            env!("CARGO_PKG_VERSION"),
            serde_json::to_string(identity.plan.settings())?,
            identity.plan,
            identity.options
        );
        // What cannot be read again cannot be gone on with either.
        let is_private = inputs.iter().any(Input::is_copy);
        let nonce = if is_private { std::process::id() } else { 0 };
        let command = Stamp::of(&format!("{} {settings} {output:?} {names:?} {nonce}", identity.command));
        let parent = match (tmp, &output) {
            (Some(tmp), _) => tmp.to_path_buf(),
            (None, Some(output)) => output.parent().unwrap_or(Path::new("/")).to_path_buf(),
            (None, None) => std::env::temp_dir(),
        };
        let stamp = Stamp::of(&format!("{settings} {seen:?}"));
        let path = parent.join(format!(".lookalike-{:016x}", command.0 as u64));
        Ok(Self { path, stamp, seen, is_private, restart })
    }

    /// Whether an earlier attempt left something.
    pub(crate) fn exists(&self) -> bool {
        self.path.is_dir()
    }

    /// Opens the folder, with what an earlier attempt left.
    pub(crate) fn open(&self, progress: &Progress) -> Result<Work> {
        let path = &self.path;
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
            let made = fs::DirBuilder::new().mode(0o700).create(path);
            made.or_else(|error| if path.is_dir() { Ok(()) } else { Err(error) })
        });
        made.with_context(|| {
            format!("cannot make the folder {} for work files; name another place with --tmp", Shown(path))
        })?;
        let lock = File::create(path.join(LOCK)).with_context(|| format!("cannot write to {}", Shown(path)))?;
        if lock.try_lock().is_err() {
            bail!("the same command is running already ({}); wait for it to end, or stop it", Shown(path));
        }
        let work = Work { folder: WorkFolder::new(path, self.stamp), _lock: lock, is_private: self.is_private };
        work.settle(&self.seen, self.restart, progress)?;
        Ok(work)
    }
}

impl Work {
    /// Removes what is of no use for these inputs, and says why.
    fn settle(&self, seen: &[Seen], restart: bool, progress: &Progress) -> Result<()> {
        let manifest = self.folder.path().join(MANIFEST);
        let before: Option<Vec<Seen>> = fs::read(&manifest).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let (Some(before), false) = (&before, restart) {
            if before == seen {
                return Ok(());
            }
            let changed = before.iter().zip(seen).find(|(before, now)| before != now);
            let name = changed.map_or("the list of inputs", |(_, now)| &now.name);
            progress.say(&format!("note: {name} changed since the interrupted run, so all is read again"));
        }
        self.empty()?;
        let hidden = self.folder.path().join("inputs.part");
        fs::write(&hidden, serde_json::to_vec(seen)?)
            .and_then(|()| fs::rename(&hidden, &manifest))
            .with_context(|| format!("cannot write to {}; name another place with --tmp", Shown(self.folder.path())))
    }

    fn empty(&self) -> Result<()> {
        for entry in fs::read_dir(self.folder.path())?.flatten() {
            if entry.file_name() != LOCK {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    pub(crate) fn folder(&self) -> &WorkFolder {
        &self.folder
    }

    /// Whether another attempt can go on from here.
    pub(crate) fn can_be_continued(&self) -> bool {
        !self.is_private
    }

    /// Writes a segment that begins with the chunk of this order.
    pub(crate) fn store(&self, segment: Segment, order: u64) -> Result<Vec<Sketched>> {
        Ok(segment.store(&self.folder.path().join(format!("{READ}{order:016x}")), self.folder.stamp())?)
    }

    /// What was read by an earlier attempt. Damaged files are said and removed.
    pub(crate) fn load(&self, progress: &Progress) -> Result<Vec<(Sketched, Vec<u8>)>> {
        let mut paths: Vec<PathBuf> = fs::read_dir(self.folder.path())?.flatten().map(|entry| entry.path()).collect();
        paths.sort_unstable();
        let mut loaded = Vec::new();
        for path in paths {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.ends_with(".part") {
                fs::remove_file(&path)?;
            } else if name.starts_with(READ) {
                match Segment::load(&path, self.folder.stamp()) {
                    Ok(mut batches) => loaded.append(&mut batches),
                    Err(_) => {
                        progress
                            .say(&format!("note: the work file {} is damaged; its part is read again", Shown(&path)));
                        fs::remove_file(&path)?;
                    }
                }
            }
        }
        Ok(loaded)
    }

    /// Removes the folder: the run is done.
    pub(crate) fn remove(self) {
        // Whoever cannot remove it loses nothing but room.
        let _ = fs::remove_dir_all(self.folder.path());
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if self.is_private {
            let _ = fs::remove_dir_all(self.folder.path());
        }
    }
}
