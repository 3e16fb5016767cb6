//! The folder of an index: what its files are called, and how they come to be whole, durable and named.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use super::failure::unwritable;
use crate::columns::{BLOCK_BYTES, ColumnWriter, Magic};
use crate::error::Result;

/// Where an index is, and which one it is.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// Drawn when the index is made: files of two indexes do not mix.
    pub(super) stamp: u128,
}

/// A file of columns that has no name yet.
pub(super) struct HiddenColumns {
    pub(super) columns: ColumnWriter<BufWriter<File>>,
    pub(super) path: PathBuf,
    hidden: Hidden,
    /// Brings to the disk what has been written so far.
    syncing: Option<JoinHandle<()>>,
    /// How much there was when that began.
    synced: u64,
}

/// So much is worth bringing to the disk while more is written.
const WORTH_SYNCING: u64 = 64 << 20;

/// A hidden file that goes away unless it was given another name.
struct Hidden(PathBuf);

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Folder {
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Begins a file of columns.
    pub(super) fn create_columns(&self, name: &str, magic: Magic) -> Result<HiddenColumns> {
        let path = self.file(name);
        let hidden = self.file(&format!("{name}.part"));
        let columns = File::create(&hidden)
            .and_then(|file| ColumnWriter::new(BufWriter::with_capacity(16 * BLOCK_BYTES, file), magic, self.stamp))
            .map_err(|error| unwritable(&path, &error))?;
        Ok(HiddenColumns { columns, path, hidden: Hidden(hidden), syncing: None, synced: 0 })
    }

    /// Writes a small file, durable when this returns, in place of what had the name before.
    pub(super) fn replace(&self, name: &str, content: &[u8]) -> Result<()> {
        let (path, hidden) = (self.file(name), self.file(&format!("{name}.part")));
        let written = File::create(&hidden)
            .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
            // What it speaks of has its name for good before it does.
            .and_then(|()| self.sync())
            .and_then(|()| fs::rename(&hidden, &path))
            .and_then(|()| self.sync());
        written.map_err(|error| unwritable(&path, &error))
    }

    /// Makes the names in the folder durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        sync_folder(&self.path)
    }

    /// Removes a file that nothing refers to any more. Readers that have it open still do.
    pub(super) fn remove(&self, name: &str) {
        // Whoever cannot remove it loses nothing but room.
        let _ = fs::remove_file(self.file(name));
    }

    /// The names of all files.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.path)?.flatten();
        Ok(entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }
}

impl HiddenColumns {
    /// Decides for another name.
    pub(super) fn rename_to(&mut self, path: &Path) {
        self.path = path.into();
    }

    /// Brings what was written so far to the disk, beside what is written next: at the end there is less to wait for.
    pub(super) fn sync_beside(&mut self) {
        let (out, position) = self.columns.out();
        let is_busy = self.syncing.as_ref().is_some_and(|thread| !thread.is_finished());
        if position - self.synced < WORTH_SYNCING || is_busy {
            return;
        }
        self.synced = position;
        if let Ok(file) = out.get_ref().try_clone() {
            // Should it fail, so will the sync at the end.
            self.syncing = Some(std::thread::spawn(move || {
                let _ = file.sync_data();
            }));
        }
    }

    /// Makes the file durable and names it.
    pub(super) fn finish(self) -> Result<()> {
        let finished = self.columns.finish().and_then(|(mut out, _)| {
            out.flush()?;
            out.get_ref().sync_all()?;
            fs::rename(&self.hidden.0, &self.path)
        });
        finished.map_err(|error| unwritable(&self.path, &error))
    }
}

pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
