//! Shared file systems as Debian packs them, each with a server on a host of its own: what three other hosts see of each other
//! there, and what is left when the server is killed. Asserted is what was seen of them before, in counts and order: both
//! show within two seconds what another host did; of what two hosts append to one file MooseFS 3.0 keeps all, and ceph-fuse
//! 16.2 half.
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

fn has_ceph() -> bool {
    let servers = ["ceph-mon", "ceph-mgr", "ceph-osd", "ceph-mds", "ceph", "monmaptool"];
    has_hosts(&[&servers[..], &["ceph-fuse", "/dev/fuse", "mpirun.openmpi"]].concat())
}

fn has_moosefs() -> bool {
    has_hosts(&["mfsmaster", "mfschunkserver", "mfsmount", "/dev/fuse", "mpirun.openmpi"])
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
        self.0.asked("shared")
    }

    /// One trial in which a server is killed by words of the user; what serves is another process then.
    fn asked_while_it_is_killed(&self, server: &str) -> TrialRecord {
        let [ssh, number, words] =
            ["bin/ssh", &format!("{server}.pid"), "kill-server"].map(|name| self.0.place(name));
        let script = format!("#!/bin/sh\nexec {ssh} h9 kill -9 $(cat {number})\n");
        install(words.as_ref(), script.as_bytes());
        let process = || fs::read_to_string(&number).unwrap();
        let first = process();
        let more = format!(
            "--axis ask=append --set sync=fdatasync --set rate=10/s --measure 4s --set fault={words} \
             --allow-fault --ranks-patience 100s"
        );
        let trial = self.asked(1, &more).remove("append").unwrap();
        until("another server", || (process() != first).then_some(()));
        let is_made = |note: &String| note.starts_with("fault: ended by exit code 0");
        assert!(trial.notes.iter().any(is_made), "{trial:?}");
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
    if !has_lost(&trial) {
        assert_loses_nothing(&trial);
    }
}

/// It loses appends of two hosts with it as without it.
#[test]
#[ignore = "brings up Ceph and kills its metadata server: ./test --ring heavy"]
fn a_metadata_server_of_ceph_that_is_killed_ends_no_run_and_hides_no_loss() {
    only_if!(has_ceph());
    let trial = Share::served_by(CEPH).asked_while_it_is_killed("ceph-mds");
    assert!(has_lost(&trial), "{trial:?}");
}
