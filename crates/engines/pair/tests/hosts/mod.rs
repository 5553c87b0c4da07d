//! Nodes of a pair as programs, on hosts of their own: addresses of the loopback, or two network namespaces with a cable
//! between them. All of it goes away when it is dropped, also when a test fails.
#![allow(dead_code, clippy::unwrap_used)]

use std::{
    io::Write,
    path::PathBuf,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU16, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use pickfs_testkit::{Dice, Program, until};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_pickfs-pair");

pub fn scrambled(value: u64) -> u64 {
    Dice::new(value).bits()
}

/// Sent in this round.
pub fn line(round: u64, number: u64) -> String {
    let length = (scrambled(round << 32 | number) % 300) as usize;
    format!("round {round} message {number} {}", "x".repeat(length))
}

fn ip(words: &str) {
    let output = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Nodes are numbered from 1.
pub struct Hosts {
    dir: TempDir,
    count: u8,
    port: u16,
    /// What the names of the namespaces begin with, where there are any.
    space: Option<String>,
}

impl Hosts {
    pub fn new(count: u8) -> Hosts {
        static PORT: AtomicU16 = AtomicU16::new(7340);
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Hosts { dir, count, port: PORT.fetch_add(1, SeqCst), space: None }
    }

    /// Two of them.
    pub fn apart() -> Hosts {
        let mut hosts = Hosts::new(2);
        let space = format!("pkp{}n{}", std::process::id(), hosts.port);
        (1..=2).for_each(|host| ip(&format!("netns add {space}{host}")));
        // Both ends are made inside: nothing of it is ever seen outside.
        ip(&format!("-n {space}1 link add cable type veth peer name cable netns {space}2"));
        for host in 1..=2 {
            ip(&format!("-n {space}{host} addr add 10.213.77.{host}/24 dev cable"));
            ip(&format!("-n {space}{host} link set cable up"));
            ip(&format!("-n {space}{host} link set lo up"));
        }
        hosts.space = Some(space);
        hosts
    }

    pub fn plug(&self, state: &str) {
        ip(&format!("-n {}1 link set cable {state}", self.space.as_deref().unwrap()));
    }

    pub fn dir(&self, host: u8) -> PathBuf {
        self.dir.path().join(format!("node-{host}"))
    }

    /// One that no other process uses.
    fn address(&self, host: u8) -> String {
        let [.., high, low] = std::process::id().to_be_bytes();
        match self.space {
            Some(_) => format!("10.213.77.{host}:{}", self.port),
            None => format!("127.{}.{low}.{host}:{}", 100 + high % 100, self.port),
        }
    }

    fn start(&self, host: u8, verb: &str, words: &[&str]) -> Node {
        let mut command = Command::new(if self.space.is_some() { "ip" } else { PROGRAM });
        if let Some(space) = &self.space {
            command.args(["netns", "exec", &format!("{space}{host}"), PROGRAM]);
        }
        command.arg(verb).arg("--dir").arg(self.dir(host)).args(words);
        command.args(["--file-bytes", "1048576", "--node", &host.to_string()]);
        for other in (1..=self.count).filter(|other| *other != host) {
            command.args(["--secondary", &self.address(other)]);
        }
        Node { host, program: Program::start(&mut command), is_loading: Arc::default() }
    }

    pub fn primary(&self, host: u8, words: &[&str]) -> Node {
        self.start(host, "primary", words)
    }

    /// One that becomes the primary of the others when it is promoted.
    pub fn secondary(&self, host: u8, words: &[&str]) -> Node {
        let own = ["--listen", &self.address(host), "--on-diverged", "set-aside"];
        self.start(host, "secondary", &[words, &own].concat())
    }

    pub fn promote(&self, host: u8) {
        let mut command = Command::new(PROGRAM);
        command.args(["promote", "--dir"]).arg(self.dir(host));
        Program::start(&mut command).until("promoted: epoch");
    }

    /// What a node keeps.
    pub fn dump(&self, host: u8) -> Vec<String> {
        let output = Command::new(PROGRAM).args(["dump", "--dir"]).arg(self.dir(host)).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let numbered = |(number, line): (usize, &str)| {
            let mut words = line.splitn(3, ' ');
            assert_eq!(words.next(), Some(&*(number + 1).to_string()));
            words.nth(1).unwrap_or_default().to_string()
        };
        String::from_utf8(output.stdout).unwrap().lines().enumerate().map(numbered).collect()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for space in self.space.iter().flat_map(|space| [1, 2].map(|host| format!("{space}{host}")))
        {
            let _ = Command::new("ip").args(["netns", "del", &space]).status();
        }
    }
}

pub struct Node {
    pub host: u8,
    pub program: Program,
    is_loading: Arc<AtomicBool>,
}

impl Node {
    /// Gives the last message before its reign.
    pub fn ready(&self) -> u64 {
        self.program.until("ready: epoch ").rsplit(' ').next().unwrap().parse().unwrap()
    }

    pub fn safe(&self) -> u64 {
        let said = self.program.said();
        let last = said.rsplit_once("\nsafe ").and_then(|(_, last)| last.lines().next());
        last.map_or(0, |last| last.parse().unwrap())
    }

    pub fn wait_safe(&self, sequence: u64) {
        let step = format!("safe {sequence} of node {}", self.host);
        self.program.until_said(&step, |said| {
            let (_, last) = said.rsplit_once("\nsafe ")?;
            (last.lines().next()?.parse::<u64>().unwrap() >= sequence).then_some(())
        });
    }

    /// Until the last thing that it said is one of these.
    pub fn wait_said_last(&self, words: &[&str]) {
        let is_one = |line: &str| words.iter().any(|words| line.contains(words));
        self.program.until_said(words[0], |said| is_one(said.lines().last()?).then_some(()));
    }

    pub fn wait_said_again(&self, words: &str) {
        self.program.until_said(words, |said| said.matches(words).nth(1).map(drop));
    }

    /// As fast as they are taken, until it dies or the load is paused.
    pub fn load(&mut self, round: u64) {
        let mut stdin = self.program.child.stdin.take().unwrap();
        self.is_loading.store(true, SeqCst);
        let is_loading = Arc::clone(&self.is_loading);
        thread::spawn(move || {
            for number in 1.. {
                if writeln!(stdin, "{}", line(round, number)).is_err() {
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

    /// Gives the last message that it had acknowledged.
    pub fn kill(&mut self) -> u64 {
        self.program.kill();
        self.safe()
    }

    /// Waits until nothing more is acknowledged, although messages come; gives the last that was.
    pub fn settled(&self) -> u64 {
        until("end of acknowledgements", || {
            let before = self.safe();
            // SLEEP: at full speed there are thousands in this time.
            thread::sleep(Duration::from_millis(300));
            (self.safe() == before).then_some(before)
        })
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.program.child), signal).unwrap();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.is_loading.store(true, SeqCst);
    }
}
