use std::{collections::BTreeSet, path::PathBuf};

use pickfs_testkit::{may_run, only_if, until};
use serde_json::{Value, json};

use crate::spoken::{arrivals, count, notes, operations, played, ready, spec, with};

fn asked(more: &Value) -> Value {
    let all = json!({
        "rate": 500, "wait": "sleep", "waiting": "block", "hosts": "namespaces",
    });
    with(all, more)
}

fn interfaces() -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn network(process: &str) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{process}/ns/net")).ok()
}

#[test]
fn nodes_have_networks_of_their_own_and_every_copy_is_compared() {
    only_if!(may_run(&["ip"]));
    let before = interfaces();
    for way in [
        json!({}),
        json!({ "secondaries": 2, "copies": 2, "store": "queue" }),
        json!({ "secondary": "thread" }),
    ] {
        let messages = played(200, "pair", asked(&way));
        let batches = count(&messages, "batches").map(|count| count as u64);
        assert_eq!(operations(&messages, "wire"), batches, "{way}");
        let told = notes(&messages);
        assert!(told[0].contains("tcp over virtual Ethernet"), "{told:?}");
    }
    assert_eq!(interfaces(), before);
}

#[test]
fn the_bare_ping_pong_goes_over_the_same_wire() {
    only_if!(may_run(&["ip"]));
    for medium in ["tcp", "udp"] {
        let messages = played(200, "pair", asked(&json!({ "medium": medium })));
        assert_eq!(operations(&messages, "wire"), arrivals(&messages), "{medium}");
    }
}

#[test]
fn a_worker_that_is_killed_leaves_no_network() {
    only_if!(may_run(&["ip"]));
    let before = interfaces();
    let folder = tempfile::tempdir().expect("a folder");
    let (mut worker, _lines) = ready(&spec("pair", asked(&json!({})), folder.path()));
    let ours = network("self");
    let theirs = network(&worker.id().to_string());
    assert!(theirs.is_some() && theirs != ours);
    worker.kill().expect("ours");
    worker.wait().expect("ours");
    // Whatever had its network has ended with it, and the network has no name.
    until("nobody in its network", || (!is_used(&theirs)).then_some(()));
    assert_eq!(interfaces(), before);
}

fn is_used(network_asked: &Option<PathBuf>) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    names.any(|name| network_asked.is_some() && network(&name) == *network_asked)
}
