//! The manifest: which files an index is made of. It is replaced as a whole, so the index changes from one state to the
//! next at once.

use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::failure::{damaged, failed, unreadable};
use super::folder::Folder;
use crate::error::Result;
use crate::hash::hash_bytes;
use crate::plan::{Plan, SKETCH_VERSION};
use crate::settings::Settings;

/// What the manifest is called.
pub(super) const NAME: &str = "manifest";
/// How it begins; then come the version, a checksum of what follows, and a line end.
const MAGIC: &str = "lookalike index";
/// The version of everything that is in the folder.
const VERSION: u32 = 1;
/// So many additions are remembered.
const MOST_ADDITIONS: usize = 1000;

/// What an index is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// Tells the files of one index from those of another, in hexadecimal digits.
    pub(super) stamp: String,
    /// The version of the hashes that everything was made with.
    pub(super) sketch_version: u32,
    pub(super) settings: Settings,
    /// Of the plan that the settings make: another program version must come to the same.
    pub(super) fingerprint: String,
    pub(super) plan: String,
    pub(super) store_text: bool,
    pub(super) segments: Vec<Listed>,
    /// The file with the sequences of deleted items that are still in segments.
    pub(super) deleted: Option<String>,
    /// Logs, oldest first; the last is appended to.
    pub(super) logs: Vec<String>,
    /// The number of the next file.
    pub(super) next_file: u64,
    /// The sequence of the next item, but for what is in the logs.
    pub(super) next_sequence: u64,
    /// What was added under a name, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) additions: Vec<Addition>,
}

/// Items that were added together, under a name by which the same addition is known again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Addition {
    pub(super) name: String,
    /// The sequence of the first item, and the one behind the last.
    pub(super) sequences: Range<u64>,
}

/// A segment in the manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) bytes: u64,
}

impl Manifest {
    pub(super) fn new(stamp: u128, plan: &Plan, store_text: bool) -> Self {
        Self {
            stamp: format!("{stamp:032x}"),
            sketch_version: SKETCH_VERSION,
            settings: plan.settings().clone(),
            fingerprint: format!("{:016x}", plan.fingerprint()),
            plan: described(plan),
            store_text,
            segments: Vec::new(),
            deleted: None,
            logs: Vec::new(),
            next_file: 1,
            next_sequence: 1,
            additions: Vec::new(),
        }
    }

    /// Remembers an addition. Those that were made again and the oldest of very many are forgotten.
    pub(super) fn remember(&mut self, addition: Addition) {
        self.additions.retain(|earlier| earlier.name != addition.name);
        self.additions.push(addition);
        let forgotten = self.additions.len().saturating_sub(MOST_ADDITIONS);
        self.additions.drain(..forgotten);
    }

    pub(super) fn stamp(&self) -> u128 {
        u128::from_str_radix(&self.stamp, 16).unwrap_or(0)
    }

    /// A name for the next file of this kind.
    pub(super) fn name_file(&mut self, kind: &str) -> String {
        let name = format!("{kind}-{:06}", self.next_file);
        self.next_file += 1;
        name
    }

    /// A number for the index and the files that it consists of.
    pub(super) fn files(&self) -> u64 {
        let segments = self.segments.iter().map(|listed| listed.name.as_str());
        let names = segments.chain(self.deleted.as_deref()).chain(self.logs.iter().map(String::as_str));
        hash_bytes(format!("{} {}", self.stamp, names.collect::<Vec<_>>().join(" ")).as_bytes())
    }

    /// Whether a file of the folder belongs to the index.
    pub(super) fn has(&self, name: &str) -> bool {
        self.segments.iter().any(|listed| listed.name == name)
            || self.logs.iter().any(|log| log == name)
            || self.deleted.as_deref() == Some(name)
    }

    /// The plan of the index, if this program makes the same of its settings.
    pub(super) fn plan(&self, path: &Path) -> Result<Plan> {
        let plan = self.settings.clone().plan()?;
        let is_same = self.sketch_version == SKETCH_VERSION
            && self.fingerprint == format!("{:016x}", plan.fingerprint())
            && self.plan == described(&plan);
        if !is_same {
            return Err(failed(format!("the index {} was made by a version that hashes differently", path.display()))
                .advise("build it again with this version"));
        }
        Ok(plan)
    }

    pub(super) fn save(&self, folder: &Folder) -> Result<()> {
        let body = serde_json::to_string_pretty(self).map_err(|error| failed(error.to_string()))?;
        let checksum = xxh3_64(body.as_bytes());
        folder.replace(NAME, format!("{MAGIC} {VERSION} {checksum:016x}\n{body}\n").as_bytes())
    }

    pub(super) fn load(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        let content = match std::fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(failed(format!("{} is not an index", folder.display()))
                    .advise("name the folder of an index, or make one with `lookalike index build`"));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
                return Err(failed(format!("{} is a file, and an index is a folder", folder.display()))
                    .advise("make one with `lookalike index build`"));
            }
            Err(error) => return Err(unreadable(&path, &error)),
        };
        Self::of(&content, &path)
    }

    fn of(content: &[u8], path: &Path) -> Result<Self> {
        let content = std::str::from_utf8(content).map_err(|_| damaged(path))?;
        let (line, body) = content.split_once('\n').ok_or_else(|| damaged(path))?;
        let body = body.strip_suffix('\n').ok_or_else(|| damaged(path))?;
        let words = line.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(' ')?.split_once(' '));
        let (version, checksum) = words.ok_or_else(|| damaged(path))?;
        // As it is written, to the letter.
        if !cfg!(fuzzing) && checksum != format!("{:016x}", xxh3_64(body.as_bytes())) {
            return Err(damaged(path));
        }
        if version != VERSION.to_string() {
            return Err(failed(format!(
                "the index {} is of version {version}, and this program reads version {VERSION}",
                path.display()
            ))
            .advise("use the program that made it, or build the index again"));
        }
        serde_json::from_str(body).map_err(|_| damaged(path))
    }
}

/// Everything that decides under which keys an item is found, and what passes the filter.
fn described(plan: &Plan) -> String {
    format!("{:?}", plan.method())
}
