//! From what the user typed to the list of inputs: files, folders, globs and standard input.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use lookalike::RecordNumber;

use crate::error::{Error, Result, Shown};
use crate::input::{Input, STDIN, format_by_name};
use crate::options::Format;

/// Finds inputs.
pub struct Inputs;

impl Inputs {
    /// The inputs that `arguments` name, in their order; inside folders and globs by path bytes.
    ///
    /// A folder gives the files under it whose names tell a format, or all of them where `format` is given; hidden ones
    /// are passed over. An argument is a glob (`*`, `?`, `[..]`, `**`) only if no file has that very name. `-` is
    /// standard input, copied to a private file in `tmp_dir` so that it can be read more than once.
    pub fn resolve(arguments: &[PathBuf], format: Option<Format>, tmp_dir: &Path) -> Result<Vec<Input>> {
        Self::resolve_with(arguments, format, tmp_dir, &mut std::io::stdin())
    }

    /// [`Inputs::resolve`] with any stream in the place of standard input: one that hears of cancellation, for example.
    pub fn resolve_with(
        arguments: &[PathBuf],
        format: Option<Format>,
        tmp_dir: &Path,
        stdin: &mut dyn Read,
    ) -> Result<Vec<Input>> {
        let mut inputs = Vec::new();
        for argument in arguments {
            if argument.as_os_str() == STDIN {
                if inputs.iter().any(Input::is_stdin) {
                    return Err(Error::new("standard input is named twice").advise("name - once"));
                }
                inputs.push(Input::from_stream(stdin, format, tmp_dir)?);
            } else if argument.is_dir() {
                resolve_folder(argument, format, tmp_dir, &mut inputs)?;
            } else if !argument.exists() && is_glob(argument) {
                resolve_glob(argument, format, tmp_dir, &mut inputs)?;
            } else {
                let relative = argument.file_name().map_or(argument.as_path(), Path::new);
                inputs.push(Input::from_file(argument, relative, format, tmp_dir)?);
            }
        }
        refuse_twins(&inputs)?;
        if inputs.len() as u64 > RecordNumber::MAX_INPUTS {
            return Err(Error::new(format!(
                "there are {} inputs, and a run can number {}",
                inputs.len(),
                RecordNumber::MAX_INPUTS
            ))
            .advise("join small files into larger ones"));
        }
        Ok(inputs)
    }
}

/// What is in folders that are read, and is not read itself.
#[derive(Debug, Default)]
pub struct PassedOver {
    /// Files whose names tell no format.
    pub unknown: Vec<PathBuf>,
    /// Links that lead to no file.
    pub links: Vec<PathBuf>,
}

/// What is passed over in these folders.
pub fn passed_over(arguments: &[PathBuf], format: Option<Format>) -> Result<PassedOver> {
    let mut over = PassedOver::default();
    for folder in arguments.iter().filter(|argument| argument.is_dir()) {
        let mut listed = Listed::default();
        walk(folder, Path::new(""), &mut listed)?;
        let is_unknown = |file: &PathBuf| format.is_none() && format_by_name(file).is_none();
        over.unknown.extend(listed.files.into_iter().filter(is_unknown).map(|file| folder.join(file)));
        over.links.extend(listed.links.into_iter().map(|link| folder.join(link)));
    }
    over.unknown.sort();
    over.links.sort();
    Ok(over)
}

fn resolve_folder(folder: &Path, format: Option<Format>, tmp_dir: &Path, inputs: &mut Vec<Input>) -> Result<()> {
    let mut listed = Listed::default();
    walk(folder, Path::new(""), &mut listed)?;
    let mut found = listed.files;
    found.retain(|file| format.is_some() || format_by_name(file).is_some());
    if found.is_empty() {
        let advice = match format {
            Some(_) => "name a folder with files that are not hidden",
            None => {
                "files of unknown endings are passed over there; name them one by one, or say what they are with --input-format"
            }
        };
        return Err(Error::new(format!("the folder {} holds nothing to read", Shown(folder)))
            .at_file(folder)
            .advise(advice));
    }
    found.sort_by(|left, right| left.as_os_str().as_bytes().cmp(right.as_os_str().as_bytes()));
    for relative in found {
        inputs.push(Input::from_file(&folder.join(&relative), &relative, format, tmp_dir)?);
    }
    Ok(())
}

/// What is under a folder.
#[derive(Default)]
struct Listed {
    files: Vec<PathBuf>,
    /// Links that lead to no file.
    links: Vec<PathBuf>,
}

/// Lists what is under a folder. Links to files are followed, links to folders are not: they can go round in circles.
fn walk(root: &Path, under: &Path, listed: &mut Listed) -> Result<()> {
    let folder = root.join(under);
    let cannot_list = |error| Error::io("cannot list", &folder, error).advise("check its permissions");
    for entry in folder.read_dir().map_err(cannot_list)? {
        let entry = entry.map_err(cannot_list)?;
        let name = entry.file_name();
        if is_hidden(&name) {
            continue;
        }
        let relative = under.join(&name);
        let kind = entry.file_type().map_err(cannot_list)?;
        if kind.is_dir() {
            walk(root, &relative, listed)?;
        } else if kind.is_file() || entry.path().is_file() {
            listed.files.push(relative);
        } else if kind.is_symlink() {
            listed.links.push(relative);
        }
    }
    Ok(())
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".")
}

fn is_glob(path: &Path) -> bool {
    path.as_os_str().as_bytes().iter().any(|byte| b"*?[".contains(byte))
}

fn resolve_glob(argument: &Path, format: Option<Format>, tmp_dir: &Path, inputs: &mut Vec<Input>) -> Result<()> {
    let bad = |why: &str| Error::new(format!("{} is not a glob: {why}", Shown(argument))).at_file(argument);
    argument.to_str().ok_or_else(|| bad("it is not UTF-8"))?;
    let parts =
        argument.iter().map(|part| GlobPart::of(part).map_err(|error| bad(error.msg))).collect::<Result<Vec<_>>>()?;
    let mut found = Vec::new();
    expand(Path::new(""), &parts, &mut found)?;
    if found.is_empty() {
        return Err(Error::new(format!("no file matches {}", Shown(argument)))
            .at_file(argument)
            .advise("check the pattern"));
    }
    found.sort_by(|left, right| left.as_os_str().as_bytes().cmp(right.as_os_str().as_bytes()));
    found.dedup();
    let root = literal_root(argument);
    for path in found {
        let relative = path.strip_prefix(&root).unwrap_or(&path).to_path_buf();
        inputs.push(Input::from_file(&path, &relative, format, tmp_dir)?);
    }
    Ok(())
}

/// What stands between two slashes of a glob.
enum GlobPart<'a> {
    Name(&'a OsStr),
    Pattern {
        pattern: glob::Pattern,
        shows_hidden: bool,
    },
    /// `**`: any number of folders.
    Folders,
}

impl<'a> GlobPart<'a> {
    fn of(part: &'a OsStr) -> std::result::Result<Self, glob::PatternError> {
        if part == "**" {
            return Ok(Self::Folders);
        }
        if !is_glob(Path::new(part)) {
            return Ok(Self::Name(part));
        }
        Ok(Self::Pattern { pattern: glob::Pattern::new(&part.to_string_lossy())?, shows_hidden: is_hidden(part) })
    }
}

/// Lists the files that match a glob under a folder. Hidden ones are passed over unless they are asked for. Names that are no UTF-8
/// are matched by what can be read of them, so that none is left out in silence.
fn expand(folder: &Path, parts: &[GlobPart<'_>], found: &mut Vec<PathBuf>) -> Result<()> {
    let Some((part, rest)) = parts.split_first() else {
        if folder.is_file() {
            found.push(folder.into());
        }
        return Ok(());
    };
    if let GlobPart::Name(name) = part {
        return expand(&folder.join(name), rest, found);
    }
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if !listed.is_dir() {
        return Ok(());
    }
    if matches!(part, GlobPart::Folders) {
        expand(folder, rest, found)?;
    }
    let cannot_list = |error| Error::io("cannot list", listed, error).advise("check its permissions");
    for entry in listed.read_dir().map_err(cannot_list)? {
        let entry = entry.map_err(cannot_list)?;
        let name = entry.file_name();
        match part {
            // Links to folders can go round in circles.
            GlobPart::Folders if !is_hidden(&name) && entry.file_type().map_err(cannot_list)?.is_dir() => {
                expand(&folder.join(&name), parts, found)?;
            }
            // At the end, all files in them are meant.
            GlobPart::Folders if !is_hidden(&name) && rest.is_empty() => expand(&folder.join(&name), rest, found)?,
            GlobPart::Pattern { pattern, shows_hidden }
                if (*shows_hidden || !is_hidden(&name)) && pattern.matches(&name.to_string_lossy()) =>
            {
                expand(&folder.join(&name), rest, found)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The folders of a glob before its first wildcard: what its matches share.
fn literal_root(pattern: &Path) -> PathBuf {
    let folder = pattern.parent().unwrap_or(Path::new(""));
    folder.components().take_while(|component| !is_glob(Path::new(component))).collect()
}

/// A file that is read twice would only find itself, under the same ids.
fn refuse_twins(inputs: &[Input]) -> Result<()> {
    let mut seen = HashMap::new();
    for input in inputs.iter().filter(|input| input.path == input.name) {
        let canonical = input.path.canonicalize().map_err(|error| Error::io("cannot read", &input.name, error))?;
        if let Some(twin) = seen.insert(canonical, &input.name) {
            let message = if *twin == input.name {
                format!("{} is named twice", Shown(&input.name))
            } else {
                format!("{} and {} are the same file", Shown(twin), Shown(&input.name))
            };
            return Err(Error::new(message)
                .at_file(&input.name)
                .advise("name it once: its records would only find themselves"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in
            ["b.jsonl", "a/z.csv", "a/y/x.txt", "a.jsonl", ".hidden.jsonl", "a/.git/x.txt", "notes.bin", "[x].jsonl"]
        {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
        folder
    }

    fn resolve(folder: &Path, arguments: &[&str], format: Option<Format>) -> Result<Vec<String>> {
        let arguments: Vec<PathBuf> = arguments.iter().map(|argument| folder.join(argument)).collect();
        let inputs = Inputs::resolve(&arguments, format, folder)?;
        Ok(inputs.iter().map(|input| input.relative.to_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn folders_globs_and_files_in_order() {
        let tree = tree();
        let list = |arguments: &[&str], format| resolve(tree.path(), arguments, format).unwrap();
        assert_eq!(list(&[""], None), ["[x].jsonl", "a.jsonl", "a/y/x.txt", "a/z.csv", "b.jsonl"]);
        assert_eq!(list(&["a"], Some(Format::Lines)), ["y/x.txt", "z.csv"]);
        assert_eq!(list(&["b.jsonl", "a.jsonl"], None), ["b.jsonl", "a.jsonl"]);
        assert_eq!(list(&["?.jsonl"], None), ["a.jsonl", "b.jsonl"]);
        assert_eq!(list(&["a/**/*.txt"], None), ["y/x.txt"]);
        assert_eq!(list(&["**/*.csv"], None), ["a/z.csv"]);
        assert_eq!(list(&["**/y/x.*"], None), ["a/y/x.txt"]);
        assert_eq!(list(&["a/**"], None), ["y/x.txt", "z.csv"]);
        assert_eq!(list(&["[ab]*/?.csv"], None), ["a/z.csv"]);
        assert_eq!(list(&[".*.jsonl"], None), [".hidden.jsonl"]);
        assert_eq!(list(&["a/.git/*"], None), ["x.txt"]);
        assert_eq!(list(&["[x].jsonl"], None), ["[x].jsonl"], "a file of that very name is meant");
        assert_eq!(list(&["notes.bin"], None), ["notes.bin"]);
    }

    #[test]
    fn names_need_not_be_utf_8() {
        let tree = tempfile::tempdir().unwrap();
        let odd = tree.path().join(OsStr::from_bytes(b"caf\xe9.txt"));
        // Not every system has such names.
        if fs::write(&odd, "a").is_err() {
            return;
        }
        for argument in [tree.path().to_path_buf(), tree.path().join("*"), tree.path().join("*.txt"), odd.clone()] {
            let inputs = Inputs::resolve(&[argument], None, tree.path()).unwrap();
            assert_eq!(inputs.iter().map(|input| &input.path).collect::<Vec<_>>(), [&odd]);
        }
    }

    #[test]
    fn what_folders_hold_besides_is_told() {
        let tree = tree();
        let over = |format| passed_over(&[tree.path().into(), tree.path().join("a.jsonl")], format).unwrap();
        assert_eq!(over(None).unknown, [tree.path().join("notes.bin")]);
        assert!(over(Some(Format::Lines)).unknown.is_empty() && over(None).links.is_empty());
        // A link to a file is the file; one to a folder, or to nothing, is left alone.
        for (link, to) in [("file.jsonl", "a.jsonl"), ("folder", "a"), ("gone.jsonl", "nowhere")] {
            std::os::unix::fs::symlink(to, tree.path().join(link)).unwrap();
        }
        for format in [None, Some(Format::Lines)] {
            assert_eq!(over(format).links, ["folder", "gone.jsonl"].map(|link| tree.path().join(link)));
        }
    }

    #[test]
    fn what_cannot_be_found_is_told() {
        let tree = tree();
        let fail = |arguments: &[&str]| resolve(tree.path(), arguments, None).unwrap_err().to_string();
        assert!(fail(&["missing.jsonl"]).contains("check the spelling"));
        assert!(fail(&["*.parquet"]).contains("no file matches"));
        fs::create_dir(tree.path().join("empty")).unwrap();
        assert!(fail(&["empty"]).contains("holds nothing to read"));
        assert!(fail(&["a.jsonl", "a.jsonl"]).contains("named twice"));
        assert!(fail(&["a.jsonl", "a/../a.jsonl"]).contains("the same file"));
    }
}
