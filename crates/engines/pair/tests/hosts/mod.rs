//! Two network namespaces with a cable between them, and nodes that run in them. All of it goes away when it is
//! dropped, also when a test fails.
#![allow(dead_code, clippy::unwrap_used)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use pickfs_testkit::{Dice, may_run};
use tempfile::TempDir;

pub type Host = u8;

pub const HOST_A: Host = 1;
pub const HOST_B: Host = 2;
const PORT: u16 = 7300;
const PROGRAM: &str = env!("CARGO_BIN_EXE_pickfs-pair");

pub fn can_run() -> bool {
    may_run(&["ip"])
}

pub fn scrambled(value: u64) -> u64 {
    Dice::new(value).bits()
}

/// Sent in this round.
pub fn line(round: u64, number: u64) -> String {
    let length = (scrambled(round << 32 | number) % 300) as usize;
    format!("round {round} message {number} {}", "x".repeat(length))
}

fn ip(words: &[&str]) {
    let output = Command::new("ip").args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "ip {words:?}: {said}");
}

pub struct Hosts {
    dir: TempDir,
    name: String,
}

impl Hosts {
    pub fn new() -> Hosts {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("pkp{}n{}", std::process::id(), COUNT.fetch_add(1, SeqCst));
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let hosts = Hosts { dir, name };
        for host in [HOST_A, HOST_B] {
            ip(&["netns", "add", &hosts.namespace(host)]);
        }
        let (a, b) = (hosts.namespace(HOST_A), hosts.namespace(HOST_B));
        // Both ends are made inside: nothing of it is ever seen outside.
        ip(&[
            "-n", &a, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", &b,
        ]);
        for host in [HOST_A, HOST_B] {
            let (space, address) = (hosts.namespace(host), format!("10.213.77.{host}/24"));
            ip(&["-n", &space, "addr", "add", &address, "dev", "cable"]);
            ip(&["-n", &space, "link", "set", "cable", "up"]);
            ip(&["-n", &space, "link", "set", "lo", "up"]);
        }
        hosts
    }

    fn namespace(&self, host: Host) -> String {
        format!("{}{}", self.name, if host == HOST_A { "a" } else { "b" })
    }

    pub fn dir(&self, host: Host) -> PathBuf {
        self.dir.path().join(format!("node-{host}"))
    }

    pub fn cut(&self) {
        ip(&["-n", &self.namespace(HOST_A), "link", "set", "cable", "down"]);
    }

    pub fn heal(&self) {
        ip(&["-n", &self.namespace(HOST_A), "link", "set", "cable", "up"]);
    }

    fn command(&self, host: Host, verb: &str, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(host), PROGRAM, verb]);
        command.arg("--dir").arg(self.dir(host));
        let small_files = ["--file-bytes", "1048576", "--node", &host.to_string()];
        if verb != "promote" {
            command.args(small_files).args(words);
        }
        command
    }

    fn address(host: Host) -> String {
        format!("10.213.77.{host}:{PORT}")
    }

    pub fn primary(&self, host: Host, words: &[&str]) -> Node {
        let other = Hosts::address(HOST_A + HOST_B - host);
        let mut command = self.command(host, "primary", words);
        Node::start(host, command.args(["--secondary", &other]))
    }

    /// One that becomes the primary of the other when it is promoted.
    pub fn secondary(&self, host: Host, words: &[&str]) -> Node {
        let other = Hosts::address(HOST_A + HOST_B - host);
        let mut command = self.command(host, "secondary", words);
        command.args(["--listen", &Hosts::address(host), "--secondary", &other]);
        Node::start(host, command.args(["--on-diverged", "set-aside"]))
    }

    pub fn promote(&self, host: Host) -> String {
        let output = self.command(host, "promote", &[]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "promote: {said}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in [HOST_A, HOST_B] {
            let space = self.namespace(host);
            let pids = Command::new("ip").args(["netns", "pids", &space]).output();
            let pids = pids.map(|output| output.stdout).unwrap_or_default();
            for pid in String::from_utf8_lossy(&pids).split_whitespace() {
                // Only what runs in the namespace that we made.
                let _ = Command::new("kill").args(["-9", pid]).status();
            }
            let _ = Command::new("ip").args(["netns", "del", &space]).status();
        }
    }
}

pub struct Node {
    pub host: Host,
    process: Child,
    safe: Arc<AtomicU64>,
    ready: Arc<Mutex<Option<u64>>>,
    said: Arc<Mutex<String>>,
    is_loading: Arc<AtomicBool>,
    /// The thread that takes what it says, until it has said all.
    hearing: Option<thread::JoinHandle<()>>,
}

impl Node {
    pub fn start(host: Host, command: &mut Command) -> Node {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let node = Node {
            host,
            process: command.spawn().unwrap(),
            safe: Arc::default(),
            ready: Arc::default(),
            said: Arc::default(),
            is_loading: Arc::default(),
            hearing: None,
        };
        node.listening()
    }

    fn listening(mut self) -> Node {
        let out = BufReader::new(self.process.stdout.take().unwrap());
        let (safe, ready) = (Arc::clone(&self.safe), Arc::clone(&self.ready));
        self.hearing = Some(thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let last = line.rsplit(' ').next().and_then(|word| word.parse().ok());
                if line.starts_with("safe ") {
                    safe.store(last.unwrap(), SeqCst);
                } else if line.starts_with("ready: ") {
                    *ready.lock().unwrap() = last;
                }
            }
        }));
        let err = BufReader::new(self.process.stderr.take().unwrap());
        let said = Arc::clone(&self.said);
        thread::spawn(move || {
            for line in err.lines().map_while(Result::ok) {
                let mut said = said.lock().unwrap();
                said.push_str(&line);
                said.push('\n');
            }
        });
        self
    }

    fn until<T>(&self, what: &str, limit: Duration, look: impl Fn() -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            let said = || self.said.lock().unwrap().clone();
            assert!(began.elapsed() < limit, "node {}: no {what}; it said:\n{}", self.host, said());
            // SLEEP: between two looks.
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Gives the last message before its reign.
    pub fn ready(&self, limit: Duration) -> u64 {
        self.until("ready", limit, || *self.ready.lock().unwrap())
    }

    pub fn safe(&self) -> u64 {
        self.safe.load(SeqCst)
    }

    pub fn wait_safe(&self, sequence: u64, limit: Duration) {
        self.until(&format!("safe {sequence}"), limit, || (self.safe() >= sequence).then_some(()));
    }

    pub fn wait_said(&self, words: &str, limit: Duration) {
        self.until(words, limit, || self.said.lock().unwrap().contains(words).then_some(()));
    }

    /// Until the last thing that it said is one of these.
    pub fn wait_said_last(&self, words: &[&str], limit: Duration) {
        let is_one = |line: &str| words.iter().any(|words| line.contains(words));
        let is_last = || self.said.lock().unwrap().lines().last().is_some_and(is_one);
        self.until(words[0], limit, || is_last().then_some(()));
    }

    pub fn wait_said_again(&self, words: &str, limit: Duration) {
        let is_twice = || self.said.lock().unwrap().matches(words).count() >= 2;
        self.until(words, limit, || is_twice().then_some(()));
    }

    /// As fast as they are taken, until it dies or the load is paused.
    pub fn load(&mut self, round: u64) {
        let mut stdin = self.process.stdin.take().unwrap();
        self.is_loading.store(true, SeqCst);
        let is_loading = Arc::clone(&self.is_loading);
        thread::spawn(move || {
            for number in 1.. {
                let sent = writeln!(stdin, "{}", line(round, number));
                if sent.is_err() {
                    return;
                }
                while !is_loading.load(SeqCst) {
                    // SLEEP: between two looks.
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
    }

    /// While the pipe stays open.
    pub fn pause_load(&self) {
        self.is_loading.store(false, SeqCst);
    }

    pub fn is_alive(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// Gives the last message that it had acknowledged.
    pub fn kill(&mut self) -> u64 {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        // What it wrote before is still in the pipe.
        if let Some(hearing) = self.hearing.take() {
            hearing.join().unwrap();
        }
        self.safe()
    }

    /// Waits until nothing more is acknowledged, although messages come; gives the last that was.
    pub fn settled(&self) -> u64 {
        self.until("end of acknowledgements", pickfs_testkit::PATIENCE, || {
            let before = self.safe();
            // SLEEP: at full speed there are thousands in this time.
            thread::sleep(Duration::from_millis(300));
            (self.safe() == before).then_some(before)
        })
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    pub fn sleep(&self) {
        self.signal("-STOP");
    }

    pub fn wake(&self) {
        self.signal("-CONT");
    }

    pub fn stopped(mut self) -> Node {
        self.signal("-TERM");
        assert!(self.process.wait().unwrap().success(), "{}", self.said.lock().unwrap());
        self
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.is_loading.store(true, SeqCst);
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn dump(dir: &Path) -> Vec<String> {
    let mut child = Command::new(PROGRAM);
    let child = child.arg("dump").arg("--dir").arg(dir).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    let numbered = text.lines().zip(1u64..);
    numbered
        .map(|(line, number)| {
            let mut words = line.splitn(3, ' ');
            assert_eq!(words.next(), Some(number.to_string().as_str()));
            words.nth(1).unwrap_or_default().to_string()
        })
        .collect()
}
