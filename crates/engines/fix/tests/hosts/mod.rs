//! Two addresses of the loopback that are two hosts, each with a directory of its own, and the engines that run there.

#![allow(dead_code, clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU16, Ordering::Relaxed},
};
use std::thread;
use std::time::{Duration, Instant};

use pickfs_pair::request_promotion;
use tempfile::TempDir;

pub const LONG: Duration = pickfs_testkit::PATIENCE;
pub const FIRST: u8 = 1;
pub const SECOND: u8 = 2;

pub struct Hosts {
    directory: TempDir,
    degree: &'static str,
    port: u16,
}

impl Hosts {
    pub fn new(degree: &'static str) -> Hosts {
        static PORT: AtomicU16 = AtomicU16::new(7310);
        let port = PORT.fetch_add(1, Relaxed);
        Hosts { directory: tempfile::tempdir().unwrap(), degree, port }
    }

    pub fn directory(&self, host: u8) -> PathBuf {
        self.directory.path().join(format!("host-{host}"))
    }

    /// An address that no other process uses, so that nobody takes its port while nobody listens there.
    pub fn address(&self, host: u8) -> String {
        let [.., high, low] = std::process::id().to_be_bytes();
        format!("127.{}.{low}.{host}:{}", 100 + high % 100, self.port)
    }

    pub fn start(&self, host: u8, words: &[&str]) -> Running {
        self.start_beside(host, &self.address(FIRST + SECOND - host), words)
    }

    /// One whose secondary is at another address than its host's.
    pub fn start_beside(&self, host: u8, other: &str, words: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fix-engine"));
        command.arg(self.directory(host)).args(["--store", "pair", "--file-bytes", "1048576"]);
        command.args(["--node", &host.to_string(), "--secondary", other]);
        command.args(["--degree", self.degree, "--patience", "60000"]).args(words);
        Running::start(host, &mut command)
    }

    pub fn primary(&self, host: u8) -> Running {
        self.start(host, &[])
    }

    pub fn standby(&self, host: u8) -> Running {
        let words = ["--follow", &self.address(host), "--on-diverged", "set-aside"];
        let standby = self.start(host, &words);
        standby.until("following at ");
        standby
    }

    pub fn standby_beside_promotion(&self, dead: u8, promoted: u8) -> Running {
        self.promote(promoted);
        self.standby(dead)
    }

    pub fn promote(&self, host: u8) {
        request_promotion(&self.directory(host).join("pair"), LONG).unwrap();
    }
}

pub struct Running {
    pub host: u8,
    pub child: Child,
    said: Arc<Mutex<String>>,
}

impl Running {
    fn start(host: u8, command: &mut Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::<Mutex<String>>::default();
        listen(child.stdout.take().unwrap(), &said);
        listen(child.stderr.take().unwrap(), &said);
        Running { host, child, said }
    }

    pub fn until(&self, words: &str) -> String {
        let began = Instant::now();
        loop {
            let said = self.said.lock().unwrap().clone();
            if let Some((_, behind)) = said.split_once(words) {
                return behind.lines().next().unwrap_or_default().into();
            }
            assert!(began.elapsed() < LONG, "host {}: no `{words}`, but:\n{said}", self.host);
            // SLEEP: between two looks.
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn listening(&self) -> SocketAddr {
        self.until("listening on ").parse().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whole lines alone are told.
fn listen(stream: impl Read + Send + 'static, said: &Arc<Mutex<String>>) {
    let said = Arc::clone(said);
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let mut said = said.lock().unwrap();
            said.push_str(&line);
            said.push('\n');
        }
    });
}
