//! One input: a file with its format and compression.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lookalike::RecordNumber;
use tempfile::NamedTempFile;

use crate::compression::{Compression, open_decompressed, read_error};
use crate::error::{Error, Result, Shown};
use crate::options::Format;

/// The name of standard input among the inputs.
pub const STDIN: &str = "-";

/// One file to read, looked at closely enough to know how.
#[derive(Clone, Debug)]
pub struct Input {
    /// The file to open. For a stream that can be read only once this is a private copy.
    pub path: PathBuf,
    /// What the user calls it: the path as it was given, or `-`.
    pub name: PathBuf,
    /// Where it stands under the folder it was found in, or its file name; an output folder repeats this.
    pub relative: PathBuf,
    /// The format of its content.
    pub format: Format,
    /// How it is compressed.
    pub compression: Compression,
    /// Its size in bytes, as it lies there.
    pub size: u64,
    modified: Option<SystemTime>,
    /// Removes a private copy with the last input that refers to it.
    copy: Option<Arc<NamedTempFile>>,
}

/// Decompressed bytes that are looked at to tell a format.
const SNIFF_BYTES: u64 = 4096;

impl Input {
    /// Looks at the file at `path`. A stream, such as a named pipe, is first copied to a private file in `tmp_dir`.
    pub fn from_file(path: &Path, relative: &Path, format: Option<Format>, tmp_dir: &Path) -> Result<Self> {
        let mut file = File::open(path).map_err(|error| unreadable(path, error))?;
        let metadata = file.metadata().map_err(|error| unreadable(path, error))?;
        if metadata.is_file() {
            Self::look_at(path.into(), path, relative, format, None)
        } else {
            let copy = spool(&mut file, path, tmp_dir)?;
            Self::look_at(copy.path().to_path_buf(), path, relative, format, Some(Arc::new(copy)))
        }
    }

    /// Reads standard input to its end into a private file in `tmp_dir`, so that it can be read more than once.
    /// `stream` is standard input, or stands in its place.
    pub fn from_stream(stream: &mut dyn Read, format: Option<Format>, tmp_dir: &Path) -> Result<Self> {
        let name = Path::new(STDIN);
        let copy = spool(stream, name, tmp_dir)?;
        Self::look_at(copy.path().to_path_buf(), name, name, format, Some(Arc::new(copy)))
    }

    fn look_at(
        path: PathBuf,
        name: &Path,
        relative: &Path,
        format: Option<Format>,
        copy: Option<Arc<NamedTempFile>>,
    ) -> Result<Self> {
        let metadata = path.metadata().map_err(|error| unreadable(name, error))?;
        if metadata.len() > RecordNumber::MAX_POSITION {
            return Err(Error::new("the file is larger than a terabyte").at_file(name).advise("split it"));
        }
        let mut start = [0; 6];
        let count = read_up_to(&mut File::open(&path).map_err(|error| unreadable(name, error))?, &mut start)
            .map_err(|error| unreadable(name, error))?;
        if let Some(packer) = Compression::unknown(&start[..count]) {
            return Err(Error::new(format!("the file was made by {packer}, which is not read"))
                .at_file(name)
                .advise("unpack it first; gzip and zstd are read as they are"));
        }
        let compression = Compression::detect(&start[..count]);
        let format = match format.or_else(|| format_by_name(name)) {
            Some(format) => format,
            None => format_by_content(&path, name, compression)?,
        };
        Ok(Self {
            name: name.into(),
            relative: relative.into(),
            format,
            compression,
            size: metadata.len(),
            modified: metadata.modified().ok(),
            path,
            copy,
        })
    }

    /// When the file was last changed, where the system tells.
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// Whether it could be read only once, so that `path` is a private copy.
    pub fn is_copy(&self) -> bool {
        self.copy.is_some()
    }

    /// Whether it came through standard input.
    pub fn is_stdin(&self) -> bool {
        self.copy.is_some() && self.name == Path::new(STDIN)
    }

    /// An error if the file is no longer the one that was looked at: positions found in it mean nothing any more.
    pub fn check_unchanged(&self) -> Result<()> {
        let metadata = self.path.metadata().map_err(|error| unreadable(&self.name, error))?;
        if metadata.len() == self.size && metadata.modified().ok() == self.modified {
            return Ok(());
        }
        Err(self.changed())
    }

    /// The error of a file that is no longer the one that was looked at.
    pub fn changed(&self) -> Error {
        Error::new("the file changed while it was being read")
            .at_file(&self.name)
            .advise("run again once nothing writes to it")
    }
}

/// The format that a file's name tells, a compression's ending set aside.
pub fn format_by_name(path: &Path) -> Option<Format> {
    // Only the ending counts, so what is no UTF-8 before it does not matter.
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let name = [".gz", ".zst", ".zstd"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension {
        "jsonl" | "ndjson" | "json" => Format::Jsonl,
        "csv" => Format::Csv,
        "tsv" => Format::Tsv,
        "txt" | "text" | "md" => Format::Text,
        "html" | "htm" => Format::Html,
        "parquet" => Format::Parquet,
        "warc" | "wet" | "wat" => Format::Warc,
        "sets" => Format::Sets,
        _ => return None,
    })
}

fn format_by_content(path: &Path, name: &Path, compression: Compression) -> Result<Format> {
    let mut start = Vec::new();
    open_decompressed(path, compression)?
        .take(SNIFF_BYTES)
        .read_to_end(&mut start)
        .map_err(|error| read_error(name, compression, start.len() as u64, error))?;
    Ok(sniff(&start))
}

/// The format that the first decompressed bytes tell. Nothing at all is JSONL without records, not an empty text.
fn sniff(start: &[u8]) -> Format {
    if start.starts_with(b"PAR1") {
        return Format::Parquet;
    }
    let start = start.strip_prefix(crate::BOM).unwrap_or(start).trim_ascii_start();
    let starts_with =
        |word: &str| start.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()));
    match start.first() {
        None | Some(b'{') => Format::Jsonl,
        Some(b'<') if starts_with("<!doctype html") || starts_with("<html") => Format::Html,
        Some(b'W') if start.starts_with(b"WARC/") => Format::Warc,
        Some(_) => Format::Text,
    }
}

fn unreadable(name: &Path, error: io::Error) -> Error {
    let advice = match error.kind() {
        io::ErrorKind::NotFound if name.to_string_lossy().contains("://") => {
            "only files are read: fetch it with another program, and give its output to this one (-)"
        }
        io::ErrorKind::NotFound => "check the spelling",
        io::ErrorKind::PermissionDenied => "check its permissions",
        _ => return Error::io("cannot read", name, error),
    };
    Error::io("cannot read", name, error).advise(advice)
}

/// What private copies are called, before some letters.
const COPY_PREFIX: &str = ".lookalike-input.";

/// Copies a stream to its end into a private file. It is locked for as long as it is in use.
fn spool(stream: &mut dyn Read, name: &Path, tmp_dir: &Path) -> Result<NamedTempFile> {
    let cannot_write = |error| {
        Error::io("cannot write a private copy to", tmp_dir, error).advise(format!(
            "{} is copied there because it can be read only once; name another folder with --tmp",
            Shown(name)
        ))
    };
    remove_abandoned_copies(tmp_dir);
    let mut copy = tempfile::Builder::new().prefix(COPY_PREFIX).tempfile_in(tmp_dir).map_err(cannot_write)?;
    // Where files cannot be locked, an abandoned copy cannot be told from one in use, and is left.
    let _ = copy.as_file().try_lock();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => copy.write_all(&buffer[..count]).map_err(cannot_write)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("cannot read", name, error)),
        }
    }
    Ok(copy)
}

/// Removes private copies that programs left which were killed: those that nobody has locked, if they are not so new that
/// somebody may be about to.
fn remove_abandoned_copies(folder: &Path) {
    const NEW: Duration = Duration::from_secs(60);
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let is_copy = entry.file_name().as_bytes().starts_with(COPY_PREFIX.as_bytes());
        let is_old = || {
            let changed = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age > NEW)
        };
        let is_unused = || File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if is_copy && entry.file_type().is_ok_and(|kind| kind.is_file()) && is_old() && is_unused() {
            // Whoever cannot remove it loses nothing but room.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn read_up_to(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_nobody_uses_any_more_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        let make = |name: &str, time: SystemTime| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(time).unwrap();
            file
        };
        let in_use = make(".lookalike-input.a", long_ago);
        in_use.lock().unwrap();
        make(".lookalike-input.b", SystemTime::now());
        make(".lookalike-input.c", long_ago);
        make("somebody.else", long_ago);
        let own = spool(&mut &b"a text"[..], Path::new(STDIN), folder.path()).unwrap();
        let is_there = |name: &str| folder.path().join(name).exists();
        assert!(own.path().exists() && !is_there(".lookalike-input.c"));
        assert!(is_there(".lookalike-input.a") && is_there(".lookalike-input.b") && is_there("somebody.else"));
    }

    #[test]
    fn formats_by_name() {
        for (name, format) in [
            ("a.jsonl", Some(Format::Jsonl)),
            ("a.JSON.GZ", Some(Format::Jsonl)),
            ("x/a.b.csv.zst", Some(Format::Csv)),
            ("a.tsv.zstd", Some(Format::Tsv)),
            ("CC-MAIN.warc.wet.gz", Some(Format::Warc)),
            ("readme.md", Some(Format::Text)),
            ("a.gz", None),
            ("jsonl", None),
            ("a.bin", None),
        ] {
            assert_eq!(format_by_name(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn formats_by_content() {
        for (start, format) in [
            (&b"\xEF\xBB\xBF \n{\"a\":1}"[..], Format::Jsonl),
            (b"", Format::Jsonl),
            (b"PAR1\x15", Format::Parquet),
            (b"WARC/1.0\r\n", Format::Warc),
            (b"\n<!DOCTYPE HTML>", Format::Html),
            (b"<HTML lang=en>", Format::Html),
            (b"<p>", Format::Text),
            (b"once upon", Format::Text),
        ] {
            assert_eq!(sniff(start), format, "{}", start.escape_ascii());
        }
    }

    #[test]
    fn a_stream_can_be_read_again_and_its_copy_goes_away() {
        let folder = tempfile::tempdir().unwrap();
        let input = Input::from_stream(&mut &b"{\"text\":\"x\"}\n"[..], None, folder.path()).unwrap();
        assert!(input.is_stdin());
        assert_eq!((input.format, input.size), (Format::Jsonl, 13));
        assert_eq!(std::fs::read(&input.path).unwrap().len(), 13);
        let twin = input.clone();
        drop(input);
        assert!(twin.path.exists());
        drop(twin);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_changed_file_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, "{}\n").unwrap();
        let input = Input::from_file(&path, Path::new("a.jsonl"), None, folder.path()).unwrap();
        input.check_unchanged().unwrap();
        std::fs::write(&path, "{}\n{}\n").unwrap();
        assert!(input.check_unchanged().unwrap_err().to_string().contains("changed"));
    }
}
