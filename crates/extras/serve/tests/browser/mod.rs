//! Without a Chromium a test says so and returns; under `PICKFS_REQUIRE_BROWSER=1`
//! it fails.
#![allow(dead_code, clippy::unwrap_used)]

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

const PATIENCE: Duration = pickfs_testkit::PATIENCE;

pub struct Browser {
    child: Child,
    tell: File,
    said: Receiver<Value>,
    events: Vec<Value>,
    session: Option<String>,
    last: u64,
    _home: tempfile::TempDir,
}

/// The program, or nothing after a word about it.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = PROGRAMS.iter().flat_map(|name| folders.iter().map(move |f| f.join(name)));
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("PICKFS_REQUIRE_BROWSER").is_none(),
            "no Chromium here, and PICKFS_REQUIRE_BROWSER is set"
        );
        println!("SKIPPED(browser): no chromium in the path");
    }
    found
}

impl Browser {
    pub fn start() -> Option<Browser> {
        let program = program()?;
        let home = tempfile::tempdir().unwrap();
        let (tell, hear) = (home.path().join("tell"), home.path().join("hear"));
        for pipe in [&tell, &hear] {
            assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        }
        // The shell gives the pipes the numbers that the browser expects.
        let child = Command::new("sh")
            .args(["-c", "tell=$1 hear=$2; shift 2; exec \"$@\" 3<\"$tell\" 4>\"$hear\"", "sh"])
            .args([&tell, &hear, &program])
            .args(["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"])
            .args(["--no-first-run", "--disable-extensions", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"])
            .arg(format!("--user-data-dir={}", home.path().join("profile").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let tell = fs::OpenOptions::new().write(true).open(tell).unwrap();
        let said = listen(&hear);
        let (events, session) = (Vec::new(), None);
        let mut browser = Browser { child, tell, said, events, session, last: 0, _home: home };
        browser.open_page();
        Some(browser)
    }

    fn open_page(&mut self) {
        let made = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let ask = json!({ "targetId": made["targetId"], "flatten": true });
        let session = self.call("Target.attachToTarget", ask)["sessionId"].as_str().map(Into::into);
        self.session = session;
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let said = self.ask(method, params);
        assert!(said.get("error").is_none(), "{method}: {said}");
        said["result"].clone()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = session.clone().into();
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.tell.write_all(&bytes).unwrap();
        loop {
            let said = self.next(method);
            if said["id"] == self.last {
                return said;
            }
            self.events.push(said);
        }
    }

    fn next(&mut self, waiting_for: &str) -> Value {
        let said = self.said.recv_timeout(PATIENCE);
        said.unwrap_or_else(|why| panic!("the browser did not answer to {waiting_for}: {why}"))
    }

    pub fn goto(&mut self, url: &str) {
        self.events.retain(|event| event["method"] != "Page.loadEventFired");
        self.call("Page.navigate", json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let said = self.next("load");
            self.events.push(said);
        }
    }

    pub fn eval(&mut self, expression: &str) -> Value {
        let ask = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let got = self.call("Runtime.evaluate", ask);
        assert!(got.get("exceptionDetails").is_none(), "{expression}: {got}");
        got["result"]["value"].clone()
    }

    /// Whether an expression is true; not where the page gives way to the next one meanwhile.
    pub fn sees(&mut self, expression: &str) -> bool {
        let ask = json!({ "expression": format!("Boolean({expression})"), "returnByValue": true });
        let said = self.ask("Runtime.evaluate", ask);
        let gone = said["error"]["message"].as_str().unwrap_or_default();
        let is_gone = gone.contains("navigated") || gone.contains("context");
        assert!(is_gone || said["result"]["exceptionDetails"].is_null(), "{expression}: {said}");
        assert!(is_gone || said["error"].is_null(), "{expression}: {said}");
        said["result"]["result"]["value"] == true
    }

    /// Makes the window so wide, in CSS pixels; a phone below 500.
    pub fn resize(&mut self, width: u32, height: u32) {
        let ask = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500,
        });
        self.call("Emulation.setDeviceMetricsOverride", ask);
    }

    pub fn scheme(&mut self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let ask = json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] });
        self.call("Emulation.setEmulatedMedia", ask);
    }

    /// Keeps a picture of the window where `PICKFS_SCREENSHOTS` names a folder.
    pub fn screenshot(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("PICKFS_SCREENSHOTS") else { return };
        fs::create_dir_all(&folder).unwrap();
        let got = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = BASE64_STANDARD.decode(got["data"].as_str().unwrap()).unwrap();
        fs::write(Path::new(&folder).join(format!("{name}.png")), bytes).unwrap();
    }

    pub fn complaints(&self) -> Vec<String> {
        let complaints = self.events.iter().filter(|event| {
            matches!(
                event["method"].as_str().unwrap_or_default(),
                "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded"
            )
        });
        complaints.map(|event| event["params"].to_string()).collect()
    }

    /// Every address that was asked for; `data:` stays inside.
    pub fn requests(&self) -> Vec<String> {
        let asked = self.events.iter().filter(|e| e["method"] == "Network.requestWillBeSent");
        let urls = asked.filter_map(|e| e["params"]["request"]["url"].as_str());
        urls.filter(|url| !url.starts_with("data:")).map(Into::into).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What it says, cut at its NUL bytes, from a thread that ends with it.
fn listen(pipe: &Path) -> Receiver<Value> {
    let (put, said) = channel();
    let mut hear = BufReader::new(File::open(pipe).unwrap());
    thread::spawn(move || {
        let mut bytes = Vec::new();
        while hear.read_until(0, &mut bytes).is_ok_and(|count| count > 0) {
            bytes.pop();
            let Ok(message) = serde_json::from_slice(&bytes) else { return };
            if put.send(message).is_err() {
                return;
            }
            bytes.clear();
        }
    });
    said
}
