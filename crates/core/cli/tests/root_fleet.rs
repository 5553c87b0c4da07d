//! A fleet of network namespaces, each with a host name, a home and an sshd of its own; needs root.
#![cfg(feature = "fleet")]
#![allow(clippy::unwrap_used)]

mod lab_session;
mod pickfs;
mod slow_disk;

use std::{
    fs,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use lab_session::{as_if_alone, kill, may_run};
use pickfs::{PICKFS, folder, only_run, reason, record};
use pickfs_analysis::{
    compare::{Named, compare},
    findings,
};
use pickfs_record::{Cell, RunRecord, TrialRecord};
use pickfs_store::RunFile;
use pickfs_testkit::{install, only_if, skipped, until, with_default_signals};
use rustix::process::{Pid, Signal, kill_process};
use slow_disk::SlowDisk;

/// A network with a switch; each host, named by its address, behind a cable to it. Nothing of it has a name outside, and
/// all of it ends with its first process.
const NETWORK: &str = r#"set -e
cd "$1"; shift
[ ! -e planted.sh ] || sh planted.sh here
ip link set lo up
ip link add switch type bridge
ip address add 10.99.0.100/24 dev switch
ip link set switch up
for host in "$@"; do
  unshare --net --uts --mount --pid --fork --kill-child --mount-proc sh "$PWD/host.sh" "$host" "$PWD" &
  pid=$!
  until [ "$(readlink /proc/$pid/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
  ip link add "to-$host" type veth peer name cable netns $pid
  ip link set "to-$host" master switch up
done
touch cabled
wait
"#;

const HOST: &str = r#"set -e
hostname "$1"
until ip link show cable >/dev/null 2>&1; do sleep 0.02; done
ip link set lo up
ip address add "$1/24" dev cable
ip link set cable up
mkdir -p "$2/$1"
mount --bind "$2/$1" /root
mount -t tmpfs tmpfs /run
mkdir -p /run/sshd
[ ! -e "$2/planted.sh" ] || sh "$2/planted.sh" "$1"
if [ "$1" = 10.99.0.4 ]; then mount --bind "$2/other-build" "$2/bin/pickfs"; fi
touch "$2/$1/up"
exec "$(PATH="$PATH:/usr/sbin" command -v sshd)" -D -e -f /dev/null -h "$2/host-key" -o PidFile=none -o UsePAM=no \
  -o AuthorizedKeysFile="$2/key.pub" -o StrictModes=no -o PermitRootLogin=yes -o UseDNS=no \
  -o SetEnv=PICKFS_STATE_DIR=/root/state 2>>"$2/$1/sshd.log"
"#;

/// The build that it says is another one.
const OTHER_BUILD: &str = r#"#!/bin/sh
"$0.own" "$@" | sed -u 's/"hello".*"build":"[^"]*/&.other/'
"#;

/// No host of these is known to ssh, and nothing of who runs the test is used.
const SSH: &str = r#"#!/bin/sh
exec /usr/bin/ssh -F none -i "${0%/bin/ssh}/key" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
  -o IdentityAgent=none -o LogLevel=ERROR "$@"
"#;

const H: [&str; 4] = ["10.99.0.1", "10.99.0.2", "10.99.0.3", "10.99.0.4"];
const PLAN: &str =
    "run quick --fs ext4 --fs ext4:noatime --ram --size 64MiB --warmup 50ms --raw-probe 50ms
    --set sync=fdatasync --set rate=200/s --set file_size=1MiB";

const PAIR: &str =
    "run pair --fs ext4 --fs tmpfs --ram --size 128MiB --blocks 1 --warmup 50ms --raw-probe 50ms
    --set hosts=second --set rate=200/s --set waiting=block --set wait=sleep --set file_size=1MiB";

struct Network {
    first: Child,
    _kept: tempfile::TempDir,
    folder: PathBuf,
}

impl Network {
    fn with(hosts: &[&str]) -> Network {
        Network::within(folder(), hosts)
    }

    fn within((kept, folder): (tempfile::TempDir, PathBuf), hosts: &[&str]) -> Network {
        fs::create_dir(folder.join("bin")).unwrap();
        let scripts = [
            ("network.sh", NETWORK),
            ("host.sh", HOST),
            ("other-build", OTHER_BUILD),
            ("bin/ssh", SSH),
        ];
        for (name, content) in scripts {
            install(&folder.join(name), content.as_bytes());
        }
        fs::copy(PICKFS, folder.join("bin/pickfs")).unwrap();
        fs::hard_link(folder.join("bin/pickfs"), folder.join("bin/pickfs.own")).unwrap();
        for key in ["key", "host-key"] {
            let mut made = Command::new("ssh-keygen");
            made.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(key));
            assert!(made.status().unwrap().success());
        }
        let mut first = Command::new("unshare");
        first.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash"]);
        first.arg(folder.join("network.sh")).arg(&folder).args(hosts);
        let first = first.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let network = Network { first, _kept: kept, folder };
        until("cables and hosts", || {
            let is_up = |host: &&str| network.folder.join(host).join("up").exists();
            (network.folder.join("cabled").exists() && hosts.iter().all(is_up)).then_some(())
        });
        network
    }

    /// Processes of which the words hold our folder and are as wanted.
    fn processes(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<i32> {
        let place = self.folder.to_str().unwrap();
        let all = fs::read_dir("/proc").unwrap().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let is_ours = |number: &i32| {
            let said = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            let said = String::from_utf8_lossy(&said).replace('\0', " ");
            said.contains(place) && is_wanted(&said)
        };
        numbers.filter(is_ours).collect()
    }

    fn process(&self, begin: &str, words: &str) -> i32 {
        let is_it = |said: &str| said.starts_with(begin) && said.contains(words);
        until(words, || self.processes(is_it).first().copied())
    }

    /// The host's own first process, from outside.
    fn host(&self, host: &str) -> i32 {
        self.process("unshare ", &format!("/host.sh {host} "))
    }

    /// Programs of ours that run on a host.
    fn runs_on(&self, host: &str) -> usize {
        let name = |process: i32| fs::read_link(format!("/proc/{process}/ns/uts")).ok();
        let (own, program) = (name(self.host(host)), self.folder.join("bin/pickfs"));
        let ours = self.processes(|said| said.starts_with(program.to_str().unwrap()));
        ours.into_iter().filter(|process| name(*process) == own).count()
    }

    fn start(&self, hosts: &[&str], measure: &str) -> Child {
        self.start_with(hosts, &format!("{PLAN} --blocks 1 --measure {measure}"))
    }

    /// A plan on these hosts, started where the switch is.
    fn start_with(&self, hosts: &[&str], words: &str) -> Child {
        fs::write(self.folder.join("hosts"), hosts.join("\n")).unwrap();
        let mut command = self.inside(words);
        command
            .arg("--hosts-program")
            .arg(self.folder.join("bin/pickfs"))
            .arg("--hosts")
            .arg(self.folder.join("hosts"));
        command.spawn().unwrap()
    }

    /// The program where the switch is.
    fn inside(&self, words: &str) -> Command {
        let inside = self.process("bash ", "/network.sh");
        let mut command = Command::new("nsenter");
        command.args(["--net", "--mount", "--pid", "-t", &inside.to_string()]);
        command.arg(self.folder.join("bin/pickfs.own")).args(words.split_whitespace());
        command.arg("--out").arg(self.folder.join("out"));
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}/bin:{path}", self.folder.display()));
        let said = |name: &str| fs::File::create(self.folder.join(name)).unwrap();
        command.stdin(Stdio::null()).stdout(said("stdout")).stderr(said("stderr")).process_group(0);
        with_default_signals(&mut command);
        command
    }

    /// The same with a second host, to which `ssh` leads.
    fn start_beside(&self, host: &str, more: &str) -> Child {
        let mut command = self.inside(&format!("{PAIR} {more}"));
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

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.first.kill();
        let _ = self.first.wait();
    }
}

fn may_run_here() -> bool {
    let words = ["--net", "ip", "link", "add", "switch", "type", "bridge"];
    let has_bridges = || Command::new("unshare").args(words).status().is_ok_and(|s| s.success());
    may_run(&["ip", "sshd", "ssh", "nsenter"]) && (has_bridges() || skipped("no network bridges"))
}

/// One that dies as a machine does, one without a route, one of another build: the others' runs come, and are judged.
#[test]
fn hosts_that_die_or_cannot_be_reached_or_are_of_another_build_are_lost_and_no_other() {
    only_if!(may_run_here());
    let network = Network::with(&H);
    let [h1, h2, h3, h4] = H;
    let mut run = network.start(&[h1, h2, h3, h4, "10.99.0.9"], "2s");
    network.wait_for(&format!("{h3}  block 1  "));
    kill(network.host(h3));
    let status = until("the end of the run", || run.try_wait().unwrap());
    let (out, err) = (network.said("stdout"), network.said("stderr"));
    assert_eq!(status.code(), Some(3), "{out}{err}");
    assert!(out.starts_with("2 of 5 hosts came back; "), "{out}{err}");
    for (host, why) in
        [(h3, "ssh "), (h4, "another build, "), ("10.99.0.9", "ssh ended with code 255: ")]
    {
        assert!(out.contains(&format!("\nlost      {host}: {why}")), "{host}: {out}");
    }
    assert!(out.contains(" 1 run, 1 block\n"), "they are judged as a fleet: {out}");
    network.assert_hosts_are_clean(&[h1, h2, h4]);
}

/// Of three hosts one's ssh is killed, then somebody interrupts the whole. No run goes on anywhere.
#[test]
fn a_line_that_is_cut_and_an_interrupt_end_the_runs_on_their_hosts() {
    only_if!(may_run_here());
    let hosts @ [h1, h2, h3] = [H[0], H[1], H[2]];
    let network = Network::with(&hosts);
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

/// As many as three hosts need who share an error. Others may end a run that they disturb after two: then more follow.
const BLOCKS: u32 = 8;

/// Nothing in it waits for a machine that is busy, and no operation is shorter for one.
const PLANTED: &str = r#"name = "planted"
question = "Which one?"
workload = "journal"
candidates = ["ext4"]
params = { sync = "fdatasync", arrival = "closed", pause = "2ms", file_size = "1MiB" }
[design]
blocks = 8
reference = "ext4"
primary = [{ op = "durable", statistic = "min" }]
[timing]
raw_probe = "0ms"
warmup = "50ms"
measure = "400ms"
settle = "0s"
"#;

/// The first blocks of all runs of a host as one, in which nobody was beside it.
fn joined(network: &Network, host: &str) -> RunRecord {
    let folders = fs::read_dir(network.folder.join("out")).unwrap().flatten();
    let files = folders.map(|folder| folder.path().join(format!("{host}.pickfs")));
    let mut runs = files.map(|file| RunFile::open(&file).and_then(|file| file.read()).unwrap());
    let mut all = runs.next().unwrap();
    for run in runs {
        let before = all.trials.iter().map(|trial| trial.block).max().unwrap();
        let later = |trial: TrialRecord| TrialRecord { block: trial.block + before, ..trial };
        all.trials.extend(run.trials.into_iter().map(later));
    }
    all.trials.retain(|trial| trial.block <= BLOCKS);
    as_if_alone(&mut all);
    all
}

/// Two disks of which one flushes more slowly than others slow down: on one of three hosts it stands in the place of the
/// other.
#[test]
#[ignore = "80 s on an idle machine, minutes on another: ./test --ring heavy"]
fn a_choice_that_is_a_loss_on_one_host_is_said_not_to_hold_there() {
    only_if!(may_run_here() && may_run(&["mkfs.ext4", "losetup", "/dev/fuse"]));
    let disks = [SlowDisk::mount(512 << 20), SlowDisk::mount(512 << 20)];
    let attached = disks.each_ref().map(SlowDisk::attach);
    for disk in &attached {
        let made = Command::new("mkfs.ext4").args(["-q", "-F", disk.path()]).status().unwrap();
        assert!(made.success());
    }
    disks[1].set_flush_ms(100);
    let (kept, place) = folder();
    let [one, two] = ["one", "two"].map(|name| place.join(name).to_str().unwrap().to_owned());
    let [quick, slow] = attached.each_ref().map(|disk| disk.path());
    let [h1, h2, h3] = [H[0], H[1], H[2]];
    let planted = format!(
        "set -e\ncase $1 in\nhere) mount {quick} {one}; mount {slow} {two} ;;\n\
         {h3}) mount {slow} {one}; mount {quick} {two} ;;\nesac\n"
    );
    fs::write(place.join("planted.sh"), planted).unwrap();
    [&one, &two].iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let network = Network::within((kept, place), &[h1, h2, h3]);
    let plan = network.folder.join("planted.toml");
    fs::write(&plan, PLANTED).unwrap();
    let words = format!("run {} --yes --dir {one} --dir {two}", plan.display());
    let runs = (0..BLOCKS / 2).find_map(|_| {
        let mut run = network.start_with(&[h1, h2, h3], &words);
        until("the end of a run", || run.try_wait().unwrap());
        let (out, err) = (network.said("stdout"), network.said("stderr"));
        assert!(out.starts_with("3 of 3 hosts came back; "), "{out}{err}");
        let runs = [h1, h2, h3].map(|host| joined(&network, host));
        let blocks = |run: &RunRecord| run.trials.iter().map(|trial| trial.block).max();
        runs.iter().all(|run| blocks(run) == Some(BLOCKS)).then_some(runs)
    });
    let runs = runs.unwrap();
    let found = runs.each_ref().map(findings);
    let named = [h1, h2, h3].into_iter().zip(&runs).zip(&found);
    let named = named.map(|((name, run), findings)| Named { name, run, findings });
    let fleet = compare(&named.collect::<Vec<_>>()).fleet.unwrap();
    let verdict = format!(
        "By their own blocks ext4 on {one} is ahead of ext4 on {two} on 2 of 3 hosts, behind on 1 ({h3})."
    );
    assert!(fleet.answers[0].sentence.ends_with(&verdict), "{fleet:?}");
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
    let network = Network::with(&H[..1]);
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

#[test]
fn a_second_host_of_another_build_is_refused() {
    only_if!(may_run_here());
    let network = Network::with(&H[3..]);
    let mut run = network.start_beside(H[3], "--set medium=pair");
    until("the end of the run", || run.try_wait().unwrap());
    let run = record(&only_run(&network.folder.join("out")));
    let why = reason(&run.trials[0]);
    assert!(
        why.contains(".other (format ") && why.ends_with("install the same build there"),
        "{why}"
    );
}

/// The link is down while a pair measures, then while one begins.
#[test]
fn a_second_host_that_is_out_of_reach_fails_its_trials_with_the_reason() {
    only_if!(may_run_here());
    let network = Network::with(&H[..1]);
    let mut run = network.start_beside(H[0], "--measure 60s --set medium=pair");
    until("messages there", || {
        let store = network.folder.join(H[0]).join(made_on(&network, H[0]).pop()?);
        let files = fs::read_dir(store.join("pair-0/secondary-2/store")).ok()?.flatten();
        let mut files = files.filter_map(|file| fs::read(file.path()).ok());
        let holds_many = |file: Vec<u8>| file.iter().filter(|byte| **byte != 0).count() > 20_000;
        files.any(holds_many).then_some(())
    });
    let mut down = Command::new("nsenter");
    down.args(["--net", "-t", &network.process("bash ", "/network.sh").to_string()]);
    assert!(down.args(["ip", "link", "set", "switch", "down"]).status().unwrap().success());
    until("the end of the run", || run.try_wait().unwrap());
    let run = record(&only_run(&network.folder.join("out")));
    let [parted, begun] = [0, 1].map(|at| reason(&run.trials[at]));
    assert!(parted.contains("too few secondaries have it"), "{parted}");
    assert!(begun.contains("secondary-2: it ended without a word: ssh: "), "{begun}");
}

/// The line to the second host is cut while it measures, and the first program is killed: nobody's role goes on.
#[test]
fn a_pair_whose_line_is_cut_fails_its_trial_and_leaves_nothing_on_the_second_host() {
    only_if!(may_run_here());
    let network = Network::with(&H[..1]);
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
