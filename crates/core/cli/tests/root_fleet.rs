//! A fleet of network namespaces, each with a host name, a home and an sshd of its own; needs root.
#![cfg(feature = "fleet")]
#![allow(clippy::unwrap_used)]

mod lab_session;
mod network;
mod pickfs;

use std::{
    fs,
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use lab_session::kill;
use network::{Network, has_hosts, name_space};
use pickfs::{only_run, reason, record};
use pickfs_record::{Cell, RunRecord};
use pickfs_store::RunFile;
use pickfs_testkit::{only_if, until, with_default_signals};
use rustix::process::{Pid, Signal, kill_process};

const H: [&str; 3] = ["h1", "h2", "h3"];
const PLAN: &str =
    "run quick --fs ext4 --fs ext4:noatime --ram --size 64MiB --warmup 50ms --raw-probe 50ms
    --set sync=fdatasync --set rate=200/s --set file_size=1MiB";

const PAIR: &str =
    "run pair --fs ext4 --fs tmpfs --ram --size 128MiB --blocks 1 --warmup 50ms --raw-probe 50ms
    --set hosts=second --set rate=200/s --set waiting=block --set wait=sleep --set file_size=1MiB";

impl Network {
    /// Programs of ours that run on a host.
    fn runs_on(&self, host: &str) -> usize {
        let (own, program) = (name_space(self.host(host)), self.folder.join("bin/pickfs"));
        let ours = self.processes(|said| said.starts_with(program.to_str().unwrap()));
        ours.into_iter().filter(|process| name_space(*process) == own).count()
    }

    /// The plan on these hosts, started where the switch is.
    fn start(&self, hosts: &[&str], measure: &str) -> Child {
        fs::write(self.folder.join("hosts"), hosts.join("\n")).unwrap();
        let mut command = self.program(&format!("{PLAN} --blocks 1 --measure {measure}"));
        command
            .arg("--hosts-program")
            .arg(self.folder.join("bin/pickfs"))
            .arg("--hosts")
            .arg(self.folder.join("hosts"));
        command.spawn().unwrap()
    }

    /// The program where the switch is.
    fn program(&self, words: &str) -> Command {
        let program = self.folder.join("bin/pickfs.own");
        let mut command = self.inside(&[program.to_str().unwrap()]);
        command.args(words.split_whitespace()).arg("--out").arg(self.folder.join("out"));
        let said = |name: &str| fs::File::create(self.folder.join(name)).unwrap();
        command.stdin(Stdio::null()).stdout(said("stdout")).stderr(said("stderr")).process_group(0);
        with_default_signals(&mut command);
        command
    }

    /// The same with a second host, to which `ssh` leads.
    fn start_beside(&self, host: &str, more: &str) -> Child {
        let mut command = self.program(&format!("{PAIR} {more}"));
        let program = self.folder.join("bin/pickfs");
        let ssh = "ssh -T -o BatchMode=yes -o ConnectTimeout=10";
        command.env("PICKFS_SECOND_HOST", format!("{ssh} {host} {}", program.display()));
        command.spawn().unwrap()
    }

    fn said(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap()
    }

    fn wait_for(&self, words: &str) {
        until(words, || self.said("stderr").contains(words).then_some(()));
    }

    fn record(&self, host: &str) -> RunRecord {
        let path = only_run(&self.folder.join("out")).join(format!("{host}.pickfs"));
        RunFile::open(&path).and_then(|file| file.read()).unwrap()
    }

    fn assert_hosts_are_clean(&self, hosts: &[&str]) {
        until("the end of what ran and was mounted on the hosts", || {
            let is_mounted = |process: &i32| {
                let mounts = fs::read_to_string(format!("/proc/{process}/mountinfo"));
                mounts.is_ok_and(|mounts| mounts.contains("/pickfs-runs/"))
            };
            let runs: usize = hosts.iter().map(|host| self.runs_on(host)).sum();
            (runs == 0 && !self.processes(|_| true).iter().any(is_mounted)).then_some(())
        });
    }
}

fn may_run_here() -> bool {
    has_hosts(&["/dev/loop-control"])
}

/// One that dies as a machine does, one without a route: the others' runs come, and are judged.
#[test]
fn hosts_that_die_or_cannot_be_reached_are_lost_and_no_other() {
    only_if!(may_run_here());
    let network = Network::within(&H, "");
    let [h1, h2, h3] = H;
    let mut run = network.start(&[h1, h2, h3, "10.99.0.9"], "2s");
    network.wait_for(&format!("{h3}  block 1  "));
    kill(network.host(h3));
    let status = until("the end of the run", || run.try_wait().unwrap());
    let (out, err) = (network.said("stdout"), network.said("stderr"));
    assert_eq!(status.code(), Some(3), "{out}{err}");
    assert!(out.starts_with("2 of 4 hosts came back; "), "{out}{err}");
    for (host, why) in [(h3, "ssh "), ("10.99.0.9", "ssh ended with code 255: ")] {
        assert!(out.contains(&format!("\nlost      {host}: {why}")), "{host}: {out}");
    }
    assert!(out.contains(" 1 run, 1 block\n"), "they are judged as a fleet: {out}");
    network.assert_hosts_are_clean(&[h1, h2]);
}

/// Of three hosts one's ssh is killed, then somebody interrupts the whole. No run goes on anywhere.
#[test]
fn a_line_that_is_cut_and_an_interrupt_end_the_runs_on_their_hosts() {
    only_if!(may_run_here());
    let hosts @ [h1, h2, h3] = H;
    let network = Network::within(&hosts, "");
    let mut run = network.start(&hosts, "60s");
    hosts.iter().for_each(|host| network.wait_for(&format!("{host}  block 1  ")));
    kill(network.process("/usr/bin/ssh ", &format!(" -- {h2} ")));
    network.wait_for(&format!("{h2}  LOST: ssh was ended by signal 9"));
    until("the end of the run there", || (network.runs_on(h2) == 0).then_some(()));
    assert!(network.runs_on(h1) > 0 && network.runs_on(h3) > 0, "theirs go on");
    let here = network.process(network.folder.join("bin/pickfs.own").to_str().unwrap(), " run ");
    kill_process(Pid::from_raw(here).unwrap(), Signal::INT).unwrap();
    let status = until("the end of the whole", || run.try_wait().unwrap());
    let (out, err) = (network.said("stdout"), network.said("stderr"));
    assert_eq!(status.code(), Some(130), "{out}{err}");
    assert!(out.starts_with("2 of 3 hosts came back; "), "{out}{err}");
    assert_eq!(network.record(h3).ended.unwrap().how, "interrupted");
    network.assert_hosts_are_clean(&hosts);
}

/// Folders that roles of a pair have made on a host.
fn made_on(network: &Network, host: &str) -> Vec<String> {
    let names = fs::read_dir(network.folder.join(host)).unwrap().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("pickfs-pair-")).collect()
}

#[test]
fn a_pair_between_two_hosts_stands_beside_the_bare_round_trip_of_their_link() {
    only_if!(may_run_here());
    let network = Network::within(&H[..1], "");
    let mut run = network.start_beside(H[0], "--measure 300ms");
    until("the end of the run", || run.try_wait().unwrap());
    let said = network.said("stdout") + &network.said("stderr");
    let run = record(&only_run(&network.folder.join("out")));
    let of = |label: &str, medium: &str| {
        let is_it = |cell: &&Cell| {
            cell.candidate.label == label && cell.workload.params["medium"] == medium
        };
        let cell = run.cells.iter().find(is_it).unwrap();
        let trial = run.trials.iter().find(|trial| trial.cell == cell.id).unwrap();
        assert_eq!(reason(trial), "", "{label} {medium}: {said}");
        let is_told = trial.notes.iter().any(|note| note.contains("between two hosts"));
        assert!(is_told, "{label} {medium}: {:?}", trial.notes);
        let count = |name: &str| trial.op(name).map_or(0, |op| op.service.count);
        ["journal", "wire", "gate", "processed"].map(count)
    };
    for label in ["ext4", "tmpfs"] {
        let counts = of(label, "pair");
        assert!(counts.iter().all(|count| *count > 0), "{label}: {counts:?}");
    }
    for medium in ["tcp", "udp"] {
        let [journal, wire, ..] = of("tmpfs", medium);
        assert!(journal == 0 && wire > 0, "{medium}: {journal} {wire}");
    }
    until("the end of all roles", || (network.runs_on(H[0]) == 0).then_some(()));
    assert_eq!(made_on(&network, H[0]), [""; 0]);
}

/// The link is down while a pair measures, then while one begins.
#[test]
fn a_second_host_that_is_out_of_reach_fails_its_trials_with_the_reason() {
    only_if!(may_run_here());
    let network = Network::within(&H[..1], "");
    let mut run = network.start_beside(H[0], "--measure 60s --set medium=pair");
    until("messages there", || {
        let store = network.folder.join(H[0]).join(made_on(&network, H[0]).pop()?);
        let files = fs::read_dir(store.join("pair-0/secondary-2/store")).ok()?.flatten();
        let mut files = files.filter_map(|file| fs::read(file.path()).ok());
        let holds_many = |file: Vec<u8>| file.iter().filter(|byte| **byte != 0).count() > 20_000;
        files.any(holds_many).then_some(())
    });
    let down = network.on("lab", "ip link set switch down");
    assert_eq!(down.code, Some(0), "{down:?}");
    until("the end of the run", || run.try_wait().unwrap());
    let run = record(&only_run(&network.folder.join("out")));
    let [parted, begun] = [0, 1].map(|at| reason(&run.trials[at]));
    assert!(parted.contains("too few secondaries have it"), "{parted}");
    assert!(begun.contains("secondary-2: it ended before its answer; it said: ssh: "), "{begun}");
}

/// The line to the second host is cut while it measures, and the first program is killed: nobody's role goes on.
#[test]
fn a_pair_whose_line_is_cut_fails_its_trial_and_leaves_nothing_on_the_second_host() {
    only_if!(may_run_here());
    let network = Network::within(&H[..1], "");
    let mut run = network.start_beside(H[0], "--measure 60s --set medium=pair");
    let follows = || until("a store there", || made_on(&network, H[0]).pop());
    let first = follows();
    kill(network.process("/usr/bin/ssh ", &format!(" {} ", H[0])));
    until("the end of that role", || (!made_on(&network, H[0]).contains(&first)).then_some(()));
    follows();
    for process in network.processes(|said| said.contains("pickfs.own run pair")) {
        let _ = kill_process(Pid::from_raw(process).unwrap(), Signal::KILL);
    }
    until("the end of the first program", || run.try_wait().unwrap());
    let run = record(&only_run(&network.folder.join("out")));
    assert!(reason(&run.trials[0]).contains("secondar"), "{:?}", run.trials[0].outcome);
    until("the end of all roles", || {
        (network.runs_on(H[0]) == 0 && made_on(&network, H[0]).is_empty()).then_some(())
    });
}
