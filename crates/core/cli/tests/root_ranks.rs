//! Three hosts on one machine, two MPIs, one shared folder: ranks measure together, other hosts find what each wrote, and
//! whoever dies, hangs or has another folder is named.
#![cfg(feature = "ranks")]
#![allow(clippy::unwrap_used)]

mod lab_session;
mod network;
mod pickfs;

use std::process::Command;

use network::{
    Network, has_hosts,
    ranks::{OPEN_MPI, SHARED},
};
use pickfs::{Said, reason};
use pickfs_record::Outcome;
use pickfs_testkit::{Program, may_run, only_if};
use rustix::process::Signal;

const MPICH: &str = "mpiexec.mpich -hosts h1:1,h2:1,h3:1";
const PLAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rank_hosts/short.toml");
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rank_hosts/program.toml");

fn may_run_here() -> bool {
    has_hosts(&["mpirun.openmpi", "mpiexec.mpich"])
}

fn three() -> Network {
    Network::of_ranks(&["h1", "h2", "h3"], "")
}

fn short(bed: &Network, launcher: &str, name: &str, more: &str) -> Command {
    bed.run_in("one", PLAN, launcher, name, more)
}

#[test]
fn ranks_of_both_mpis_measure_together_and_another_host_finds_every_record() {
    only_if!(may_run_here());
    let bed = three();
    for (name, launcher, mpi) in [("a", OPEN_MPI, "Open MPI"), ("b", MPICH, "MPICH")] {
        let said = Said::from(short(&bed, launcher, name, "--blocks 1").output().unwrap());
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
    let more = "--blocks 1 --raw-probe 50ms --set scale=tiny --set size=0 --set files=200 --set saves=20 \
                --ranks-patience 10s";
    let said = Said::from(bed.run_in("one", "files", OPEN_MPI, "phases", more).output().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    let run = bed.kept("phases");
    let created = run.trials[0].phase("seq create").unwrap();
    assert_eq!((created.lanes, created.work), (3, 600.0), "{created:?}");
    bed.assert_nothing_stays();
}

#[test]
fn a_program_runs_on_each_host_and_one_that_is_stopped_ends_the_trial_with_its_name() {
    only_if!(may_run_here());
    let bed = three();
    let run = &mut bed.run_in("one", PROGRAM, OPEN_MPI, "program", "--blocks 1");
    let said = Said::from(run.output().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    let trial = &bed.kept("program").trials[0];
    assert_eq!(trial.op("wall").unwrap().service.count, 3, "one a rank: {trial:?}");
    let folders = &trial.notes;
    assert!(folders.contains(&"figures are means over 3 lanes".into()), "{folders:?}");
    let words = "--blocks 1 --ranks-patience 3s --set command=sleep${IFS}600";
    let mut run = bed.run_in("one", PROGRAM, OPEN_MPI, "stopped", words);
    let mut program = Program::start(&mut run);
    program.until("\"phase\":\"command\"");
    bed.signal("pickfs-worker", "h2", Signal::STOP);
    program.end();
    let trial = &bed.kept("stopped").trials[0];
    assert!(reason(trial).contains("h2: the worker is stopped, by a signal"), "{trial:?}");
    bed.assert_nothing_stays();
}

#[test]
fn the_doctor_says_who_is_there_and_names_a_host_with_another_folder() {
    only_if!(may_run_here());
    let bed = three();
    let doctor = |dir: &str| {
        let dir = bed.place(dir);
        let words = ["doctor", "--ranks", OPEN_MPI, "--dir", &*dir, "--ranks-patience", "10s"];
        Said::from(bed.pickfs(&words).output().unwrap())
    };
    let said = doctor("one");
    assert_eq!(said.code, Some(0), "{said:?}");
    for part in [
        "3 on 3 hosts by mpirun.openmpi (Open MPI",
        "\n  h2 ",
        "apart at the median of 20",
        "is one for all",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    let said = doctor("apart");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("h3 is not the folder of the others"), "{said:?}");
    bed.assert_nothing_stays();
}

#[test]
fn hosts_of_one_folder_see_what_each_does_and_lose_nothing_of_it() {
    only_if!(may_run_here());
    let (page, plan) =
        (include_str!("../../../../docs/ranks.md"), include_str!("rank_hosts/shared.toml"));
    assert!(page.contains(plan), "docs/ranks.md shows another plan");
    let bed = three();
    let mut run = bed.run_in("one", SHARED, OPEN_MPI, "shared", "--ranks-patience 20s");
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
    let said = bed.run_in("one", SHARED, OPEN_MPI, "fault", more).output().unwrap();
    let notes = &bed.asked("fault")["append"].notes;
    let is_made = notes.iter().any(|note| note.starts_with("fault: ended by exit code 0"));
    assert!(is_made, "{notes:?} {said:?}");
    bed.assert_nothing_stays();
}

/// sshfs(1) keeps locks and what it knows of a file's length on each mount alone.
#[test]
fn a_network_file_system_that_shows_no_growth_and_keeps_no_lock_is_told_so() {
    only_if!(may_run_here() && may_run(&["sshfs", "/dev/fuse"]));
    let bed = three();
    let [ssh, one, far] = ["bin/ssh", "one", "far"].map(|name| bed.place(name));
    bed.mount(&["h1", "h2"], &format!("sshfs -o ssh_command={ssh} h1:{one} {far}"));
    let two = OPEN_MPI.replace(",h3:1", "");
    let more = "--axis ask=tail,lock --ranks-patience 30s";
    let said = bed.run_in("far", SHARED, &two, "far", more).output().unwrap();
    let trials = bed.asked("far");
    let tail = &trials["tail"];
    assert_eq!(tail.outcome, Outcome::Finished, "{tail:?} {said:?}");
    assert!(tail.counts["not_seen"] > 40.0, "{:?}", tail.counts);
    let why = reason(&trials["lock"]);
    assert!(why.starts_with("records lost: ") && why.contains("increments lost"), "{why}");
    assert!(trials["lock"].flags.iter().any(|flag| flag.kind == "records-lost"));
    bed.assert_nothing_stays();
}

#[test]
fn a_rank_that_is_killed_or_stopped_fails_its_trial_with_the_name_of_its_host() {
    only_if!(may_run_here());
    let bed = three();
    for (name, launcher, victim, signal) in [
        ("killed", OPEN_MPI, "pickfs-rank", Signal::KILL),
        ("worker", OPEN_MPI, "pickfs-worker", Signal::KILL),
        ("stopped", MPICH, "pickfs-rank", Signal::STOP),
    ] {
        let more = "--blocks 2 --measure 3s --ranks-patience 8s";
        let mut run = short(&bed, launcher, name, more);
        let mut program = Program::start(&mut run);
        program.until("\"phase\":\"measure\"");
        bed.signal(victim, "h2", signal);
        program.end();
        let run = bed.kept(name);
        let outcome = &run.trials[0];
        assert!(reason(outcome).contains("h2"), "{name}: {outcome:?}");
        let other = &run.trials[1];
        assert_eq!(other.outcome, Outcome::Finished, "{name}: the run goes on: {other:?}");
        bed.assert_nothing_stays();
    }
}

#[test]
fn a_launcher_or_a_lab_that_is_killed_leaves_no_rank() {
    only_if!(may_run_here());
    let bed = three();
    for (name, victim) in [("launcher", "mpirun.openmpi"), ("lab", "pickfs")] {
        let mut program = Program::start(&mut short(&bed, OPEN_MPI, name, "--blocks 1"));
        program.until("\"phase\":\"measure\"");
        bed.signal(victim, "lab", Signal::KILL);
        program.end();
        bed.wait_until_nothing_runs();
    }
}
