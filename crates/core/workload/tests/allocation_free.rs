use pickfs_record::{Arrival, Clock, MonotonicClock, RecorderOptions, recorder};
use pickfs_testkit::{Counting, allocated};
use pickfs_workload::{
    Appending, Bench, Due, Fault, Nothing, Pace, Span, Work, column, drive, find,
};
use serde_json::json;

#[global_allocator]
static COUNTING: Counting = Counting;

fn options(ops: &[String], responses: bool) -> RecorderOptions {
    RecorderOptions { ops: ops.to_vec(), responses, spikes_max: 20 }
}

/// Allocations and arrivals of the loop alone, over more than two seconds: two are handed over.
fn allocations<W: Work>(work: &mut W, ops: &[String], arrival: Arrival) -> (u64, u64) {
    let mut pace = Pace::new(arrival, 1, 0);
    let (operations, _keeper) = recorder(&options(ops, pace.is_open()));
    let mut bench = Bench::new(operations, pace.is_open(), None);
    let span = Span::time(2_200_000_000);
    let before = allocated();
    let driven = drive(&MonotonicClock, work, &mut pace, &mut bench, span).expect("no fault");
    (allocated() - before, driven.arrivals)
}

#[test]
fn arrivals_that_do_nothing_allocate_nothing() {
    let open = Arrival::Poisson { rate_per_s: 20_000.0 };
    let (count, arrivals) = allocations(&mut Nothing, &["null".into()], open);
    assert!(arrivals > 100, "{arrivals}");
    assert_eq!(count, 0, "in {arrivals} arrivals");
}

#[test]
fn appends_and_syncs_allocate_nothing() {
    let journal = find("journal").expect("a row");
    for (path, sync, every) in
        [("pwrite", "none", json!("record")), ("pwrite", "fdatasync", json!("group"))]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let asked = json!({
            "write_path": path, "sync": sync, "sync_every": every, "size": "32-400",
            "file_size": "256MiB", "preallocation": "none",
        });
        let params = journal.validate(asked.as_object().expect("object")).expect("legal");
        let ops = (journal.ops)(&params);
        let mut appending = Appending::create(folder.path(), &params, None, 3).expect("made");
        let open = Arrival::Poisson { rate_per_s: 5_000.0 };
        let (count, arrivals) = allocations(&mut appending, &ops, open);
        assert!(arrivals > 100, "{arrivals}");
        assert_eq!(count, 0, "{path} {sync}: in {arrivals} arrivals");
    }
}

#[test]
fn repeated_calls_of_a_column_store_allocate_nothing() {
    use column::{Blocks, Handle, Layout, ReadBy, open_append, replace, unkept};
    let longs = Layout::Longs;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("column");
    let mut append = || open_append(&path, longs, &[7; 80_000], 10_000, 1 << 20).expect("appended");
    append();
    let mut handle = Handle::create(&folder.path().join("handle"), longs).expect("made");
    let mut calls: [(&str, &mut dyn FnMut()); 3] = [
        ("open append", &mut append),
        ("handle append", &mut || handle.append(&[7; 80]).expect("appended")),
        ("replace", &mut || replace(&path, longs, &[0, 9_999], 42).expect("replaced")),
    ];
    for (name, call) in &mut calls {
        let before = allocated();
        (0..10).for_each(|_| call());
        assert_eq!(allocated() - before, 0, "{name}");
    }
    let count = |reads| {
        let blocks = Blocks::new(vec![path.clone()], 500, (reads, 18), 1);
        [ReadBy::Mapped, ReadBy::MappedPerRead, ReadBy::Pread].map(|by| {
            let mut open = blocks.open(by).expect("opened");
            let before = allocated();
            blocks.read(&mut open, &mut unkept).expect("read");
            allocated() - before
        })
    };
    assert_eq!(count(2), count(18), "more reads need no more memory");
}

struct Careless;

impl Work for Careless {
    fn ready(&mut self, _time_ns: u64) -> Result<(), Fault> {
        std::hint::black_box(Box::new(7));
        Ok(())
    }

    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        Nothing.run(clock, arrival, bench)
    }
}

#[test]
fn a_careless_arrival_is_caught() {
    let closed = Arrival::Closed { pause_ns: 1_000_000 };
    let (count, arrivals) = allocations(&mut Careless, &["null".into()], closed);
    assert!(count >= arrivals, "{count} in {arrivals} arrivals");
}
