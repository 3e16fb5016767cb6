//! Outputs that appear whole or not at all.

use std::collections::{HashMap, HashSet};
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::error::{Error, Result, Shown};

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 1 << 17;
/// The longest file name that a temporary name still repeats.
const MAX_REPEATED_NAME: usize = 200;

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
        if let Ok(metadata) = path.metadata() {
            if metadata.is_dir() {
                return Err(Error::new(format!("the output {} is a folder", Shown(path)))
                    .at_file(path)
                    .advise("name a file; only several inputs are written to a folder"));
            }
            if !metadata.is_file() {
                let file = File::options().write(true).open(path).map_err(|error| write_error(path, error))?;
                return Ok(Self { out: BufWriter::with_capacity(BUFFER_BYTES, file), hidden: None, path: path.into() });
            }
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
        // Held until the file is closed: it tells others that somebody still writes here.
        let _ = file.try_lock();
        Ok(Self { out: BufWriter::with_capacity(BUFFER_BYTES, file), hidden: Some(hidden), path: path.into() })
    }

    /// Starts a file, and makes the folders that it stands in.
    pub fn create_with_folders(path: &Path) -> Result<Self> {
        let folder = folder_of(path);
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
        let content = self.hidden.map_or(Finished::Written, Finished::Hidden);
        Ok(FinishedFile { content, path: self.path })
    }

    /// Makes the file durable and gives it its name.
    pub fn commit(self) -> Result<()> {
        self.finish()?.appear()
    }
}

/// A file that is whole and durable, and has yet to appear. Where several belong together, all are finished first.
/// Dropped, it goes away.
#[derive(Debug)]
pub struct FinishedFile {
    content: Finished,
    path: PathBuf,
}

/// What is to appear.
#[derive(Debug)]
enum Finished {
    Hidden(TempPath),
    /// A device or a pipe, which was written to directly.
    Written,
    /// No file: what stands under the name goes away.
    Nothing,
}

impl FinishedFile {
    /// Not a file, but that there is none under this name any more.
    pub fn none(path: &Path) -> Self {
        Self { content: Finished::Nothing, path: path.into() }
    }

    /// Gives the file its name.
    pub fn appear(self) -> Result<()> {
        let failed = |error| write_error(&self.path, error);
        match self.content {
            Finished::Hidden(hidden) => hidden.persist(&self.path).map_err(|error| failed(error.error))?,
            Finished::Written => return Ok(()),
            Finished::Nothing => match std::fs::remove_file(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                removed => removed.map_err(failed)?,
            },
        }
        // The new name is durable only with its folder.
        File::open(folder_of(&self.path)).and_then(|folder| folder.sync_all()).map_err(failed)
    }
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
    let mut folders: HashMap<&Path, HashSet<String>> = HashMap::new();
    for path in outputs {
        folders.entry(folder_of(path)).or_default().insert(hidden_prefix(path));
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
    if name.len() <= MAX_REPEATED_NAME { format!(".{name}.") } else { ".lookalike.".to_owned() }
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
        assert!(hidden[0].starts_with(".out.jsonl.") && hidden[0].ends_with(".tmp"), "{hidden:?}");
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
        for name in [".out.aB3xYz.tmp", ".out.txt.aB3xYz.tmp", ".out.more.tmp"] {
            std::fs::write(folder.path().join(name), "left").unwrap();
        }
        remove_abandoned([path.as_path()]);
        let left = names(folder.path());
        assert_eq!(left.len(), 3, "{left:?}");
        assert!(!left.contains(&".out.aB3xYz.tmp".into()));
        living.commit().unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_told() {
        let mut file = AtomicFile::create(Path::new("/dev/full")).unwrap();
        file.write_all(b"x").unwrap();
        assert!(file.commit().unwrap_err().to_string().contains("the disk is full"));
        assert!(Path::new("/dev/full").exists());
    }
}
