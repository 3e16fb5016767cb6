//! The work folder of a run: where it is, whose it is, and what is left in it for another attempt.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use lookalike::{HiddenFile, Plan, Segment, Shard, Sketched, Stamp, WorkFolder};
use lookalike_io::error::Shown;
use lookalike_io::{Input, ReadOptions};
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::progress::Progress;

/// What the files that hold read records are called, before their number.
const READ: &str = "read-";
/// Says which inputs the folder was made for.
const MANIFEST: &str = "inputs.json";
const LOCK: &str = "lock";
/// What the files are called that say which part was read.
const MARK: &str = "has-read-";

fn is_read(name: &str) -> bool {
    name.starts_with(READ) && !name.ends_with(".part")
}

fn mark(shard: Shard) -> String {
    format!("{MARK}{}-of-{}", shard.number(), shard.count())
}

/// A work folder that belongs to this run alone.
pub(crate) struct Work {
    folder: WorkFolder,
    /// Held as long as the run lasts.
    _lock: File,
    is_private: bool,
    is_shared: bool,
}

/// What the answer depends on, besides the inputs' content.
#[derive(Debug)]
pub(crate) struct Identity<'a> {
    pub(crate) command: &'a str,
    pub(crate) plan: &'a Plan,
    pub(crate) options: &'a ReadOptions,
    pub(crate) output: Option<&'a Path>,
    /// How many of the inputs, the first ones, are only compared with.
    pub(crate) old_inputs: usize,
    /// The state of the index that records are compared with.
    pub(crate) index: Option<u64>,
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

/// A name for what a run over these inputs adds to an index, by which it is known again if the same run is tried again. What can be
/// read only once has none.
pub(crate) fn addition_name(plan: &Plan, options: &ReadOptions, inputs: &[Input]) -> Result<Option<String>> {
    if inputs.iter().any(Input::is_copy) {
        return Ok(None);
    }
    let seen: Vec<Seen> = inputs.iter().map(Seen::of).collect();
    let settings = serde_json::to_string(plan.settings())?;
    Ok(Some(format!("{:032x}", Stamp::of(&format!("{settings} {options:?} {seen:?}")).0)))
}

/// Where the work folder of a run is, if it needs one.
pub(crate) struct WorkPlace {
    pub(crate) path: PathBuf,
    stamp: Stamp,
    seen: Vec<Seen>,
    is_private: bool,
    restart: bool,
    /// Whether several programs work here at the same time.
    is_shared: bool,
}

impl WorkPlace {
    /// The place of this run's work folder: in `tmp`, or else beside the output, or else among the system's temporary
    /// files. `restart` has it emptied when it is opened.
    pub(crate) fn of(identity: &Identity<'_>, inputs: &[Input], tmp: Option<&Path>, restart: bool) -> Result<Self> {
        let mut seen: Vec<Seen> = inputs.iter().map(Seen::of).collect();
        if let (Some(first), Some(state)) = (seen.first_mut(), identity.index) {
            // What stands for the index says nothing of what is in it.
            *first = Seen { name: std::mem::take(&mut first.name), size: state, modified: None, how: "index".into() };
        }
        let names: Vec<&String> = seen.iter().map(|seen| &seen.name).collect();
        let output = identity.output.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.into()));
        let settings = format!(
            "{} {} {} {:?} {:?}",
            env!("CARGO_PKG_VERSION"),
            identity.old_inputs,
            serde_json::to_string(identity.plan.settings())?,
            identity.plan,
            identity.options
        );
        // What cannot be read again cannot be gone on with either.
        let is_private = inputs.iter().any(Input::is_copy);
        let nonce = if is_private { std::process::id() } else { 0 };
        let command = Stamp::of(&format!("{} {settings} {output:?} {names:?} {nonce}", identity.command));
        let name = format!(".lookalike-{:016x}", command.0 as u64);
        let path = match (tmp, &output) {
            (Some(tmp), _) => tmp.join(name),
            (None, Some(output)) => output.parent().unwrap_or(Path::new("/")).join(name),
            // Where everybody's temporary files are, everybody has names of their own.
            (None, None) => std::env::temp_dir().join(format!("{name}-{}", own_user())),
        };
        let stamp = Stamp::of(&format!("{settings} {seen:?}"));
        Ok(Self { path, stamp, seen, is_private, restart, is_shared: false })
    }

    /// Lets several programs work here at the same time, each on its part.
    pub(crate) fn share(mut self) -> Result<Self> {
        if self.is_private {
            bail!("standard input cannot be read again by other stages; name a file");
        }
        if self.restart {
            bail!("other parts may be done already; to begin anew, remove {}", Shown(&self.path));
        }
        self.is_shared = true;
        Ok(self)
    }

    /// Whether an earlier attempt left something.
    pub(crate) fn exists(&self) -> bool {
        self.path.is_dir()
    }

    /// Opens the folder, with what an earlier attempt left.
    pub(crate) fn open(&self, progress: &Progress) -> Result<Work> {
        let path = &self.path;
        allow_many_files();
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
            let made = fs::DirBuilder::new().mode(0o700).create(path);
            made.or_else(|error| if path.is_dir() { Ok(()) } else { Err(error) })
        });
        made.with_context(|| {
            format!("cannot make the folder {} for work files; name another place with --tmp", Shown(path))
        })?;
        refuse_foreign(path)?;
        let lock = File::create(path.join(LOCK)).with_context(|| format!("cannot write to {}", Shown(path)))?;
        let locked = if self.is_shared { lock.try_lock_shared() } else { lock.try_lock() };
        if locked.is_err() {
            bail!("the same command is running already ({}); wait for it to end, or stop it", Shown(path));
        }
        let work = Work {
            folder: WorkFolder::new(path, self.stamp),
            _lock: lock,
            is_private: self.is_private,
            is_shared: self.is_shared,
        };
        if self.is_shared {
            work.settle_shared(&self.seen)?;
        } else {
            work.settle(&self.seen, self.restart, progress)?;
        }
        if !self.is_private {
            *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.clone());
        }
        Ok(work)
    }
}

/// Refuses a link, and a folder that somebody else has put there: files are written and removed inside.
fn refuse_foreign(path: &Path) -> Result<()> {
    let there = fs::symlink_metadata(path)?;
    if !there.is_dir() || there.uid() != own_user() {
        bail!(
            "{} is no folder of this user, and work files would go there; name another place with --tmp",
            Shown(path)
        );
    }
    Ok(())
}

/// The user as whom the program runs.
fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Lets the program have as many files open as the system allows at all: every work file stays open, and by default a program
/// may have few.
fn allow_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit });
}

/// Which input is not what it was.
fn changed<'a>(before: &[Seen], now: &'a [Seen]) -> &'a str {
    let changed = before.iter().zip(now).find(|(before, now)| before != now);
    changed.map_or("the list of inputs", |(_, now)| &now.name)
}

impl Work {
    /// Removes what is of no use for these inputs, and says why.
    fn settle(&self, seen: &[Seen], restart: bool, progress: &Progress) -> Result<()> {
        if let (Some(before), false) = (self.read::<Vec<Seen>>(MANIFEST), restart) {
            if before == seen {
                return Ok(());
            }
            let name = changed(&before, seen);
            progress.note(&format!("{name} changed since the interrupted run, so all is read again"));
        }
        self.empty()?;
        self.write(MANIFEST, &seen)
    }

    /// Begins or joins work that several programs do at the same time.
    fn settle_shared(&self, seen: &[Seen]) -> Result<()> {
        match self.read::<Vec<Seen>>(MANIFEST) {
            None => self.write(MANIFEST, &seen),
            Some(before) if before == seen => Ok(()),
            Some(before) => bail!(
                "{} changed since the first stage; remove {} and begin anew",
                changed(&before, seen),
                Shown(self.folder.path())
            ),
        }
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

    /// Notes that a part of the reading is done, and which files hold what was read.
    pub(crate) fn mark_read(&self, shard: Shard) -> Result<()> {
        let mut files = self.names()?;
        files.retain(|name| is_read(name));
        self.write(&mark(shard), &files)
    }

    /// Whether everything was read, by whichever parts, and is still there.
    pub(crate) fn has_read_all(&self) -> Result<bool> {
        let names: HashSet<String> = self.names()?.into_iter().collect();
        let is_there = |shard: Shard| {
            let files: Option<Vec<String>> = self.read(&mark(shard));
            files.is_some_and(|files| files.iter().all(|file| names.contains(file)))
        };
        let marked = |name: &String| name.strip_prefix(MARK)?.replacen("-of-", "/", 1).parse::<Shard>().ok();
        Ok(names.iter().filter_map(marked).any(|shard| shard.all().all(is_there)))
    }

    fn names(&self) -> Result<Vec<String>> {
        let entries = fs::read_dir(self.folder.path())?.flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_slice(&fs::read(self.folder.path().join(name)).ok()?).ok()
    }

    /// Writes a small file, whole or not at all.
    fn write(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let bytes = serde_json::to_vec(value)?;
        let path = self.folder.path().join(name);
        let hidden = HiddenFile::beside(&path);
        File::create(hidden.path())
            .and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()))
            .and_then(|()| hidden.rename_to(&path))
            .with_context(|| format!("cannot write to {}; name another place with --tmp", Shown(self.folder.path())))
    }

    /// Writes a segment that holds the chunks of these orders. Its name tells them: two programs that read the same
    /// chunks at the same time, but divide them in other ways, must not take each other's files away.
    pub(crate) fn store(&self, segment: Segment, orders: &[u64]) -> Result<Vec<Sketched>> {
        let name = format!("{READ}{:032x}", Stamp::of(&format!("{orders:?}")).0);
        Ok(segment.store(&self.folder.path().join(name), self.folder.stamp())?)
    }

    /// What was read by an earlier attempt. Damaged files are said and removed.
    pub(crate) fn load(&self, progress: &Progress) -> Result<Vec<(Sketched, Vec<u8>)>> {
        let mut loaded = Vec::new();
        for name in self.names()? {
            let path = self.folder.path().join(&name);
            if name.ends_with(".part") {
                // Nobody else is here to finish it.
                if !self.is_shared {
                    fs::remove_file(&path)?;
                }
            } else if is_read(&name) {
                // What cannot be opened, as too many files are open or others may not, need not be damaged.
                File::open(&path).with_context(|| format!("cannot read the work file {}", Shown(&path)))?;
                match Segment::load(&path, self.folder.stamp()) {
                    Ok(mut batches) => loaded.append(&mut batches),
                    Err(_) => {
                        progress.note(&format!("the work file {} is damaged; its part is read again", Shown(&path)));
                        fs::remove_file(&path)?;
                    }
                }
            }
        }
        Ok(loaded)
    }

    /// Removes the folder: the run is done.
    pub(crate) fn remove(self) {
        // Whoever cannot remove it loses nothing but room. Large files take a while to go, so all threads see to it.
        if let Ok(files) = fs::read_dir(self.folder.path()) {
            let files: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
            files.par_iter().for_each(|file| drop(fs::remove_file(file)));
        }
        let _ = fs::remove_dir_all(self.folder.path());
        *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The folder that is left if the program ends now.
static LEFT: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The folder from which another attempt can go on, if this one ends now.
pub(crate) fn left() -> Option<PathBuf> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Drop for Work {
    fn drop(&mut self) {
        if self.is_private {
            let _ = fs::remove_dir_all(self.folder.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lookalike::Settings;

    #[test]
    fn whether_an_input_is_only_compared_with_tells_runs_apart() {
        let folder = tempfile::tempdir().unwrap();
        let inputs: Vec<Input> = ["a.jsonl", "b.jsonl"]
            .map(|name| {
                let path = folder.path().join(name);
                fs::write(&path, "{\"text\":\"a\"}\n").unwrap();
                Input::from_file(&path, Path::new(name), None, folder.path()).unwrap()
            })
            .into();
        let (plan, options) = (Settings::new(0.8).plan().unwrap(), ReadOptions::default());
        let place = |old_inputs| {
            let identity =
                Identity { command: "pairs", plan: &plan, options: &options, output: None, old_inputs, index: None };
            WorkPlace::of(&identity, &inputs, Some(folder.path()), false).unwrap()
        };
        assert_eq!(place(0).path, place(0).path);
        assert_ne!(place(0).path, place(1).path);
    }

    /// A folder for everybody's temporary files is one where anybody can have put something under the name before.
    #[test]
    fn a_folder_of_somebody_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [own, link, others] = ["own", "link", "others"].map(|name| folder.path().join(name));
        fs::create_dir(&own).unwrap();
        assert!(refuse_foreign(&own).is_ok());
        std::os::unix::fs::symlink(&own, &link).unwrap();
        let refused = refuse_foreign(&link).unwrap_err().to_string();
        assert!(refused.contains("is no folder of this user") && refused.contains("--tmp"), "{refused}");
        // Only the superuser can make one that is another user's.
        fs::create_dir(&others).unwrap();
        if std::os::unix::fs::chown(&others, Some(own_user() + 1), None).is_ok() {
            assert!(refuse_foreign(&others).is_err());
        }
    }
}
