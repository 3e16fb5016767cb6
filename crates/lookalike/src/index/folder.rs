//! The folder of an index: what its files are called, and how they come to be whole, durable and named.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

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
}

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
        Ok(HiddenColumns { columns, path, hidden: Hidden(hidden) })
    }

    /// Writes a small file, durable when this returns, in place of what had the name before.
    pub(super) fn replace(&self, name: &str, content: &[u8]) -> Result<()> {
        let (path, hidden) = (self.file(name), self.file(&format!("{name}.part")));
        let written = File::create(&hidden)
            .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
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
