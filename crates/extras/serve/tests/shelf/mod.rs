#![allow(dead_code, clippy::unwrap_used)]

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    thread,
};

use pickfs_record::RunRecord;
use pickfs_serve::{Server, Settings};
use pickfs_store::RunFile;
use pickfs_testkit::{FakeRun, fake_run};

pub const SECRET: &str = "the secret of another folder";

pub struct Folder {
    _temporary: tempfile::TempDir,
    pub runs: PathBuf,
    pub outside: PathBuf,
}

/// Two runs, one that goes on, a damaged file, and links out of the folder.
pub fn folder() -> Folder {
    let temporary = tempfile::tempdir().unwrap();
    let (runs, outside) = (temporary.path().join("runs"), temporary.path().join("outside"));
    fs::create_dir_all(&runs).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("secret.txt"), SECRET).unwrap();
    let named = |name: &str, seed: u64| FakeRun { name: name.into(), seed, ..FakeRun::default() };
    let mut first = fake_run(&named("first", 7));
    first.trials[0].ops[0].interval_log = "#[a log]\n".into();
    put(&runs.join("first"), &first);
    let mut second = fake_run(&named("second", 8));
    second.environment.put("kernel.release", "6.19.0-other");
    put(&runs.join("second run"), &second);
    let going = FakeRun { blocks: 2, ended: None, ..named("going", 9) };
    put(&runs.join("going"), &fake_run(&going));
    fs::write(runs.join("junk.pickfs"), "not a run at all").unwrap();
    let mut away = fake_run(&named("away", 10));
    away.plan.question = SECRET.into();
    put(&outside.join("away"), &away);
    symlink(&outside, runs.join("linked-folder")).unwrap();
    symlink(outside.join("away"), runs.join("linked-run")).unwrap();
    symlink(outside.join("away/run.pickfs"), runs.join("linked.pickfs")).unwrap();
    symlink(outside.join("secret.txt"), runs.join("secret.pickfs")).unwrap();
    Folder { _temporary: temporary, runs, outside }
}

pub fn put(folder: &Path, run: &RunRecord) -> RunFile {
    fs::create_dir_all(folder).unwrap();
    let bare = RunRecord { trials: vec![], ended: None, ..run.clone() };
    let mut file = RunFile::create(&folder.join("run.pickfs"), &bare).unwrap();
    run.trials.iter().for_each(|trial| file.add_trial(trial).unwrap());
    if let Some(end) = &run.ended {
        file.end(end).unwrap();
    }
    file
}

/// A server on a free port of loopback, for the rest of the program.
pub fn serve(folder: &Path, token: Option<&str>) -> SocketAddr {
    let mut settings = Settings::new(folder, "127.0.0.1:0".parse().unwrap());
    settings.token = token.map(String::from);
    let server = Server::bind(settings).unwrap();
    let address = server.address();
    thread::spawn(move || server.serve());
    address
}

/// Sends bytes as they are, and reads all that comes back.
pub fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(pickfs_testkit::PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

pub fn get_raw(address: SocketAddr, target: &str) -> String {
    raw(address, format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())
}

pub fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

pub struct Got {
    pub status: u16,
    pub kind: String,
    pub head: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Got {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A GET by an ordinary client, which follows no redirect.
pub fn get(address: SocketAddr, path: &str) -> Got {
    get_with(address, path, &[])
}

pub fn get_with(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Got {
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .new_agent();
    let mut request = agent.get(format!("http://{address}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut answer = request.call().unwrap();
    let head: Vec<_> = answer
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_string()))
        .collect();
    let kind = head.iter().find(|(name, _)| name == "content-type").map(|(_, v)| v.clone());
    let body = answer.body_mut().with_config().limit(1 << 28).read_to_vec().unwrap();
    Got { status: answer.status().as_u16(), kind: kind.unwrap_or_default(), head, body }
}
