#![allow(clippy::unwrap_used)]

mod trial;

use pickfs_record::Durability;
use pickfs_testkit::params;
use pickfs_workload::{Fault, find};
use serde_json::json;
use trial::{op, session, whole};

#[test]
fn every_order_has_a_operation_at_each_step_and_is_found_in_every_store() {
    for store in ["memory", "queue", "journal", "journal-fdatasync", "file-store", "pair"] {
        // A secondary that is a process needs the worker: crates/core/cli/tests/cli/worker_roles.rs.
        let (measured, checked) = whole(
            "fix",
            json!({
                "store": store, "rate": 500, "clients": 2, "engine_wait": "sleep", "file_size": "256KiB",
                "secondary": "thread",
            }),
        );
        let orders = measured.counts["orders"] as u64;
        assert!(orders > 0, "{store}");
        assert_eq!(measured.counts["steps_lost"], 0.0);
        for name in ["order", "before-send", "persist-in", "persist-out"] {
            assert_eq!(op(&measured, name).service.count, orders, "{store}: {name}");
        }
        let trips = &op(&measured, "round-trip").service;
        // Those that were answered when the clients' loop had ended count as well; one was made ready and never due.
        assert!(orders - trips.count <= 1, "{store}: {} of {orders}", trips.count);
        assert!(op(&measured, "round-trip").response.is_some());
        let has = |name: &str| measured.ops.iter().any(|op| op.op == name);
        assert_eq!(has("sync"), store == "journal-fdatasync");
        assert_eq!(has("reply-gate") && has("business-gate"), store == "pair");
        assert!(checked >= orders, "{store}: {checked} of {orders}");
    }
}

#[test]
fn orders_trade_in_every_version() {
    for version in ["FIX.4.2", "FIX.4.4", "FIXT.1.1"] {
        let (measured, _) = whole(
            "fix",
            json!({
                "flow": "cross", "version": version, "rate": 500, "engine_wait": "sleep", "file_size": "256KiB",
            }),
        );
        let (orders, reports) = (measured.counts["orders"], measured.counts["reports"]);
        // Every second order makes three reports, the others one.
        assert!((reports - 2.0 * orders).abs() <= 2.0, "{reports} reports of {orders} orders");
    }
}

#[test]
fn a_closed_loop_has_one_order_open_at_a_time() {
    let (measured, _) = whole("fix", json!({ "arrival": "closed", "store": "memory" }));
    assert!(op(&measured, "round-trip").service.count > 0);
    assert_eq!(measured.load.asked_per_s, None);
}

#[test]
fn more_cpus_than_there_are_is_a_skip_with_the_number_that_fits() {
    let folder = tempfile::tempdir().unwrap();
    let session = session("fix", folder.path(), json!({ "engine_cores": 64 }));
    let there = std::thread::available_parallelism().unwrap().get();
    // As a worker does before it prepares; counted are the processors that it was given.
    let first = pickfs_sys::affinity::allowed_processors().unwrap()[0];
    pickfs_workload::pin(Some(first)).unwrap();
    let refused = find("fix").unwrap().make_ready(&session).err();
    pickfs_workload::pin(None).unwrap();
    if there < 65 {
        let has = format!("the machine has {there}; take engine_cores up to");
        assert!(matches!(&refused, Some(Fault::Skipped { reason }) if reason.contains(&has)));
    }
}

#[test]
fn what_an_order_outlives_follows_from_its_store() {
    pickfs_engine_workloads::add();
    let fix = find("fix").unwrap();
    let class =
        |store| (fix.durability)(&fix.validate(&params(json!({ "store": store }))).unwrap());
    assert_eq!(class("memory"), Durability::Nothing);
    assert_eq!(class("queue"), Durability::ProcessCrash);
    assert_eq!(class("journal-fdatasync"), Durability::PowerLoss);
    assert_eq!(class("pair"), Durability::HostLoss);
}
