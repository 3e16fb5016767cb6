//! Outputs that appear whole or not at all.
//!
//! A link is followed: what it leads to is replaced, not the link.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempPath;

use crate::error::{Error, Result, Shown};

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 1 << 17;
/// The longest file name that a temporary name still repeats.
const MAX_REPEATED_NAME: usize = 200;
/// Links that are followed, one after another.
const MOST_LINKS: usize = 40;
/// Finished files that stay open, and so locked, until they appear: a program may have only so many.
const MOST_HELD: usize = 256;

/// A file that takes its name only once it is whole.
///
/// What is written goes to a hidden file beside it; [`AtomicFile::commit`] makes that durable and renames it. Dropped
/// without a commit, the hidden file goes away and what stood under the name before still stands. A device or a named
/// pipe is written directly.
#[derive(Debug)]
pub struct AtomicFile {
    out: BufWriter<File>,
    /// The hidden file; none for a device.
    hidden: Option<TempPath>,
    path: PathBuf,
}

impl AtomicFile {
    /// Starts a file in a folder that exists.
    pub fn create(path: &Path) -> Result<Self> {
        let path = &match Target::of(path)? {
            Target::Named(path) => path,
            Target::Open => {
                // Behind what others have written there.
                let file = File::options().append(true).open(path).map_err(|error| write_error(path, error))?;
                return Ok(Self { out: BufWriter::with_capacity(BUFFER_BYTES, file), hidden: None, path: path.into() });
            }
        };
        let before = path.metadata().ok();
        if before.as_ref().is_some_and(Metadata::is_dir) {
            return Err(Error::new(format!("the output {} is a folder", Shown(path)))
                .at_file(path)
                .advise("name a file; only several inputs are written to a folder"));
        }
        let folder = folder_of(path);
        if !folder.is_dir() {
            return Err(Error::new(format!("there is no folder {} for the output", Shown(folder)))
                .at_file(path)
                .advise("create it first, or name another output"));
        }
        let (file, hidden) = tempfile::Builder::new()
            .prefix(&hidden_prefix(path))
            .suffix(".tmp")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(|error| write_error(path, error))?
            .into_parts();
        // Who may read the file that is replaced, and nobody else, may read the new one.
        if let Some(before) = before {
            file.set_permissions(before.permissions()).map_err(|error| write_error(path, error))?;
        }
        // Held until the file is closed: it tells others that somebody still writes here.
        let _ = file.try_lock();
        Ok(Self { out: BufWriter::with_capacity(BUFFER_BYTES, file), hidden: Some(hidden), path: path.into() })
    }

    /// Starts a file, and makes the folders that it stands in.
    pub fn create_with_folders(path: &Path) -> Result<Self> {
        let Target::Named(target) = Target::of(path)? else { return Self::create(path) };
        let folder = folder_of(&target);
        std::fs::create_dir_all(folder).map_err(|error| write_error(folder, error))?;
        Self::create(path)
    }

    /// Where the file will stand.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself, if nothing was written to it yet and it can be written anywhere.
    pub(crate) fn new_file(&mut self) -> Option<&File> {
        let is_new = self.hidden.is_some() && self.out.buffer().is_empty();
        is_new.then(|| self.out.get_ref())
    }

    /// Makes the content durable and closes the file, which still has no name.
    pub fn finish(mut self) -> Result<FinishedFile> {
        let failed = |error| write_error(&self.path, error);
        self.out.flush().map_err(failed)?;
        if self.hidden.is_some() {
            self.out.get_ref().sync_all().map_err(failed)?;
        }
        Ok(FinishedFile { is_durable: true, ..self.close()? })
    }

    /// Closes the file, which still has no name. It is made durable together with others, before any of them appears: that is
    /// much quicker where there are many.
    pub fn close(mut self) -> Result<FinishedFile> {
        self.out.flush().map_err(|error| write_error(&self.path, error))?;
        let (file, _) = self.out.into_parts();
        let content = match self.hidden {
            Some(hidden) => Finished::Hidden(hidden, Held::new(file)),
            None => Finished::Written,
        };
        Ok(FinishedFile { content, path: self.path, is_durable: false })
    }

    /// Makes the file durable and gives it its name.
    pub fn commit(self) -> Result<()> {
        self.finish()?.appear()
    }
}

/// A file that is whole and has yet to appear. Where several belong together, all are finished first. Dropped, it goes away.
#[derive(Debug)]
pub struct FinishedFile {
    content: Finished,
    path: PathBuf,
    is_durable: bool,
}

/// A finished file that stays open: as long as its lock is held, nobody takes it for one that a killed program left.
#[derive(Debug)]
struct Held {
    _file: File,
}

/// How many are.
static HELD: AtomicUsize = AtomicUsize::new(0);

impl Held {
    fn new(file: File) -> Option<Self> {
        let has_room = HELD.fetch_add(1, Ordering::Relaxed) < MOST_HELD;
        let held = Self { _file: file };
        // Counted out again where it is not kept.
        has_room.then_some(held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Where an output goes.
enum Target {
    /// A file, which need not exist.
    Named(PathBuf),
    /// What is there already: a device, a pipe, or what the program has open.
    Open,
}

impl Target {
    fn of(path: &Path) -> Result<Self> {
        let mut at = path.to_path_buf();
        for _ in 0..MOST_LINKS {
            // Links there lead to open files, which have no place of their own.
            if at.starts_with("/proc") || at.starts_with("/dev/fd") {
                return Ok(Self::Open);
            }
            match at.read_link() {
                Ok(link) => at = folder_of(&at).join(link),
                Err(_) if at.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) => {
                    return Ok(Self::Open);
                }
                Err(_) => return Ok(Self::Named(at)),
            }
        }
        Err(Error::new(format!("the output {} is a link that leads nowhere", Shown(path)))
            .at_file(path)
            .advise("name another output"))
    }
}

/// Whether an output could be taken back: not if it goes straight to a device or a pipe.
pub fn can_be_taken_back(path: &Path) -> bool {
    matches!(Target::of(path), Ok(Target::Named(_)))
}

/// An error if no file can be made where an output will be. Nothing is left behind.
pub fn check_writable(path: &Path) -> Result<()> {
    let Target::Named(target) = Target::of(path)? else { return Ok(()) };
    // Folders may have yet to be made.
    let there = folder_of(&target).ancestors().find(|folder| folder.exists() || folder.as_os_str().is_empty());
    let folder = there.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(Error::new(format!("{} is a file, and the output needs a folder of that name", Shown(folder)))
            .at_file(path)
            .advise("name another output"));
    }
    let probe = tempfile::Builder::new().prefix(&hidden_prefix(path)).suffix(".tmp").tempfile_in(folder);
    probe.map(drop).map_err(|error| write_error(path, error))
}

/// What is to appear.
#[derive(Debug)]
enum Finished {
    Hidden(TempPath, Option<Held>),
    /// A device or a pipe, which was written to directly.
    Written,
    /// No file: what stands under the name goes away.
    Nothing,
}

impl FinishedFile {
    /// Not a file, but that there is none under this name any more.
    pub fn none(path: &Path) -> Self {
        Self { content: Finished::Nothing, path: path.into(), is_durable: true }
    }

    /// Gives the file its name.
    pub fn appear(self) -> Result<()> {
        Self::appear_all(vec![self])
    }

    /// Gives all of these files their names, once all are durable.
    pub fn appear_all(files: Vec<Self>) -> Result<()> {
        sync_together(&files)?;
        let mut folders = BTreeSet::new();
        for file in files {
            let failed = |error| write_error(&file.path, error);
            match file.content {
                Finished::Hidden(hidden, _held) => hidden.persist(&file.path).map_err(|error| failed(error.error))?,
                Finished::Written => continue,
                Finished::Nothing => match std::fs::remove_file(&file.path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    removed => removed.map_err(failed)?,
                },
            }
            folders.insert(folder_of(&file.path).to_path_buf());
        }
        // New names are durable only with their folders.
        let sync = |folder: &PathBuf| {
            File::open(folder).and_then(|open| open.sync_all()).map_err(|error| write_error(folder, error))
        };
        folders.iter().try_for_each(sync)
    }
}

/// Makes those files durable that are not yet: everything on their disks, which is one call for all of them.
#[cfg(target_os = "linux")]
fn sync_together(files: &[FinishedFile]) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let mut synced = HashSet::new();
    for file in files.iter().filter(|file| !file.is_durable) {
        let folder = folder_of(&file.path);
        let failed = |error| write_error(folder, error);
        if synced.insert(folder.metadata().map_err(failed)?.dev()) {
            File::open(folder).and_then(|open| Ok(rustix::fs::syncfs(open)?)).map_err(failed)?;
        }
    }
    Ok(())
}

/// Makes those files durable that are not yet.
#[cfg(not(target_os = "linux"))]
fn sync_together(files: &[FinishedFile]) -> Result<()> {
    for file in files.iter().filter(|file| !file.is_durable) {
        if let Finished::Hidden(hidden, _) = &file.content {
            File::open(hidden).and_then(|open| open.sync_all()).map_err(|error| write_error(&file.path, error))?;
        }
    }
    Ok(())
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Removes what a killed program left behind of these outputs: hidden files whose lock nobody holds.
pub fn remove_abandoned<'a>(outputs: impl IntoIterator<Item = &'a Path>) {
    let mut folders: HashMap<PathBuf, HashSet<String>> = HashMap::new();
    for path in outputs {
        if let Ok(Target::Named(path)) = Target::of(path) {
            folders.entry(folder_of(&path).into()).or_default().insert(hidden_prefix(&path));
        }
    }
    for (folder, prefixes) in folders {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let name = entry.file_name();
            // A prefix, six random letters or digits, and the ending.
            let parts = name.to_str().and_then(|name| {
                let name = name.strip_suffix(".tmp")?;
                name.split_at_checked(name.len().checked_sub(6)?)
            });
            let is_hidden = parts.is_some_and(|(prefix, random)| {
                prefixes.contains(prefix) && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
            });
            if is_hidden && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
                // Whoever cannot remove it loses nothing but room.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// The error of an output that cannot be written.
pub fn write_error(path: &Path, error: io::Error) -> Error {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the disk is full: make room, or name an output on another disk; nothing was left behind"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "check the permissions, or name another output"
        }
        _ => return Error::io("cannot write", path, error),
    };
    Error::io("cannot write", path, error).advise(advice)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn hidden_prefix(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    if name.len() <= MAX_REPEATED_NAME { format!(".{name}.lookalike-") } else { ".lookalike-".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_with_its_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/out.jsonl");
        assert!(AtomicFile::create(&path).unwrap_err().to_string().contains("create it first"));
        let mut file = AtomicFile::create_with_folders(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert!(!path.exists());
        let hidden = names(path.parent().unwrap());
        assert!(hidden[0].starts_with(".out.jsonl.lookalike-") && hidden[0].ends_with(".tmp"), "{hidden:?}");
        file.commit().unwrap();
        assert_eq!(names(path.parent().unwrap()), ["out.jsonl"]);
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn without_a_commit_nothing_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        std::fs::write(&path, "before").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"after").unwrap();
        drop(file);
        assert_eq!(names(folder.path()), ["out"]);
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        assert!(AtomicFile::create(folder.path()).unwrap_err().to_string().contains("is a folder"));
    }

    #[test]
    fn what_a_killed_program_left_goes_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let living = AtomicFile::create(&path).unwrap();
        let finished = AtomicFile::create(&path).unwrap().finish().unwrap();
        for name in [".out.lookalike-aB3xYz.tmp", ".out.txt.lookalike-aB3xYz.tmp", ".out.backup.tmp"] {
            std::fs::write(folder.path().join(name), "left").unwrap();
        }
        remove_abandoned([path.as_path()]);
        let left = names(folder.path());
        assert_eq!(left.len(), 4, "{left:?}");
        assert!(!left.contains(&".out.lookalike-aB3xYz.tmp".into()));
        finished.appear().unwrap();
        living.commit().unwrap();
    }

    #[test]
    fn links_are_followed_and_permissions_kept() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        std::fs::write(at("sub/target"), "before").unwrap();
        std::fs::set_permissions(at("sub/target"), Permissions::from_mode(0o600)).unwrap();
        symlink("sub/target", at("link")).unwrap();
        symlink("link", at("link to it")).unwrap();
        symlink("sub/new", at("dangling")).unwrap();
        for (link, target) in [("link to it", "sub/target"), ("dangling", "sub/new")] {
            let mut file = AtomicFile::create_with_folders(&at(link)).unwrap();
            file.write_all(b"after").unwrap();
            file.commit().unwrap();
            assert_eq!(std::fs::read(at(target)).unwrap(), b"after");
            assert!(at(link).is_symlink() && !at(target).is_symlink());
        }
        assert_eq!(at("sub/target").metadata().unwrap().permissions().mode() & 0o777, 0o600);
        symlink("round", at("round")).unwrap();
        assert!(AtomicFile::create(&at("round")).unwrap_err().to_string().contains("leads nowhere"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_open_is_written_to() {
        use std::os::fd::AsRawFd;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("open"), folder.path().join("link"));
        let open = File::create(&path).unwrap();
        (&open).write_all(b"one ").unwrap();
        std::os::unix::fs::symlink(format!("/proc/self/fd/{}", open.as_raw_fd()), &link).unwrap();
        assert!(!can_be_taken_back(&link) && can_be_taken_back(&path));
        let mut file = AtomicFile::create(&link).unwrap();
        file.write_all(b"two").unwrap();
        file.commit().unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&path).unwrap(), b"one two");
    }

    #[test]
    fn where_nothing_can_be_written_is_told_before() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        check_writable(&at("new/folders/out")).unwrap();
        check_writable(&at("out")).unwrap();
        assert!(check_writable(&at("file/out")).unwrap_err().to_string().contains("is a file"));
        assert_eq!(names(folder.path()), ["file"]);
        #[cfg(target_os = "linux")]
        assert!(check_writable(Path::new("/sys/out")).is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_told() {
        let mut file = AtomicFile::create(Path::new("/dev/full")).unwrap();
        file.write_all(b"x").unwrap();
        assert!(file.commit().unwrap_err().to_string().contains("the disk is full"));
        assert!(Path::new("/dev/full").exists());
    }

    #[test]
    fn many_appear_together_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let close = |name: &str| {
            let mut file = AtomicFile::create_with_folders(&folder.path().join(name)).unwrap();
            file.write_all(name.as_bytes()).unwrap();
            file.close().unwrap()
        };
        drop(["a", "b"].map(close));
        assert!(names(folder.path()).is_empty());
        std::fs::write(folder.path().join("old"), "old").unwrap();
        let mut files = Vec::from(["a", "b", "c/d"].map(close));
        files.push(FinishedFile::none(&folder.path().join("old")));
        FinishedFile::appear_all(files).unwrap();
        assert_eq!(names(folder.path()), ["a", "b", "c"]);
        assert_eq!(std::fs::read_to_string(folder.path().join("c/d")).unwrap(), "c/d");
        // One that cannot appear is an error.
        let file = close("e");
        std::fs::create_dir(folder.path().join("e")).unwrap();
        assert!(FinishedFile::appear_all(vec![file]).is_err());
    }
}
