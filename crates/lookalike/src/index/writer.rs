//! The one writer of an index: insert, remove, commit.

mod merging;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::analyzer::{Analyzed, Analyzer};
use super::background::Job;
use super::failure::{damaged, failed, unwritable};
use super::folder::{Folder, sync_folder};
use super::live::Live;
use super::log::{Frame, Log};
use super::manifest::{self, Addition, Listed, Manifest};
use super::segment::{Contents, MAGIC, Owners, Segment};
use super::snapshot::{DELETED_MAGIC, Snapshot, State};
use crate::batch::Content;
use crate::columns::ColumnWriter;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Plan;
use crate::settings::Verify;
use crate::shingle::Shingler;

const LOCK: &str = "lock";
/// How often the lock is tried, ten milliseconds apart.
const LOCK_ATTEMPTS: usize = 20;
/// What the log may hold before its items become a segment, unless told otherwise.
const LOG_BYTES: u64 = 32 << 20;
/// A writer whose logs hold so many times as much waits for the merging.
const FAR_AHEAD: u64 = 8;

/// How an index is made.
#[derive(Clone, Debug, Default)]
pub struct IndexOptions {
    /// Keeps the texts too, so that passages can be shown.
    pub store_text: bool,
}

/// An index that can be written to: there is one at a time for a folder.
///
/// What is inserted and removed is seen, by this program and others, once it is committed; and it is on disk when
/// [`Index::commit`] returns. Dropped without a commit, it is forgotten.
#[derive(Debug)]
pub struct Index {
    folder: Folder,
    /// Held as long as this writer lives.
    _lock: File,
    manifest: Manifest,
    log: Log,
    committed: Snapshot,
    pending: Pending,
    shingler: Shingler,
    job: Option<Job>,
    /// What went wrong beside the writer and was not asked for yet.
    trouble: Option<Error>,
    failed: Option<Instant>,
    /// Whether the manifest on the disk may be another than the one here: it was replaced, and that could not be made durable.
    is_unsure: bool,
    log_limit: u64,
}

/// What was asked for since the last commit.
#[derive(Debug, Default)]
struct Pending {
    items: Vec<NewItem>,
    /// Items in memory by their ids.
    by_id: HashMap<String, usize>,
    bytes: usize,
    /// Segments that were written because there was too much to keep in memory. The manifest does not know them yet.
    spilled: Vec<Live>,
    /// Sequences of items that are replaced or removed.
    deleted: HashSet<u64>,
}

#[derive(Debug)]
struct NewItem {
    id: String,
    sequence: u64,
    time: u64,
    content: Analyzed,
    text: Option<String>,
}

impl Index {
    /// Makes an index for a plan, in a folder that does not exist or is empty.
    pub fn create(path: &Path, plan: &Plan) -> Result<Self> {
        Self::create_with(path, plan, &IndexOptions::default())
    }

    /// [`Index::create`] with more to choose.
    pub fn create_with(path: &Path, plan: &Plan, options: &IndexOptions) -> Result<Self> {
        if plan.settings().verify != Verify::Exact {
            return Err(Error::setting("an index checks every answer exactly").advise("leave --verify out"));
        }
        let is_taken = path.exists() && !fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        if is_taken {
            let what =
                if path.join(manifest::NAME).exists() { "is an index already" } else { "is not an empty folder" };
            return Err(failed(format!("{} {what}", path.display()))
                .advise("name another folder for the index; to add to one, use `lookalike index add`"));
        }
        fs::create_dir_all(path).map_err(|error| unwritable(path, &error))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        sync_folder(parent).map_err(|error| unwritable(path, &error))?;
        let lock = lock(path)?;
        let folder = Folder { path: path.into(), stamp: draw_stamp() };
        let mut manifest = Manifest::new(folder.stamp, plan, options.store_text);
        let name = manifest.name_file("log");
        let log = Log::create(path, &name, folder.stamp)?;
        manifest.logs.push(name);
        manifest.save(&folder)?;
        let state = State::without_logs(path, &manifest)?;
        Ok(Self::new(folder, lock, manifest, log, state))
    }

    /// Opens an index to write to it. Refused while another writer has it open.
    pub fn open(path: &Path) -> Result<Self> {
        Manifest::load(path)?;
        let lock = lock(path)?;
        // Only now nobody else changes it.
        let manifest = Manifest::load(path)?;
        let folder = Folder { path: path.into(), stamp: manifest.stamp() };
        let mut state = State::without_logs(path, &manifest)?;
        let (current, earlier) = manifest.logs.split_last().ok_or_else(|| damaged(&path.join(manifest::NAME)))?;
        earlier.iter().try_for_each(|name| state.replay_whole(name, folder.stamp))?;
        let (log, frames) = Log::open(path, current, folder.stamp)?;
        state.replay(&frames, &path.join(current), folder.stamp)?;
        state.log_bytes += log.bytes();
        for name in folder.names().map_err(|error| unwritable(path, &error))? {
            if !manifest.has(&name) && is_ours(&name) {
                folder.remove(&name);
            }
        }
        Ok(Self::new(folder, lock, manifest, log, state))
    }

    fn new(folder: Folder, lock: File, mut manifest: Manifest, log: Log, state: State) -> Self {
        // The log may be ahead of the manifest.
        manifest.next_sequence = state.next_sequence;
        let shingler = state.analyzer.plan().shingler();
        let committed = Snapshot(Arc::new(state));
        Self {
            folder,
            _lock: lock,
            manifest,
            log,
            committed,
            pending: Pending::default(),
            shingler,
            job: None,
            trouble: None,
            failed: None,
            is_unsure: false,
            log_limit: LOG_BYTES,
        }
    }

    /// Sets how many bytes the log may hold before its items become a segment: 32 MiB unless told otherwise. A smaller log
    /// takes less memory and is opened faster, and there are more segments to merge.
    pub fn limit_log(&mut self, bytes: u64) {
        self.log_limit = bytes;
    }

    /// The plan that the index was made for.
    pub fn plan(&self) -> &Plan {
        self.committed.plan()
    }

    /// What is committed.
    pub fn snapshot(&self) -> Snapshot {
        self.committed.clone()
    }

    pub(super) fn analyzer(&self) -> &Arc<Analyzer> {
        &self.committed.0.analyzer
    }

    pub(super) fn stores_text(&self) -> bool {
        self.manifest.store_text
    }

    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(super) fn name_segment(&mut self) -> String {
        self.manifest.name_file("segment")
    }

    /// Puts an item into the index, in place of one with the same id. Its time is given in milliseconds since 1970; without
    /// one, it is now.
    pub fn insert(&mut self, id: &str, content: Content<'_>, time: Option<u64>) -> Result<()> {
        self.remove(id)?;
        let analyzer = Arc::clone(self.analyzer());
        let analyzed = analyzer.analyze(&mut self.shingler, content);
        let text = self.manifest.store_text.then(|| match content {
            Content::Text(text) => text.to_owned(),
            Content::Set(_) => String::new(),
        });
        let item = NewItem {
            id: id.into(),
            sequence: self.take_sequences(1),
            time: time.unwrap_or_else(now),
            content: analyzed,
            text,
        };
        self.pending.push(item);
        // So many items become a segment at once, without the log.
        if self.pending.bytes as u64 >= self.log_limit / 2 {
            self.spill()?;
        }
        Ok(())
    }

    /// Takes an item out of the index. Whether it was there.
    pub fn remove(&mut self, id: &str) -> Result<bool> {
        let sequence = match self.pending.by_id.remove(id) {
            Some(at) => Some(self.pending.items[at].sequence),
            None => self.find_sequence(id)?,
        };
        if let Some(sequence) = sequence {
            self.pending.deleted.insert(sequence);
        }
        Ok(sequence.is_some())
    }

    /// The sequence of an item that is committed or spilled, and not deleted since.
    fn find_sequence(&self, id: &str) -> Result<Option<u64>> {
        for live in self.pending.spilled.iter().rev() {
            for item in live.segment.with_id(id)? {
                let sequence = live.segment.sequence(item)?;
                if !self.pending.deleted.contains(&sequence) {
                    return Ok(Some(sequence));
                }
            }
        }
        let Some((live, item)) = self.committed.0.find(id)? else { return Ok(None) };
        let sequence = live.segment.sequence(item)?;
        Ok((!self.pending.deleted.contains(&sequence)).then_some(sequence))
    }

    /// Takes all items out of the index that were written before this time, in milliseconds since 1970. How many there were.
    pub fn remove_older_than(&mut self, time: u64) -> Result<u64> {
        let before = self.pending.deleted.len();
        for live in &self.committed.0.lives {
            let (times, sequences) = (live.segment.times()?, live.segment.sequences()?);
            let old = live.items().filter(|item| times[*item as usize] < time);
            self.pending.deleted.extend(old.map(|item| sequences[item as usize]));
        }
        Ok((self.pending.deleted.len() - before) as u64)
    }

    /// Forgets what was not committed.
    pub fn rollback(&mut self) {
        for live in std::mem::take(&mut self.pending).spilled {
            live.segment.name().iter().for_each(|name| self.discard(name));
        }
    }

    /// Removes a file that did not become part of the index. If the manifest on disk lists it all the same, because only
    /// the very last step of replacing that failed, it stays.
    pub(super) fn discard(&self, name: &str) {
        if Manifest::load(&self.folder.path).is_ok_and(|manifest| !manifest.has(name)) {
            self.folder.remove(name);
        }
    }

    /// Makes everything since the last commit durable and lets it be seen, all at once. The sequence of the last write.
    ///
    /// # Errors
    /// If it cannot be written, nothing of it is: it can be tried again, or rolled back.
    pub fn commit(&mut self) -> Result<u64> {
        self.take_merged(false);
        if self.committed.0.log_bytes >= FAR_AHEAD * self.log_limit {
            // The merging does not keep up, or fails.
            self.flush()?;
        }
        if !self.pending.spilled.is_empty() {
            self.spill()?;
            let added = self.pending.spilled.clone();
            let deleted: Vec<u64> = self.pending.deleted.iter().copied().collect();
            self.adopt(added, &deleted, None)?;
        } else if !self.pending.items.is_empty() || !self.pending.deleted.is_empty() {
            self.commit_to_log()?;
        }
        self.pending = Pending::default();
        self.tend();
        Ok(self.committed.0.next_sequence - 1)
    }

    fn commit_to_log(&mut self) -> Result<()> {
        let frame = Frame { deleted: self.pending.deleted_before(), added: self.pending_segment()? };
        if frame == Frame::default() {
            return Ok(());
        }
        let mut state = State::clone(&self.committed.0);
        let job = &self.job;
        let may_go = |segment: &Segment| job.as_ref().is_none_or(|job| !job.has(segment));
        state.apply(&frame, &self.folder.file(&self.log.name), self.folder.stamp, may_go)?;
        // A merge may have failed just now.
        self.make_sure()?;
        let before = self.log.bytes();
        self.log.append(&frame)?;
        state.log_bytes += self.log.bytes() - before;
        self.publish(state);
        Ok(())
    }

    /// The items that are not committed yet, as a segment.
    fn pending_segment(&self) -> Result<Vec<u8>> {
        let Some((contents, owners)) = self.pending.columns() else { return Ok(Vec::new()) };
        let written = ColumnWriter::new(Vec::new(), MAGIC, self.folder.stamp).and_then(|mut writer| {
            contents.write(&mut writer)?;
            owners.write(&mut writer)?;
            writer.finish()
        });
        Ok(written.map_err(|error| unwritable(&self.folder.path, &error))?.0)
    }

    /// Writes the items that are not committed yet to a segment of their own, which nobody sees before the commit.
    fn spill(&mut self) -> Result<()> {
        if let Some((contents, owners)) = self.pending.columns() {
            let name = self.name_segment();
            let mut file = self.folder.create_columns(&name, MAGIC)?;
            contents
                .write(&mut file.columns)
                .and_then(|()| owners.write(&mut file.columns))
                .map_err(|error| unwritable(&file.path, &error))?;
            file.finish()?;
            let segment = Segment::open(&self.folder.path, &name, self.folder.stamp, self.analyzer().slots())?;
            self.pending.spilled.push(Live::new(Arc::new(segment)));
        }
        self.pending.forget_items();
        Ok(())
    }

    /// The first of so many sequences that nobody has.
    pub(super) fn take_sequences(&mut self, count: u64) -> u64 {
        let first = self.manifest.next_sequence.max(self.committed.0.next_sequence);
        self.manifest.next_sequence = first + count;
        first
    }

    /// Takes segments that are on disk into the index, and deletes items, at once. The addition is remembered, if it has a name.
    pub(super) fn adopt(&mut self, added: Vec<Live>, deleted: &[u64], addition: Option<Addition>) -> Result<()> {
        let may_have = |live: &Live| deleted.iter().any(|sequence| live.segment.may_have(*sequence));
        if self.in_memory().iter().any(may_have) {
            // The manifest lists what is deleted in segments; items in the log are deleted by the log.
            self.flush()?;
        }
        let mut state = State::clone(&self.committed.0);
        state.lives.extend(added);
        state.lives.iter_mut().try_for_each(|live| live.delete(deleted))?;
        // What is in memory stays behind what is on disk.
        state.lives.sort_by_key(|live| live.segment.name().is_none());
        self.replace_manifest(&state, |manifest| {
            if let Some(addition) = addition {
                manifest.remember(addition);
            }
        })?;
        self.publish(state);
        Ok(())
    }

    /// Puts the manifest that is here on the disk, if another one may be there: a frame of the log belongs to this one. Whoever
    /// replaces the manifest makes it so anyway.
    fn make_sure(&mut self) -> Result<()> {
        if self.is_unsure {
            self.manifest.save(&self.folder)?;
            self.is_unsure = false;
        }
        Ok(())
    }

    /// Writes a manifest for this state, with what `change` changes.
    fn replace_manifest(&mut self, state: &State, change: impl FnOnce(&mut Manifest)) -> Result<()> {
        // Never the same name twice, whatever becomes of this manifest.
        let deleted_name = self.manifest.name_file("deleted");
        let mut manifest = self.manifest.clone();
        manifest.segments = state
            .lives
            .iter()
            .filter_map(|live| live.segment.name().map(|name| Listed { name: name.into(), bytes: live.segment.size() }))
            .collect();
        change(&mut manifest);
        let mut deleted = Vec::new();
        for live in state.lives.iter().filter(|live| live.segment.name().is_some()) {
            deleted.append(&mut live.deleted_sequences()?);
        }
        deleted.sort_unstable();
        manifest.deleted = if deleted.is_empty() {
            None
        } else {
            let mut file = self.folder.create_columns(&deleted_name, DELETED_MAGIC)?;
            file.columns.column(&deleted).map_err(|error| unwritable(&file.path, &error))?;
            file.finish()?;
            Some(deleted_name)
        };
        self.is_unsure = true;
        manifest.save(&self.folder)?;
        self.is_unsure = false;
        let before = std::mem::replace(&mut self.manifest, manifest);
        let listed = before.segments.iter().map(|listed| &listed.name).chain(&before.logs).chain(&before.deleted);
        listed.filter(|name| !self.manifest.has(name)).for_each(|name| self.folder.remove(name));
        Ok(())
    }

    fn publish(&mut self, mut state: State) {
        state.next_sequence = state.next_sequence.max(self.manifest.next_sequence);
        state.files = self.manifest.files();
        if *state.additions != self.manifest.additions {
            state.additions = Arc::new(self.manifest.additions.clone());
        }
        self.committed = Snapshot(Arc::new(state));
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.rollback();
        // A merge that is under way is finished rather than thrown away; if that fails, nothing is lost.
        self.take_merged(true);
    }
}

impl Pending {
    fn push(&mut self, item: NewItem) {
        self.bytes += item.id.len()
            + item.text.as_ref().map_or(0, String::len)
            + 8 * item.content.set.len()
            + 2 * item.content.slots.len()
            + 4 * item.content.keys.len();
        self.by_id.insert(item.id.clone(), self.items.len());
        self.items.push(item);
    }

    /// The items in memory that were not deleted again, in columns; none if there are none.
    fn columns(&self) -> Option<(Contents, Owners)> {
        let (mut contents, mut owners) = (Contents::default(), Owners::default());
        for item in self.items.iter().filter(|item| !self.deleted.contains(&item.sequence)) {
            contents.push(&item.content, item.text.as_deref());
            owners.push(&item.id, item.sequence, item.time);
        }
        (contents.len() > 0).then_some((contents, owners))
    }

    /// The sequences that are deleted of items that were there before.
    fn deleted_before(&self) -> Vec<u64> {
        let first = self.items.first().map_or(u64::MAX, |item| item.sequence);
        let mut deleted: Vec<u64> = self.deleted.iter().copied().filter(|sequence| *sequence < first).collect();
        deleted.sort_unstable();
        deleted
    }

    fn forget_items(&mut self) {
        self.items.clear();
        self.by_id.clear();
        self.bytes = 0;
    }
}

fn lock(path: &Path) -> Result<File> {
    let file = File::create(path.join(LOCK)).map_err(|error| unwritable(&path.join(LOCK), &error))?;
    // A program that is just being started by this one holds everything that this one has, for a moment.
    let mut attempts = 0;
    while file.try_lock().is_err() {
        attempts += 1;
        if attempts < LOCK_ATTEMPTS {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        }
        return Err(Error::new(
            ErrorKind::Locked,
            format!("the index {} is being written to already, by another program or by this one", path.display()),
        )
        .advise("wait until it is closed; reading is possible meanwhile"));
    }
    Ok(file)
}

/// Whether a file that the manifest does not list was left by an index, and not put there by somebody.
fn is_ours(name: &str) -> bool {
    ["segment-", "log-", "deleted-", "manifest.part"].iter().any(|beginning| name.starts_with(beginning))
}

/// Something that no other index has.
fn draw_stamp() -> u128 {
    let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let place = std::ptr::from_ref(&nanoseconds) as usize;
    xxhash_rust::xxh3::xxh3_128(format!("{nanoseconds} {} {place}", std::process::id()).as_bytes())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Content;
    use crate::settings::Settings;

    #[test]
    fn a_commit_belongs_to_the_manifest_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let mut index = Index::create(&path, &Settings::new(0.8).plan().unwrap()).unwrap();
        index.insert("a", Content::Text("one two three four five six"), None).unwrap();
        index.commit().unwrap();
        // A manifest took the place of this one, and nobody knows whether it stays.
        std::fs::write(path.join("manifest"), "another one").unwrap();
        index.is_unsure = true;
        index.insert("b", Content::Text("seven eight nine ten eleven twelve"), None).unwrap();
        index.commit().unwrap();
        drop(index);
        let index = Index::open(&path).unwrap();
        assert_eq!(index.snapshot().len(), 2);
    }
}
