//! The program as a service, in a folder of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lookalike::{Content, Index, IndexOptions, Settings};
use serde_json::Value;
use tempfile::TempDir;

use crate::http::{self, Answer};

pub(crate) const JSON: (&str, &str) = ("Content-Type", "application/json");
pub(crate) const LINES: (&str, &str) = ("Content-Type", "application/x-ndjson");

/// 18 words: 14 shingles of five.
pub(crate) const FERRY: &str =
    "the ferry leaves the old harbour at seven and reaches the island before the first market stalls open";
/// [`FERRY`] with another last word: 13 of 15 shingles are shared, 0.866667.
pub(crate) const LATE_FERRY: &str =
    "the ferry leaves the old harbour at seven and reaches the island before the first market stalls close";
/// Shares nothing with the others.
pub(crate) const LIBRARY: &str =
    "our library lends paper maps of every valley in the county and asks only that walkers bring them back dry";

/// How long the program may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with an index in it.
pub(crate) struct Folder(TempDir);

impl Folder {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("the system has room for a temporary folder"))
    }

    /// A folder with an index `news.idx` of these items, which stores texts.
    pub(crate) fn with_index(items: &[(&str, &str)]) -> Self {
        Self::with_index_of(items, true)
    }

    pub(crate) fn with_index_of(items: &[(&str, &str)], store_text: bool) -> Self {
        let folder = Self::new();
        let plan = Settings::new(0.8).plan().unwrap();
        let mut index = Index::create_with(&folder.path("news.idx"), &plan, &IndexOptions { store_text }).unwrap();
        for (id, text) in items {
            index.insert(id, Content::Text(text), Some(1_700_000_000_000)).unwrap();
        }
        index.commit().unwrap();
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// The program with these arguments between blanks, about to run here.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lookalike"));
        command.args(arguments.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        command.env_remove("LOOKALIKE_THREADS");
        command
    }

    /// Starts `lookalike serve` with these arguments on a free port.
    pub(crate) fn serve(&self, arguments: &str) -> Server {
        let listen = if arguments.contains("--listen") { "" } else { "--listen 127.0.0.1:0" };
        Server::start(self.command(&format!("serve {listen} {arguments}")))
    }

    /// What `lookalike serve` says where it does not start.
    pub(crate) fn does_not_serve(&self, arguments: &str) -> String {
        Self::ends_at_once(self.command(&format!("serve --listen 127.0.0.1:0 {arguments}")))
    }

    pub(crate) fn ends_at_once(mut command: Command) -> String {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let status = wait(&mut child);
        let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
        assert_eq!(status.and_then(|status| status.code()), Some(2), "{said}");
        said
    }
}

/// A running service.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<Vec<String>>>,
    listener: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().expect("it says something").unwrap();
        let address = first.strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("it said: {first}")).parse().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&log);
        let listener = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().unwrap().push(line);
            }
        });
        Self { child, address, log, listener: Some(listener) }
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        http::ask(self.address, method, path, headers, body.as_bytes())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[JSON], &body.to_string())
    }

    pub(crate) fn put(&self, id: &str, text: &str) -> Answer {
        self.ask("PUT", &format!("/v1/items/{id}"), &[JSON], &serde_json::json!({ "text": text }).to_string())
    }

    /// The ids and similarities of what is like this text.
    pub(crate) fn alike(&self, text: &str) -> Vec<(String, f64)> {
        let answer = self.post("/v1/query", &serde_json::json!({ "text": text })).done();
        let matches = answer["matches"].as_array().unwrap().iter();
        matches.map(|found| (found["id"].as_str().unwrap().into(), found["similarity"].as_f64().unwrap())).collect()
    }

    /// The service has not suffered.
    pub(crate) fn is_well(&self) {
        assert_eq!(self.get("/healthz").done()["status"], "alive");
        assert_eq!(self.get("/readyz").done()["status"], "ready");
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end; gives the status and what was logged.
    pub(crate) fn ended(mut self) -> (Option<i32>, Vec<String>) {
        let status = wait(&mut self.child).expect("the program ends when it is asked to");
        self.listener.take().unwrap().join().unwrap();
        let log = std::mem::take(&mut *self.log.lock().unwrap());
        (status.code(), log)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait(child: &mut Child) -> Option<ExitStatus> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}
