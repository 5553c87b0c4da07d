//! Three hosts on one machine, two MPIs, one shared folder: ranks measure together, other hosts find what each wrote, and
//! whoever dies, hangs or has another folder is named.
#![cfg(feature = "ranks")]
#![allow(clippy::unwrap_used)]

#[path = "pickfs/mod.rs"]
mod pickfs;

use std::{collections::BTreeMap, process::Command};

use pickfs::{PICKFS, Said, reason, record};
use pickfs_record::{Outcome, RunRecord, TrialRecord};
use pickfs_testkit::{Program, may_run, only_if, until};

const OPEN_MPI: &str = "mpirun.openmpi --host h1:1,h2:1,h3:1 --mca btl_tcp_if_include 10.213.99.0/24 \
                        --mca oob_tcp_if_include 10.213.99.0/24";
const MPICH: &str = "mpiexec.mpich -hosts h1:1,h2:1,h3:1";
const PLAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rank_hosts/short.toml");
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rank_hosts/program.toml");

const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rank_hosts/shared.toml");

fn has_hosts() -> bool {
    may_run(&["ip", "unshare", "nsenter", "sshd", "ssh", "mpirun.openmpi", "mpiexec.mpich"])
}

struct Bed {
    holder: Program,
    out: tempfile::TempDir,
}

impl Bed {
    fn new() -> Bed {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rank_hosts/hosts.sh");
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--propagation", "private", "--net", "--uts", "--pid", "--fork"]);
        unshare.args(["--kill-child", "--mount-proc", "bash", script]);
        let holder = Program::start(&mut unshare);
        holder.until("ready");
        Bed { holder, out: tempfile::tempdir().unwrap() }
    }

    /// A command where the lab is.
    fn command(&self, words: &[&str]) -> Command {
        let id = self.holder.child.id();
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={id}")).args(["--mount", "--net", "--uts"]);
        command.arg(format!("--pid=/proc/{id}/ns/pid_for_children"));
        command.arg("--").args(words);
        command.envs([
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("PRTE_ALLOW_RUN_AS_ROOT", "1"),
            ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_plm_rsh_agent", "/run/bed/rsh"),
            ("PRTE_MCA_plm_ssh_agent", "/run/bed/rsh"),
            ("OMPI_MCA_orte_tmpdir_base", "/run/bed/tmp"),
            ("HYDRA_LAUNCHER_EXEC", "/run/bed/rsh"),
        ]);
        command
    }

    fn pickfs(&self, words: &[&str]) -> Command {
        self.command(&[&[PICKFS], words].concat())
    }

    fn run(&self, launcher: &str, name: &str, more: &str) -> Command {
        self.run_in("/run/bed/one", PLAN, launcher, name, more)
    }

    fn run_in(&self, dir: &str, plan: &str, launcher: &str, name: &str, more: &str) -> Command {
        let out = self.out.path().join(name);
        let more = more.split_whitespace();
        let more = more.chain(["--out", out.to_str().unwrap(), "--ranks", launcher]);
        let plan = ["run", plan, "--yes", "--json", "--dir", dir];
        self.pickfs(&[&plan[..], &more.collect::<Vec<_>>()].concat())
    }

    /// Trials of the plan of shared files, by what they ask.
    fn asked(&self, name: &str) -> BTreeMap<String, TrialRecord> {
        let run = self.kept(name);
        let ask = |trial: &TrialRecord| {
            let cell = run.cells.iter().find(|cell| cell.id == trial.cell).unwrap();
            cell.workload.params["ask"].as_str().unwrap().to_owned()
        };
        run.trials.iter().map(|trial| (ask(trial), trial.clone())).collect()
    }

    fn kept(&self, name: &str) -> RunRecord {
        record(&pickfs::only_run(&self.out.path().join(name)))
    }

    /// By its name and its host, as soon as it is there.
    fn signal(&self, name: &str, host: &str, signal: &str) {
        until("the process that gets a signal", || {
            let output = self.command(&["/run/bed/signal", name, host, signal]).output().unwrap();
            (!output.stdout.is_empty()).then_some(())
        });
    }

    fn wait_until_nothing_runs(&self) {
        until("the end of all that a run started", || {
            let left = self.command(&["/run/bed/left"]).output().unwrap();
            left.stdout.is_empty().then_some(())
        });
    }

    fn assert_nothing_runs(&self) {
        self.wait_until_nothing_runs();
        let folder = self.command(&["ls", "-A", "/run/bed/one"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&folder.stdout), "", "nothing of ours stays");
    }
}

#[test]
fn ranks_of_both_mpis_measure_together_and_another_host_finds_every_record() {
    only_if!(has_hosts());
    let bed = Bed::new();
    for (name, launcher, mpi) in [("a", OPEN_MPI, "Open MPI"), ("b", MPICH, "MPICH")] {
        let said = Said::from(bed.run(launcher, name, "--blocks 1").output().unwrap());
        assert_eq!(said.code, Some(0), "{launcher}: {said:?}");
        let run = bed.kept(name);
        let trial = &run.trials[0];
        assert_eq!(trial.outcome, Outcome::Finished, "{trial:?}");
        let hosts: Vec<(&str, u32)> =
            trial.hosts.iter().map(|host| (host.name.as_str(), host.ranks)).collect();
        assert_eq!(hosts, [("h1", 1), ("h2", 1), ("h3", 1)]);
        let counts = ["records_verified", "records_read_elsewhere"].map(|key| trial.counts[key]);
        assert!(counts[0] >= 3.0 * 200.0 && counts[0] == counts[1], "{counts:?}");
        assert!(
            trial.environment.get("ranks.mpi").unwrap().contains(mpi),
            "{:?}",
            trial.environment
        );
        assert!(
            trial.hosts.iter().all(|host| host.mount.starts_with("tmpfs ")),
            "{:?}",
            trial.hosts
        );
        // One kernel, one clock: the truth is known.
        let holds = |host: &&pickfs_record::record::HostShare| {
            host.offset_ns_min <= 0 && host.offset_ns_max >= 0
        };
        assert_eq!(trial.hosts.iter().filter(holds).count(), 3, "{:?}", trial.hosts);
        let appends = trial.op("append").unwrap().service.count;
        assert!((600..=603).contains(&appends), "{appends}");
    }
    let out = bed.out.path().join("phases");
    let words = "run files --blocks 1 --raw-probe 50ms --set scale=tiny --set size=0 --set files=200 --set saves=20 --json \
                 --dir /run/bed/one --ranks-patience 10s --ranks";
    let words: Vec<&str> = words.split_whitespace().chain([OPEN_MPI, "--out"]).collect();
    let said =
        Said::from(bed.pickfs(&[&words[..], &[out.to_str().unwrap()]].concat()).output().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    let run = bed.kept("phases");
    let created = run.trials[0].phase("seq create").unwrap();
    assert_eq!((created.lanes, created.work), (3, 600.0), "{created:?}");
    bed.assert_nothing_runs();
}

#[test]
fn a_program_runs_on_each_host_and_one_that_is_stopped_ends_the_trial_with_its_name() {
    only_if!(has_hosts());
    let bed = Bed::new();
    let run = &mut bed.run_in("/run/bed/one", PROGRAM, OPEN_MPI, "program", "--blocks 1");
    let said = Said::from(run.output().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    let trial = &bed.kept("program").trials[0];
    assert_eq!(trial.op("wall").unwrap().service.count, 3, "one a rank: {trial:?}");
    let folders = &trial.notes;
    assert!(folders.contains(&"figures are means over 3 lanes".into()), "{folders:?}");
    let words = "--blocks 1 --ranks-patience 3s --set command=sleep${IFS}600";
    let mut run = bed.run_in("/run/bed/one", PROGRAM, OPEN_MPI, "stopped", words);
    let mut program = Program::start(&mut run);
    program.until("\"phase\":\"command\"");
    bed.signal("pickfs-worker", "h2", "STOP");
    program.end();
    let trial = &bed.kept("stopped").trials[0];
    assert!(reason(trial).contains("h2: the worker is stopped, by a signal"), "{trial:?}");
    bed.assert_nothing_runs();
}

#[test]
fn the_doctor_says_who_is_there_and_names_a_host_with_another_folder() {
    only_if!(has_hosts());
    let bed = Bed::new();
    let doctor = |dir: &str| {
        let words = ["doctor", "--ranks", OPEN_MPI, "--dir", dir, "--ranks-patience", "10s"];
        Said::from(bed.pickfs(&words).output().unwrap())
    };
    let said = doctor("/run/bed/one");
    assert_eq!(said.code, Some(0), "{said:?}");
    for part in [
        "3 on 3 hosts by mpirun.openmpi (Open MPI",
        "\n  h2 ",
        "apart at the median of 20",
        "is one for all",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    let said = doctor("/run/bed/apart");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("h3 is not the folder of the others"), "{said:?}");
    bed.assert_nothing_runs();
}

#[test]
fn hosts_of_one_folder_see_what_each_does_and_lose_nothing_of_it() {
    only_if!(has_hosts());
    let (page, plan) =
        (include_str!("../../../../docs/ranks.md"), include_str!("rank_hosts/shared.toml"));
    assert!(page.contains(plan), "docs/ranks.md shows another plan");
    let bed = Bed::new();
    let mut run = bed.run_in("/run/bed/one", SHARED, OPEN_MPI, "shared", "--ranks-patience 20s");
    let said = Said::from(run.output().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    let trials = bed.asked("shared");
    assert_eq!(trials.len(), 8);
    for (ask, trial) in &trials {
        assert_eq!(trial.outcome, Outcome::Finished, "{ask}: {trial:?}");
        let count = |name: &str| trial.counts.get(name).copied().unwrap_or(0.0);
        let kept = ["records_verified", "records_read_elsewhere"].map(count);
        assert_eq!(kept[0], kept[1], "{ask}: {:?}", trial.counts);
        let apart = trial.hosts.iter().map(|host| host.start_skew_ns).max();
        assert!(apart < Some(10_000_000_000), "who stands by begins with the others: {apart:?}");
        let is_seen = ["tail", "create", "remove", "rename", "map"].contains(&&**ask);
        assert!(count("not_seen") == 0.0 && is_seen == (count("seen") > 0.0), "{ask}: {trial:?}");
        let keeps = ["append", "lock", "map"].contains(&&**ask);
        assert_eq!(kept[0] >= 20.0, keeps, "{ask}: {:?}", trial.counts);
    }
    let appends = trials["append"].op("append").unwrap().service.count;
    assert!((100..=102).contains(&appends), "the third host reads: {appends}");
    assert!(trials["answer"].op("round trip").unwrap().service.count > 20);
    let more = "--axis ask=append --set fault=true --allow-fault --ranks-patience 20s";
    let said = bed.run_in("/run/bed/one", SHARED, OPEN_MPI, "fault", more).output().unwrap();
    let notes = &bed.asked("fault")["append"].notes;
    let is_made = notes.iter().any(|note| note.starts_with("fault: ended by exit code 0"));
    assert!(is_made, "{notes:?} {said:?}");
    bed.assert_nothing_runs();
}

/// sshfs(1) keeps locks and what it knows of a file's length on each mount alone.
#[test]
fn a_network_file_system_that_shows_no_growth_and_keeps_no_lock_is_told_so() {
    only_if!(has_hosts() && may_run(&["sshfs", "/dev/fuse"]));
    let bed = Bed::new();
    let mount = "sshfs -F /run/bed/ssh_config h1:/run/bed/one /run/bed/far";
    for host in ["lab", "h1", "h2"] {
        let words = ["/run/bed/rsh", host, mount];
        let words = if host == "lab" { vec!["sh", "-c", mount] } else { words.to_vec() };
        let said = Said::from(bed.command(&words).output().unwrap());
        assert_eq!(said.code, Some(0), "{host}: {said:?}");
    }
    let two = OPEN_MPI.replace(",h3:1", "");
    let more = "--axis ask=tail,lock --ranks-patience 30s";
    let said = bed.run_in("/run/bed/far", SHARED, &two, "far", more).output().unwrap();
    let trials = bed.asked("far");
    let tail = &trials["tail"];
    assert_eq!(tail.outcome, Outcome::Finished, "{tail:?} {said:?}");
    assert!(tail.counts["not_seen"] > 40.0, "{:?}", tail.counts);
    let why = reason(&trials["lock"]);
    assert!(why.starts_with("records lost: ") && why.contains("increments lost"), "{why}");
    assert!(trials["lock"].flags.iter().any(|flag| flag.kind == "records-lost"));
    bed.assert_nothing_runs();
}

#[test]
fn a_rank_that_is_killed_or_stopped_fails_its_trial_with_the_name_of_its_host() {
    only_if!(has_hosts());
    let bed = Bed::new();
    for (name, launcher, victim, signal) in [
        ("killed", OPEN_MPI, "pickfs-rank", "KILL"),
        ("worker", OPEN_MPI, "pickfs-worker", "KILL"),
        ("stopped", MPICH, "pickfs-rank", "STOP"),
    ] {
        let mut run = bed.run(launcher, name, "--blocks 2 --measure 3s --ranks-patience 8s");
        let mut program = Program::start(&mut run);
        program.until("\"phase\":\"measure\"");
        bed.signal(victim, "h2", signal);
        program.end();
        let run = bed.kept(name);
        let outcome = &run.trials[0];
        assert!(reason(outcome).contains("h2"), "{name}: {outcome:?}");
        let other = &run.trials[1];
        assert_eq!(other.outcome, Outcome::Finished, "{name}: the run goes on: {other:?}");
        bed.assert_nothing_runs();
    }
}

#[test]
fn a_launcher_or_a_lab_that_is_killed_leaves_no_rank() {
    only_if!(has_hosts());
    let bed = Bed::new();
    for (name, victim) in [("launcher", "mpirun.openmpi"), ("lab", "pickfs")] {
        let mut program = Program::start(&mut bed.run(OPEN_MPI, name, "--blocks 1"));
        program.until("\"phase\":\"measure\"");
        bed.signal(victim, "lab", "KILL");
        program.end();
        bed.wait_until_nothing_runs();
    }
}
