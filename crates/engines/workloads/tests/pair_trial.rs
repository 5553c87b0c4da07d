#![allow(clippy::unwrap_used)]

mod trial;

use pickfs_record::{Durability, record::OpRecord};
use pickfs_testkit::params;
use pickfs_workload::{Measured, find};
use serde_json::{Value, json};

fn trial(asked: Value) -> (Measured, u64) {
    // Tests share their processors with others; secondaries that are processes need the worker:
    // crates/core/cli/tests/cli/worker_roles.rs.
    let mut whole = params(json!({
        "rate": 1000, "wait": "sleep", "waiting": "block", "secondary": "thread",
    }));
    whole.extend(params(asked));
    trial::whole("pair", Value::Object(whole))
}

fn op<'a>(measured: &'a Measured, name: &str) -> Option<&'a OpRecord> {
    measured.ops.iter().find(|op| op.op == name)
}

#[test]
fn each_degree_has_its_operations_over_both_stores_and_every_copy_is_compared() {
    let ways = [
        (json!({ "degree": "none" }), 1),
        (json!({ "degree": "local", "sync": "fdatasync" }), 1),
        (json!({ "degree": "local", "store": "queue" }), 1),
        (json!({}), 2),
        (json!({ "store": "queue", "client": "none" }), 2),
        (json!({ "degree": "durable", "sync": "fdatasync", "secondaries": 2, "copies": 2 }), 3),
        (json!({ "degree": "durable", "store": "queue" }), 2),
    ];
    for (way, copies) in ways {
        let (measured, checked) = trial(way.clone());
        let arrivals = measured.load.arrivals;
        assert!(arrivals > 0, "{way}");
        assert_eq!(measured.counts["messages"] as u64, arrivals, "{way}");
        assert_eq!(checked % copies, 0, "{way}");
        assert!(checked / copies >= arrivals, "{way}: {checked} of {arrivals}");
        let operations = |name: &str| op(&measured, name).map(|op| op.service.count);
        let batches = measured.counts["batches"] as u64;
        assert_eq!(
            (operations("journal"), operations("gate")),
            (Some(batches), Some(batches)),
            "{way}"
        );
        // A batch that is open when the time is over counts.
        assert_eq!(operations("processed"), Some(arrivals), "{way}");
        assert!(op(&measured, "processed").unwrap().response.is_some(), "{way}");
        assert_eq!(operations("wire"), (copies > 1).then_some(batches), "{way}");
        let has_client = way["client"] != "none";
        assert_eq!(operations("replied"), has_client.then_some(arrivals), "{way}");
    }
}

#[test]
fn messages_that_are_due_together_go_together() {
    let (measured, _) = trial(json!({ "rate": 20_000, "degree": "local", "sync": "fdatasync" }));
    assert!(measured.counts["batch_max"] > 1.0, "{:?}", measured.counts);
    assert!(measured.counts["batches"] < measured.load.arrivals as f64);
    assert_eq!(op(&measured, "processed").unwrap().service.count, measured.load.arrivals);
}

#[test]
fn a_bare_ping_pong_is_the_wire_alone() {
    for medium in ["tcp", "udp"] {
        for waiting in ["spin", "block"] {
            let (measured, checked) = trial(json!({ "medium": medium, "waiting": waiting }));
            assert_eq!(measured.ops.len(), 1);
            assert_eq!(op(&measured, "wire").unwrap().service.count, measured.load.arrivals);
            assert!(checked >= measured.load.arrivals && checked > 0);
        }
    }
}

#[test]
#[cfg(not(feature = "aeron"))]
fn a_build_without_aeron_says_how_to_get_it() {
    pickfs_engine_workloads::add();
    for workload in ["pair", "fix"] {
        let refused = find(workload).unwrap().validate(&params(json!({ "transport": "aeron" })));
        let reason = refused.unwrap_err().to_string();
        assert!(reason.contains("scripts/aeron"), "{workload}: {reason}");
    }
}

#[test]
fn parameters_that_do_not_go_together_are_told_and_durability_follows_the_degree() {
    pickfs_engine_workloads::add();
    let pair = find("pair").unwrap();
    let resolved = |value: Value| pair.validate(&params(value)).unwrap();
    assert!(pair.validate(&params(json!({ "copies": 2 }))).is_err());
    assert!(pair.validate(&params(json!({ "size": 7 }))).is_err());
    let bare = resolved(json!({ "medium": "udp", "sync": "fdatasync" }));
    assert!((pair.incompatible)(&bare).is_some());
    let classes = [
        (json!({ "medium": "tcp" }), Durability::Nothing),
        (json!({ "degree": "none" }), Durability::Nothing),
        (json!({ "degree": "local" }), Durability::ProcessCrash),
        (json!({ "degree": "local", "sync": "fdatasync" }), Durability::PowerLoss),
        (json!({}), Durability::HostLoss),
        (json!({ "degree": "durable" }), Durability::HostLoss),
    ];
    for (asked, class) in classes {
        assert_eq!((pair.durability)(&resolved(asked.clone())), class, "{asked}");
    }
}
