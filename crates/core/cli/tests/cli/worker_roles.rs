use pickfs_record::WorkerMessage;
use pickfs_testkit::until;
use serde_json::json;

use crate::spoken::{
    arrivals, converse, count, ended, is_dead, notes, operations, played, ready, spec, with,
};

#[test]
fn every_message_of_a_queue_is_read_by_another_process() {
    for way in [
        json!({}),
        json!({ "tailer": "read", "keep": "0" }),
        json!({ "medium": "memory" }),
        json!({ "touch": "ahead", "touch_pages": 8, "madvise": "normal", "allocation": "sparse" }),
    ] {
        let params = json!({ "rate": 2000, "segment_size": "256KiB", "wait": "sleep" });
        let messages = played(200, "queue", with(params, &way));
        let arrivals = arrivals(&messages);
        assert!(arrivals.is_some_and(|arrivals| arrivals > 0), "{way}");
        assert_eq!(
            (operations(&messages, "append"), operations(&messages, "write-to-read")),
            (arrivals, arrivals)
        );
        assert!(notes(&messages).iter().any(|note| note.starts_with("two processes")), "{way}");
    }
}

#[test]
fn a_read_by_another_process_has_a_response_time() {
    let messages = played(200, "queue", json!({ "rate": 1000, "wait": "sleep" }));
    let op = messages.iter().find_map(|message| match message {
        WorkerMessage::Op(op) if op.op == "write-to-read" => Some(op),
        _ => None,
    });
    let op = op.expect("an operation");
    let response = op.response.as_ref().expect("open loop");
    assert_eq!(response.count, op.service.count);
    // One clock for both processes: a message is never read before it is written, nor a second later.
    assert!(op.service.min_ns > 0 && op.service.max_ns < 10_000_000_000, "{:?}", op.service);
}

#[test]
fn secondaries_are_processes_and_every_copy_is_compared() {
    for way in [
        json!({}),
        json!({ "store": "queue" }),
        json!({ "degree": "durable", "secondaries": 2, "copies": 2 }),
    ] {
        let params = json!({ "rate": 500, "wait": "sleep", "waiting": "block" });
        let messages = played(200, "pair", with(params, &way));
        assert_eq!(
            operations(&messages, "wire"),
            count(&messages, "batches").map(|count| count as u64)
        );
        assert!(notes(&messages)[0].contains("a process each"), "{:?}", notes(&messages));
    }
}

#[test]
fn an_order_is_on_two_nodes_before_the_book_sees_it() {
    for secondary in ["process", "thread"] {
        let params = json!({
            "store": "pair", "rate": 300, "engine_wait": "sleep", "file_size": "1MiB",
            "secondary": secondary,
        });
        let messages = played(200, "fix", params);
        let orders = count(&messages, "orders").map(|orders| orders as u64);
        assert!(orders.is_some_and(|orders| orders > 0));
        for op in ["order", "persist-in", "persist-out"] {
            assert_eq!(operations(&messages, op), orders, "{op}");
        }
        assert!(operations(&messages, "reply-gate").is_some_and(|gates| gates > 0));
    }
}

fn children(process_id: u32) -> Vec<String> {
    let list = format!("/proc/{process_id}/task/{process_id}/children");
    let list = std::fs::read_to_string(list).unwrap_or_default();
    list.split_whitespace().map(String::from).collect()
}

#[test]
fn a_role_ends_with_its_worker() {
    let folder = tempfile::tempdir().expect("a folder");
    let spec = spec("queue", json!({ "rate": 1000, "wait": "sleep" }), folder.path());
    let (mut worker, _lines) = ready(&spec);
    let roles = children(worker.id());
    assert_eq!(roles.len(), 1, "{roles:?}");
    worker.kill().expect("ours");
    worker.wait().expect("ours");
    until("the end of the role", || is_dead(&roles[0]).then_some(()));
}

#[test]
fn an_unknown_role_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    for workload in ["journal", "pair"] {
        let mut spec = spec(workload, json!({}), folder.path());
        spec.role = "conductor".into();
        let end = ended(&converse(&spec));
        assert!(end.starts_with("Failed") && end.contains("conductor"), "{end}");
    }
}
