//! Hosts on one machine: each has a network, a name, processes, mounts and a home of its own, and an sshd behind a cable to a
//! switch in the lab. Nothing of it has a name outside, and all of it ends with its first process.
#![allow(dead_code, clippy::unwrap_used)]

pub mod ranks;

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use pickfs_testkit::{install, may_run, skipped, until};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::pickfs::{PICKFS, Said, folder};

/// Whether hosts can be made here, and these programs are there, too.
pub fn has_hosts(programs: &[&str]) -> bool {
    let words = ["--net", "ip", "link", "add", "switch", "type", "bridge"];
    let has_bridges = || Command::new("unshare").args(words).status().is_ok_and(|s| s.success());
    may_run(&[programs, &["ip", "unshare", "nsenter", "sshd", "ssh"]].concat())
        && (has_bridges() || skipped("no network bridges"))
}

pub struct Network {
    first: Child,
    _kept: TempDir,
    pub folder: PathBuf,
}

impl Network {
    /// `planted` is for bash, in the folder: once in the lab, then on each host, with its name as first word.
    pub fn within(hosts: &[&str], planted: &str) -> Network {
        let (kept, folder) = folder();
        fs::create_dir(folder.join("bin")).unwrap();
        let scripts = [
            ("network.sh", include_str!("network.sh")),
            ("host.sh", include_str!("host.sh")),
            ("planted.sh", planted),
            ("bin/ssh", include_str!("ssh.sh")),
        ];
        for (name, content) in scripts {
            install(&folder.join(name), content.as_bytes());
        }
        fs::copy(PICKFS, folder.join("bin/pickfs")).unwrap();
        fs::hard_link(folder.join("bin/pickfs"), folder.join("bin/pickfs.own")).unwrap();
        let mut first = Command::new("unshare");
        first.args(["--net", "--uts", "--mount", "--pid", "--fork", "--kill-child"]);
        first.args(["--mount-proc", "bash"]);
        first.arg(folder.join("network.sh")).arg(&folder).args(hosts);
        let first = first.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let mut network = Network { first, _kept: kept, folder };
        until("cables and hosts", || {
            assert_eq!(network.first.try_wait().unwrap(), None, "the network has ended");
            let is_up = |host: &&str| network.folder.join(host).join("up").exists();
            (network.folder.join("cabled").exists() && hosts.iter().all(is_up)).then_some(())
        });
        let answers = |host: &&str| network.on(host, "true").code == Some(0);
        until("each sshd", || hosts.iter().all(answers).then_some(()));
        network
    }

    /// The process with which all of it ends.
    pub fn first(&self) -> i32 {
        self.first.id() as i32
    }

    /// Processes of which the words hold our folder and are as wanted.
    pub fn processes(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<i32> {
        let place = self.folder.to_str().unwrap();
        let is_ours = |number: &i32| {
            let said = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            let said = String::from_utf8_lossy(&said).replace('\0', " ");
            said.contains(place) && is_wanted(&said)
        };
        numbers().filter(is_ours).collect()
    }

    pub fn process(&self, begin: &str, words: &str) -> i32 {
        let is_it = |said: &str| said.starts_with(begin) && said.contains(words);
        until(words, || self.processes(is_it).first().copied())
    }

    /// The host's own first process, from outside.
    pub fn host(&self, host: &str) -> i32 {
        self.process("unshare ", &format!("/host.sh {host} "))
    }

    /// A command where the switch is.
    pub fn inside(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--uts", "--mount", "--pid", "-t"]);
        command.arg(self.process("bash ", "/network.sh").to_string()).arg("--").args(words);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}/bin:{path}", self.folder.display()));
        command
    }

    /// What the shell of a host says to these words, or that of the lab, within two minutes.
    pub fn on(&self, host: &str, words: &str) -> Said {
        let limit = ["timeout", "--kill-after=10", "120"];
        let ssh = ["ssh", "-o", "ConnectTimeout=10", host, words];
        let mut command = match host {
            "lab" => self.inside(&[&limit[..], &["sh", "-c", words]].concat()),
            _ => self.inside(&[&limit[..], &ssh].concat()),
        };
        command.stdin(Stdio::null()).output().unwrap().into()
    }

    /// To all on a host, or in the lab, that call themselves so, as soon as there is one.
    pub fn signal(&self, name: &str, host: &str, signal: Signal) {
        let own = name_space(if host == "lab" { self.first() } else { self.host(host) });
        let name = format!("{name}\n");
        let is_it = |process: &i32| {
            let said = fs::read_to_string(format!("/proc/{process}/comm"));
            said.is_ok_and(|said| said == name) && name_space(*process) == own
        };
        let send = |process: i32| kill_process(Pid::from_raw(process).unwrap(), signal).is_ok();
        until("the process that gets a signal", || {
            (numbers().filter(is_it).filter(|process| send(*process)).count() > 0).then_some(())
        });
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.first.kill();
        let _ = self.first.wait();
    }
}

fn numbers() -> impl Iterator<Item = i32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
}

/// Of host names: who shares one is on the same host.
pub fn name_space(process: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/uts")).ok()
}
