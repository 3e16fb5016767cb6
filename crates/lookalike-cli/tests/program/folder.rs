//! A folder to run the program in, and what a run gave.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder of its own, with another one for the program's temporary files: what is left behind in either shows.
pub(crate) struct Folder {
    root: TempDir,
    tmp: TempDir,
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let make = || tempfile::tempdir().expect("the system has room for a temporary folder");
        Self { root: make(), tmp: make() }
    }

    /// A folder with one file.
    pub(crate) fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let folder = Self::new();
        folder.write(name, content);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file, and makes the folders that it stands in.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file stands in a folder")).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}; there are {:?}", self.names()))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// Every file with its content, hidden ones and the program's temporary ones too; folders end with a slash.
    pub(crate) fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let mut contents = BTreeMap::new();
        list(self.root.path(), "", &mut contents);
        list(self.tmp.path(), "(temporary)/", &mut contents);
        contents
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.contents().into_keys().collect()
    }

    /// The program with these arguments between blanks, about to run in this folder.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lookalike"));
        command.args(arguments.split_whitespace()).current_dir(self.root.path()).env("TMPDIR", self.tmp.path());
        for variable in ["LOOKALIKE_THREADS", "LOOKALIKE_MEMORY", "LOOKALIKE_TMP", "NO_COLOR", "CLICOLOR_FORCE"] {
            command.env_remove(variable);
        }
        command.stdin(Stdio::null());
        command
    }

    /// Runs the program with these arguments between blanks.
    pub(crate) fn run(&self, arguments: &str) -> Run {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs the program, which must do what it was asked.
    pub(crate) fn done(&self, arguments: &str) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.status, Some(0), "lookalike {arguments}: {}", run.stderr);
        run
    }

    /// Runs the program with something to read on standard input.
    pub(crate) fn run_with_stdin(&self, arguments: &str, stdin: &[u8]) -> Run {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut input = child.stdin.take().expect("it is piped");
        let stdin = stdin.to_vec();
        let feeder = std::thread::spawn(move || {
            // The program may have seen enough before the end.
            let _ = input.write_all(&stdin);
        });
        let run = child.wait_with_output().unwrap().into();
        feeder.join().unwrap();
        run
    }
}

impl Run {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("the output is UTF-8")
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).expect("what is said is UTF-8"),
        }
    }
}

fn list(folder: &Path, prefix: &str, contents: &mut BTreeMap<String, Vec<u8>>) {
    for entry in folder.read_dir().unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            list(&entry.path(), &format!("{name}/"), contents);
            contents.insert(format!("{name}/"), Vec::new());
        } else {
            let content = if kind.is_file() { fs::read(entry.path()).unwrap_or_default() } else { Vec::new() };
            contents.insert(name, content);
        }
    }
}
