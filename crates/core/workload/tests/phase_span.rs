//! One test alone in its process: the kernel counts the CPU of all its threads.

use std::{hint::black_box, path::Path, thread, time::Duration};

use pickfs_record::{PhaseRecord, WorkUnit};
use pickfs_sys::own_usage::OwnUsage;
use pickfs_testkit::{fake_spec, params};
use pickfs_workload::{
    Session,
    phase::{Done, PhaseBench, PhaseRunner, PhaseSpec},
};
use serde_json::json;

const BURNT_NS: u64 = 300_000_000;

fn cpu_ns() -> u64 {
    let usage = OwnUsage::now();
    usage.user_ns + usage.system_ns
}

fn burn() {
    let before_ns = cpu_ns();
    while cpu_ns() - before_ns < BURNT_NS {
        (0..100_000u64).for_each(|number| _ = black_box(number));
    }
}

fn session(directory: &Path) -> Session {
    Session::new(fake_spec("files", directory, params(json!({}))), None).expect("a session")
}

fn ran(work: impl FnOnce(&mut PhaseBench)) -> PhaseRecord {
    let folder = tempfile::tempdir().expect("a directory");
    let mut runner = PhaseRunner::new(&session(folder.path())).expect("a runner");
    let spec = PhaseSpec::new("one", "test", WorkUnit::Calls);
    let done = runner.run(&spec, |bench| {
        work(bench);
        Ok(Done::work(1.0))
    });
    done.expect("it runs");
    runner.finish().phases.remove(0)
}

fn used_ns(record: &PhaseRecord) -> u64 {
    record.cpu_user_ns + record.cpu_system_ns
}

/// The span of a thread is the phase's, however long its first thread sleeps around it.
fn in_a_thread(bench: &mut PhaseBench) {
    let mut other = bench.split(1).remove(0);
    burn();
    bench.span_begins();
    // SLEEP: time outside of the span.
    thread::sleep(Duration::from_millis(600));
    let work = move || {
        other.span_begins();
        // SLEEP: time inside of the span.
        thread::sleep(Duration::from_millis(50));
        other.span_ends();
    };
    thread::spawn(work).join().expect("it ends");
    burn();
    bench.span_ends();
}

#[test]
fn cpu_and_time_are_of_the_same_span() {
    let whole = ran(|_| burn());
    assert!(used_ns(&whole) >= BURNT_NS, "without a word the whole call counts: {whole:?}");

    let inner = ran(|bench| {
        burn();
        bench.span_begins();
        // SLEEP: time inside of the span.
        thread::sleep(Duration::from_millis(550));
        bench.span_ends();
        burn();
    });
    assert!(used_ns(&inner) < BURNT_NS / 3, "{inner:?}");
    assert!(inner.values.contains_key("machine_busy_cpus"), "{inner:?}");

    let begun = ran(|bench| {
        burn();
        bench.span_begins();
        // SLEEP: time inside of the span.
        thread::sleep(Duration::from_millis(50));
    });
    assert!(used_ns(&begun) < BURNT_NS / 3, "it ends with the call: {begun:?}");
    assert!(!begun.values.contains_key("machine_busy_cpus"), "{begun:?}");

    let threaded = ran(in_a_thread);
    assert!(used_ns(&threaded) < BURNT_NS / 3, "{threaded:?}");
    assert!(threaded.elapsed_ns < 600_000_000, "{threaded:?}");
    assert!(threaded.values.contains_key("machine_busy_cpus"), "{threaded:?}");
}
