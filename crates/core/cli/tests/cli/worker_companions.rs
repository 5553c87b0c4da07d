use std::time::Instant;

use pickfs_record::WorkerMessage;
use serde_json::{Value, json};

use crate::spoken::{arrivals, converse, count, finished, notes, operations, spec};

fn played(params: Value) -> Vec<WorkerMessage> {
    crate::spoken::played(500, "journal", params)
}

#[test]
fn readers_read_beside_the_writer_and_every_read_is_checked() {
    for (by, files, cache) in
        [("read", "same", "cached"), ("mmap", "several", "cached"), ("read", "several", "cold")]
    {
        let messages = played(json!({
            "sync": "fdatasync", "rate": 500, "file_size": "64KiB", "rewrite_every": 2,
            "readers": 2, "reader_by": by, "reader_files": files, "reader_cache": cache,
            "reader_rate": 300, "reader_size": 4096,
        }));
        let reads = count(&messages, "reads").expect("counted");
        assert!(reads > 0.0, "{by} {files}: {reads}");
        let timed =
            operations(&messages, "read").zip(operations(&messages, "read-2")).expect("timed");
        assert_eq!((timed.0 + timed.1) as f64, reads);
        let (of_rewritten, mixed) =
            (count(&messages, "reads_of_rewritten"), count(&messages, "reads_mixed"));
        assert!(of_rewritten.is_some_and(|reads| reads > 0.0), "{of_rewritten:?}");
        // A mix needs a write in the middle of a read; any more is a fault of the check.
        assert!(mixed.is_some_and(|mixed| mixed <= reads / 10.0), "{mixed:?} of {reads}");
        assert!(operations(&messages, "rewrite").is_some_and(|rewrites| rewrites > 0));
    }
}

#[test]
fn a_neighbour_makes_its_files_at_its_rate() {
    let began = Instant::now();
    let messages = played(json!({ "sync": "none", "neighbour_rate": 40 }));
    let most = 40.0 * began.elapsed().as_secs_f64() + 1.0;
    let files = count(&messages, "neighbour_files").expect("counted");
    // Twenty; fewer where the machine is busy, and more where it holds the writer up.
    assert!((1.0..=most).contains(&files), "{files} of {most}");
}

#[test]
fn wear_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let params = json!({ "sync": "none", "state": "worn", "worn_bytes": "2MiB" });
    let messages = converse(&spec("journal", params, folder.path()));
    let told = notes(&messages);
    assert!(told.iter().any(|note| note.starts_with("worn in: ")), "{told:?}");
    assert!(finished(&messages) && !folder.path().join("wear").exists(), "{messages:?}");
}

#[test]
fn one_sync_covers_many_records_and_each_is_durable_once() {
    let messages = played(json!({ "sync": "fdatasync", "sync_every": 10, "rate": 1000 }));
    let (appends, syncs) = (operations(&messages, "append"), count(&messages, "syncs"));
    let (appends, syncs) = (appends.expect("timed"), syncs.expect("counted"));
    assert!((syncs - appends as f64 / 10.0).abs() <= 2.0, "{syncs} for {appends}");
    let durable = operations(&messages, "durable").expect("timed");
    assert!(appends - durable < 10, "{durable} of {appends}");
}

#[test]
fn overload_is_taken_in_groups() {
    let messages = played(json!({ "sync_every": "group", "rate": 100_000, "batch": 16 }));
    let syncs = count(&messages, "syncs").expect("counted");
    let appends = operations(&messages, "append").expect("timed");
    assert!(syncs * 2.0 < appends as f64, "{syncs} syncs for {appends} records");
    assert!(arrivals(&messages).is_some_and(|arrivals| arrivals - appends < 16));
}

#[test]
fn bare_records_are_verified_by_their_place() {
    let messages = played(json!({
        "framing": "raw", "sync": "none", "size": "10-700", "file_size": "16KiB", "rate": 2000,
    }));
    assert!(count(&messages, "rolls").is_some_and(|rolls| rolls > 0.0));
}

#[test]
fn the_articles_closed_loop_has_no_response() {
    let messages = played(json!({ "arrival": "closed", "pause": "50us", "sync": "none" }));
    let open = messages.iter().any(|message| match message {
        WorkerMessage::Op(op) => op.response.is_some(),
        WorkerMessage::Load(load) => load.asked_per_s.is_some(),
        _ => false,
    });
    assert!(!open);
    assert!(count(&messages, "timing_error_max_ns").is_none());
}

#[test]
fn a_recording_is_replayed_and_a_journal_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let csv = folder.path().join("recording.csv");
    std::fs::write(&csv, "time_ms,bytes\n0,100\n1,40\n5,900\n").expect("written");
    let params = json!({
        "arrival": "recorded", "size": "recorded", "recording": csv, "speed": 2.0, "sync": "none",
    });
    let mut spec = spec("journal", params, folder.path());
    spec.measure_ns = 500_000_000;
    let messages = converse(&spec);
    assert!(finished(&messages), "{messages:?}");
    // Three messages in 7.5 ms (the mean gap stands at the end), twice as fast: 800 a second, 400 in all; at
    // their own speed it would be 200.
    assert!((220..=420).contains(&arrivals(&messages).expect("load")), "{:?}", arrivals(&messages));
    assert!(count(&messages, "timing_error_max_ns").is_some());
    let messages = played(json!({
        "arrival": "recorded", "size": "recorded", "recording": folder.path().join("journal-0"),
        "sync": "none",
    }));
    assert!(arrivals(&messages).is_some_and(|arrivals| arrivals > 0));
}
