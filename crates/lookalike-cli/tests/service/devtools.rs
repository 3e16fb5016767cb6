//! A real browser, driven through its DevTools protocol.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket};

/// How long the browser may take for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page open.
pub(crate) struct Browser {
    child: Child,
    // The last to go: the browser writes into it.
    _profile: TempDir,
    socket: WebSocket<TcpStream>,
    session: String,
    number: u64,
    /// What went wrong on the page: exceptions, and what its policy forbade.
    pub(crate) complaints: Vec<String>,
}

/// The program of a browser, if there is one.
fn program() -> Option<&'static str> {
    let is_there = |name: &&str| {
        let mut command = Command::new(name);
        command
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(is_there)
}

impl Browser {
    /// Opens a page in a window of this size. None where there is no browser, and the one who runs the tests knows it.
    pub(crate) fn open(url: &str, (width, height): (u32, u32)) -> Option<Self> {
        let Some(program) = program() else {
            assert!(
                std::env::var_os("CI_NO_BROWSER").is_some(),
                "there is no browser to try the page with; apt-get install chromium"
            );
            println!("left out: there is no browser, and CI_NO_BROWSER is set");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--disable-background-networking", "--remote-debugging-port=0", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("HOME", profile.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the browser starts");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find_map(|line| line.strip_prefix("DevTools listening on ").map(str::to_owned));
        let address = address.expect("the browser says where it listens");
        // It goes on talking, and must not find its pipe full.
        std::thread::spawn(move || lines.for_each(drop));
        let host = address.strip_prefix("ws://").and_then(|rest| rest.split('/').next()).unwrap();
        let stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (socket, _) = tungstenite::client(address.as_str(), stream).expect("the browser speaks WebSocket");
        let mut browser =
            Self { child, _profile: profile, socket, session: String::new(), number: 0, complaints: Vec::new() };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = attached["sessionId"].as_str().unwrap().into();
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        browser.call("Emulation.setDeviceMetricsOverride", size);
        browser.call("Page.navigate", json!({ "url": url }));
        browser.wait_for("document.readyState === 'complete'");
        Some(browser)
    }

    /// Calls a method of the protocol.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut call = json!({"id": self.number, "method": method, "params": parameters});
        if !self.session.is_empty() {
            call["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(call.to_string())).unwrap();
        loop {
            let Message::Text(text) = self.socket.read().expect("the browser answers") else { continue };
            let message: Value = serde_json::from_str(&text).unwrap();
            if message["id"] == self.number {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.listen(&message);
        }
    }

    fn listen(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(parameters["exceptionDetails"].to_string()),
            Some("Log.entryAdded") => {
                // A status above 400 is an answer like others; the page deals with it.
                let (level, source) = (&parameters["entry"]["level"], &parameters["entry"]["source"]);
                if level == "error" && source != "network" {
                    self.complaints.push(parameters["entry"].to_string());
                }
            }
            _ => {}
        }
    }

    /// The value of an expression on the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        let value = self.evaluate(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}")).into()
    }

    /// Waits until an expression holds.
    pub(crate) fn wait_for(&mut self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        while self.evaluate(&format!("Boolean({expression})")) != true {
            if Instant::now() > end {
                let page = self.text("document.body.innerText");
                panic!("never so: {expression}; complaints: {:?}; the page:\n{page}", self.complaints);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Clicks into the middle of the first element that a selector finds.
    pub(crate) fn click(&mut self, selector: &str) {
        self.evaluate(&format!(
            "document.querySelector({selector:?}).scrollIntoView({{block: 'center', behavior: 'instant'}})"
        ));
        let middle = self.evaluate(&format!(
            "(() => {{ const box = document.querySelector({selector:?}).getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let parameters = json!({"type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", parameters);
        }
    }

    /// Puts a text where the cursor is, at once, as pasting does.
    pub(crate) fn paste(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Presses a key that writes nothing.
    pub(crate) fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            _ => panic!("no test presses {key}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut parameters = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            if key == "Enter" && kind == "keyDown" {
                parameters["text"] = json!("\r");
            }
            self.call("Input.dispatchKeyEvent", parameters);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
