//! `run --hosts` with an ssh that starts the program here: no root, no network, and all hosts are one machine.

use std::{
    env, fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    lab_session::{assert_nothing_is_left, kill, tree_of},
    pickfs::{PICKFS, Said, command, folder, only_run, pickfs, typed},
};
use pickfs_record::RunRecord;
use pickfs_store::RunFile;
use pickfs_testkit::{install, until, with_default_signals};
use rustix::process::{Pid, Signal, kill_process};

const SHORT: &str =
    "run quick --blocks 1 --warmup 20ms --raw-probe 50ms --set sync=fdatasync --set rate=200/s
    --set file_size=256KiB";
/// Host `gone` cannot be reached, `other` is of another build.
const SSH: &str = r#"#!/bin/sh
[ "$1 $2 $3 $4" = "-T -o BatchMode=yes --" ] || exit 99
host=$5
shift 5
[ "$host" != gone ] || { echo "no route to gone" >&2; exit 255; }
mkdir -p "$BED/$host" && cd "$BED/$host" || exit 98
[ "$host" != other ] || { sh -c "$*" | sed -u 's/"hello":{"build":"[^"]*/&.other/'; exit; }
exec sh -c "$*"
"#;

struct Bed {
    _kept: tempfile::TempDir,
    folder: PathBuf,
    hosts: String,
}

impl Bed {
    fn new(hosts: &str) -> Bed {
        let (kept, folder) = folder();
        fs::create_dir(folder.join("bin")).unwrap();
        fs::create_dir(folder.join("data")).unwrap();
        install(&folder.join("bin/ssh"), SSH.as_bytes());
        let list = folder.join("hosts");
        fs::write(&list, hosts.replace(' ', "\n")).unwrap();
        let hosts = list.to_str().unwrap().to_owned();
        Bed { _kept: kept, folder, hosts }
    }

    fn command(&self, measure: &str) -> Command {
        let [data, out] = ["data", "out"].map(|name| self.folder.join(name));
        let mut command = command(&typed(SHORT));
        command.args(["--measure", measure, "--hosts", &self.hosts, "--hosts-program", PICKFS]);
        command.arg("--dir").arg(data).arg("--out").arg(out).env("BED", &self.folder);
        let path = env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.folder.join("bin").display()));
        command
    }

    fn said(&self) -> Said {
        self.command("200ms").output().unwrap().into()
    }

    /// Starts it, and waits until each of these hosts measures.
    fn measuring(&self, hosts: &[&str]) -> std::process::Child {
        let mut command = self.command("60s");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let child = with_default_signals(&mut command).spawn().unwrap();
        until("each host measures", || {
            let measures = |process: &i32| is_worker(*process);
            let workers = tree_of(child.id() as i32).into_keys().filter(measures).count();
            (workers >= hosts.len()).then_some(())
        });
        child
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(only_run(&self.folder.join("out"))).unwrap().flatten();
        let mut names: Vec<_> = entries.map(|e| e.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn read(&self, name: &str) -> RunRecord {
        let path = only_run(&self.folder.join("out")).join(name);
        RunFile::open(&path).unwrap().read().unwrap()
    }
}

fn is_worker(process: i32) -> bool {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    name.starts_with("pickfs-worker")
}

fn is_fleet(path: &Path) -> bool {
    path.file_name().unwrap().to_str().unwrap().ends_with("-quick-fleet")
}

#[test]
fn each_host_runs_the_plan_in_an_order_of_its_own_and_the_runs_come_back() {
    let bed = Bed::new("h1 h2");
    let said = bed.said();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.starts_with("2 of 2 hosts came back; their runs: "), "{said:?}");
    assert!(said.err.contains("h1  begun: ") && said.err.contains("h2  completed: "), "{said:?}");
    assert!(is_fleet(&only_run(&bed.folder.join("out"))));
    assert_eq!(bed.names(), ["h1.pickfs", "h2.pickfs"]);
    let [one, two] = ["h1.pickfs", "h2.pickfs"].map(|name| bed.read(name));
    assert_eq!(two.plan.design.seed, one.plan.design.seed + 1);
    let id = |run: &RunRecord| run.environment.get("host.machine").unwrap().to_owned();
    assert_eq!(id(&one), id(&two), "one machine is one host, by whatever name");
    assert!(!said.out.contains(" hosts are too few"), "and no fleet: {said:?}");
    // What was measured stays on its host, too.
    assert!(only_run(&bed.folder.join("h1/pickfs-runs")).join("run.pickfs").exists());
}

#[test]
fn a_host_that_is_lost_is_a_line_with_its_reason_and_stops_no_other() {
    let bed = Bed::new("h1 gone other");
    let said = bed.said();
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.out.starts_with("1 of 3 hosts came back; "), "{said:?}");
    assert!(said.out.contains("\nlost      gone: ssh ended with code 255: no route to gone\n"));
    assert!(said.out.contains("\nlost      other: another build, "), "{said:?}");
    assert_eq!(bed.names(), ["h1.pickfs"]);
    let bed = Bed::new("gone other");
    let said = bed.said();
    assert_eq!((said.code, said.out.starts_with("0 of 2 hosts came back\n")), (Some(3), true));
    assert_eq!(fs::read_dir(bed.folder.join("out")).unwrap().count(), 0, "no empty folder stays");
}

#[test]
fn what_is_no_host_starts_nothing() {
    for (hosts, part) in
        [("h1 -oProxyCommand=id", "`-oProxyCommand=id` is no host"), ("h1", "make a fleet")]
    {
        let bed = Bed::new(hosts);
        let said = bed.said();
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.err.contains(part) && !bed.folder.join("out").exists(), "{said:?}");
    }
    let said = pickfs(&["run", "quick", "--hosts", "slurm"]);
    assert_eq!((said.code, said.err.contains("no job of Slurm here")), (Some(1), true), "{said:?}");
    let said = Said::from(command(&["run", "--as-host"]).stdin(Stdio::null()).output().unwrap());
    assert_eq!((said.code, said.err.contains("no request came")), (Some(1), true), "{said:?}");
}

/// By a key, or a signal: what was measured comes back all the same.
#[test]
fn an_interrupt_ends_the_runs_of_all_hosts_in_order_and_brings_them() {
    let bed = Bed::new("h1 h2");
    let mut child = bed.measuring(&["h1", "h2"]);
    let tree: Vec<i32> = tree_of(child.id() as i32).into_keys().collect();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = until("the end of all", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(130));
    assert_nothing_is_left(&bed.folder, &tree);
    assert_eq!(bed.names(), ["h1.pickfs", "h2.pickfs"]);
    assert_eq!(bed.read("h2.pickfs").ended.unwrap().how, "interrupted");
}

/// Who started them cannot say a word any more.
#[test]
fn hosts_end_their_runs_when_nobody_is_there_any_more() {
    let bed = Bed::new("h1 h2");
    let mut child = bed.measuring(&["h1", "h2"]);
    let tree: Vec<i32> = tree_of(child.id() as i32).into_keys().collect();
    kill(child.id() as i32);
    child.wait().unwrap();
    assert_nothing_is_left(&bed.folder, &tree);
    let run = only_run(&bed.folder.join("h1/pickfs-runs")).join("run.pickfs");
    let run = RunFile::open(&run).unwrap().read().unwrap();
    assert_eq!(run.ended.unwrap().how, "interrupted");
}
