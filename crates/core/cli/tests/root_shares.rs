//! Shared file systems, each with a server on a host of its own, as Debian packs them: what three other hosts see of each
//! other there, and what is left when the server fails. Asserted is what was seen of them before, in counts and order: all show
//! within seconds what another host did; of what two hosts append to one file MooseFS 3.0 keeps all, ceph-fuse 16.2 and
//! NFS 4.2 of the kernel half.
#![cfg(feature = "ranks")]
#![allow(clippy::unwrap_used)]

mod lab_session;
mod network;
mod pickfs;

use std::{collections::BTreeMap, fs};

use network::{
    Network, has_hosts,
    ranks::{OPEN_MPI, SHARED},
};
use pickfs::reason;
use pickfs_record::{Outcome, TrialRecord};
use pickfs_testkit::{Program, install, only_if, until};

const CEPH: &str = include_str!("network/ceph.sh");
const MOOSEFS: &str = include_str!("network/moosefs.sh");
const NFS: &str = include_str!("network/nfs.sh");

fn has_ceph() -> bool {
    let servers = ["ceph-mon", "ceph-mgr", "ceph-osd", "ceph-mds", "ceph", "monmaptool"];
    has_hosts(&[&servers[..], &["ceph-fuse", "/dev/fuse", "mpirun.openmpi"]].concat())
}

fn has_moosefs() -> bool {
    has_hosts(&["mfsmaster", "mfschunkserver", "mfsmount", "/dev/fuse", "mpirun.openmpi"])
}

/// Few kernels serve NFS and mount it, so nobody asks for it but scripts/kernel-nfs.
fn has_nfs() -> bool {
    let servers = ["rpc.nfsd", "rpc.mountd", "exportfs", "nfsdcld", "mount.nfs4"];
    let kernel = ["/proc/fs/nfsd", "/proc/fs/nfsfs", "mpirun.openmpi"];
    match std::env::var_os("PICKFS_NFS") {
        Some(_) => has_hosts(&[&servers[..], &kernel].concat()),
        None => {
            println!("SKIPPED(root ring): scripts/kernel-nfs runs it");
            false
        }
    }
}

/// Mounted in the lab and on three hosts; the fourth one serves it.
struct Share(Network);

impl Share {
    fn served_by(script: &str) -> Share {
        let planted = format!("{}{script}", include_str!("network/server.sh"));
        let hosts = Network::of_ranks(&["h1", "h2", "h3", "h9"], &planted);
        hosts.mount(&["h1", "h2", "h3"], &format!("sh {}", hosts.place("mount-far")));
        let file = hosts.place("far/first");
        let words = format!("dd if=/dev/zero of={file} bs=4k count=1 conv=fsync && rm {file}");
        until("a server that keeps a file", || {
            (hosts.on("lab", &words).code == Some(0)).then_some(())
        });
        Share(hosts)
    }

    /// By what each of so many trials asks. Each of them has a limit.
    fn asked(&self, trials: usize, more: &str) -> BTreeMap<String, TrialRecord> {
        let more = format!("--raw-probe 0ms {more}");
        let mut run = self.0.run_in("far", SHARED, OPEN_MPI, "shared", &more);
        let mut program = Program::start(&mut run);
        for number in 1..=trials {
            program.until_said(&format!("trial {number}"), |said| {
                let ended = said.matches("\"event\":\"trial-finished\"").count();
                (ended >= number).then_some(())
            });
        }
        until("the end of the run", || program.child.try_wait().unwrap());
        self.0.assert_nothing_stays();
        let trials = self.0.asked("shared");
        for (ask, trial) in &trials {
            println!("{ask}: {:?} {:?}", trial.outcome, trial.counts);
        }
        trials
    }

    /// One trial in which these words are said to the host of the server.
    fn asked_in_a_fault(&self, to_server: &str) -> TrialRecord {
        let words = self.0.place("fault");
        let script = format!("#!/bin/sh\nexec {} h9 '{to_server}'\n", self.0.place("bin/ssh"));
        install(words.as_ref(), script.as_bytes());
        let more = format!(
            "--axis ask=append --set sync=fdatasync --set rate=10/s --measure 4s --set fault={words} \
             --allow-fault --ranks-patience 100s"
        );
        let trial = self.asked(1, &more).remove("append").unwrap();
        let is_made = |note: &String| note.starts_with("fault: ended by exit code 0");
        assert!(trial.notes.iter().any(is_made), "{trial:?}");
        trial
    }

    /// What serves is another process then.
    fn asked_while_it_is_killed(&self, server: &str) -> TrialRecord {
        let number = self.0.place(&format!("{server}.pid"));
        let process = || fs::read_to_string(&number).unwrap();
        let first = process();
        let trial = self.asked_in_a_fault(&format!("kill -9 $(cat {number})"));
        until("another server", || (process() != first).then_some(()));
        trial
    }
}

/// It has failed then, and its candidate is never ahead.
fn has_lost(trial: &TrialRecord) -> bool {
    let is_flagged = trial.flags.iter().any(|flag| flag.kind == "records-lost");
    assert_eq!(is_flagged, reason(trial).starts_with("records lost: "), "{trial:?}");
    is_flagged
}

fn count(trial: &TrialRecord, name: &str) -> f64 {
    trial.counts.get(name).copied().unwrap_or(0.0)
}

fn assert_loses_nothing(trial: &TrialRecord) {
    assert_eq!(trial.outcome, Outcome::Finished, "{trial:?}");
    let kept = ["records_verified", "records_read_elsewhere"].map(|name| count(trial, name));
    assert!(kept[0] == kept[1] && kept[0] >= 20.0, "{:?}", trial.counts);
}

/// Another version of it may keep what this one loses.
fn assert_hides_no_loss(trial: &TrialRecord) {
    if !has_lost(trial) {
        assert_loses_nothing(trial);
    }
}

/// Whatever came out of a trial, it was answered; what the first host did, the others have seen, all of it and in order.
fn assert_answered_and_seen(trials: &BTreeMap<String, TrialRecord>) {
    for (ask, trial) in trials {
        assert!(has_lost(trial) || trial.outcome == Outcome::Finished, "{ask}: {trial:?}");
    }
    for ask in ["tail", "create", "rename"] {
        let trial = &trials[ask];
        let [seen, not_seen, older] =
            ["seen", "not_seen", "older_after_newer"].map(|name| count(trial, name));
        assert!(seen > 0.0 && not_seen == 0.0 && older == 0.0, "{ask}: {:?}", trial.counts);
    }
}

/// A mapped page is left out: there whoever touches it hangs.
#[test]
#[ignore = "brings up MooseFS: ./test --ring heavy"]
fn moosefs_keeps_what_two_hosts_append_and_shows_all_to_the_others() {
    only_if!(has_moosefs());
    let share = Share::served_by(MOOSEFS);
    let asks = "--axis ask=append,tail,create,remove,rename,answer,lock --ranks-patience 60s";
    let trials = share.asked(7, asks);
    assert_answered_and_seen(&trials);
    assert_loses_nothing(&trials["append"]);
}

#[test]
#[ignore = "brings up Ceph: ./test --ring heavy"]
fn ceph_fuse_shows_all_to_the_others_and_loses_what_two_hosts_append_or_map() {
    only_if!(has_ceph());
    let share = Share::served_by(CEPH);
    let trials = share.asked(8, "--set wait=12s --ranks-patience 60s"); // a rename takes seconds: a tick of the server
    assert_answered_and_seen(&trials);
    for ask in ["append", "map"] {
        let trial = &trials[ask];
        assert!(has_lost(trial), "{ask}: 16.2 lost it, see ceph-fuse --version: {trial:?}");
    }
}

#[test]
#[ignore = "brings up MooseFS and kills its master: ./test --ring heavy"]
fn a_master_of_moosefs_that_is_killed_ends_no_run_and_what_it_lost_is_said() {
    only_if!(has_moosefs());
    let trial = Share::served_by(MOOSEFS).asked_while_it_is_killed("mfsmaster");
    assert_hides_no_loss(&trial);
}

#[test]
#[ignore = "brings up Ceph and kills its metadata server: ./test --ring heavy"]
fn a_metadata_server_of_ceph_that_is_killed_ends_no_run_and_hides_no_loss() {
    only_if!(has_ceph());
    let trial = Share::served_by(CEPH).asked_while_it_is_killed("ceph-mds");
    assert_hides_no_loss(&trial);
}

/// The length of a file that another host has made longer is asked for when a host opens it, or after seconds.
#[test]
#[ignore = "needs a kernel that serves NFS and mounts it: scripts/kernel-nfs"]
fn nfs_of_the_kernel_shows_all_to_the_others_and_loses_what_two_hosts_append_or_map() {
    only_if!(has_nfs());
    let share = Share::served_by(NFS);
    let trials = share.asked(8, "--set wait=30s --ranks-patience 100s");
    assert_answered_and_seen(&trials);
    for ask in ["append", "map"] {
        assert!(has_lost(&trials[ask]), "{ask}: {:?}", trials[ask]);
    }
    assert!(!has_lost(&trials["lock"]), "{:?}", trials["lock"]);
}

#[test]
#[ignore = "needs a kernel that serves NFS and mounts it, and stops the server: scripts/kernel-nfs"]
fn a_server_of_nfs_that_is_stopped_and_started_ends_no_run_and_hides_no_loss() {
    only_if!(has_nfs());
    let share = Share::served_by(NFS);
    let again = format!("/usr/sbin/rpc.nfsd 0 && sh {}", share.0.place("begin-to-serve"));
    let trial = share.asked_in_a_fault(&again);
    assert_hides_no_loss(&trial);
}
