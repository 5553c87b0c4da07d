//! A disk that takes 10 ms for a flush never shows less, N syncs are counted as N, one append is
//! one write, and a stall of the disk stands where the disk itself says that it was.

use pickfs_testkit::only_if;
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::lab_session::{Session, may_run};
use crate::pickfs::{PICKFS, folder, only_run, record, typed};
use crate::slow_disk::SlowDisk;
use crate::spoken::{count, operations, spec, talk};
use pickfs_record::{
    Event, Outcome, TrialRecord, TrialSpec, WorkerMessage, record::OpRecord, trial::WORKER,
};
use pickfs_sys::{
    loop_device::LoopDevice,
    mount::{MountRequest, Mounted},
};
use serde_json::{Value, json};

const DISK_BYTES: usize = 64 << 20;
const FLUSH_MS: u64 = 10;
const FLUSH_NS: u64 = FLUSH_MS * 1_000_000;

fn words<'a>(device: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let common = typed(
        "run quick --fs ext4 --blocks 1 --erase --device-state discarded --raw-probe 200ms
         --warmup 100ms --set file_size=1MiB --set sync=fdatasync",
    );
    [&common[..], &["--device", device], more].concat()
}

fn first_trial(out: &Path) -> TrialRecord {
    let trial = record(&only_run(out)).trials.swap_remove(0);
    assert_eq!(trial.outcome, Outcome::Finished);
    trial
}

fn op<'a>(trial: &'a TrialRecord, name: &str) -> &'a OpRecord {
    trial.ops.iter().find(|op| op.op == name).unwrap()
}

#[test]
fn a_flush_of_ten_milliseconds_never_shows_less() {
    only_if!(may_run(&["mkfs.ext4", "losetup", "/dev/fuse"]));
    let (_folder, out) = folder();
    let disk = SlowDisk::mount(DISK_BYTES);
    disk.set_flush_ms(FLUSH_MS);
    let device = disk.attach();
    let more = ["--measure", "1s", "--set", "rate=25/s"];
    let (said, _) = Session::start(&words(device.path(), &more), &out).end();
    assert_eq!(said.code, Some(0), "{said:?}");
    let trial = first_trial(&out);
    for name in ["durable", "sync"] {
        let operations = &op(&trial, name).service;
        assert!(operations.count >= 3 && operations.min_ns >= FLUSH_NS, "{name}: {operations:?}");
        assert!(operations.quantiles.iter().all(|row| row.value_ns >= FLUSH_NS), "{name}");
    }
    assert!(op(&trial, "durable").response.as_ref().unwrap().min_ns >= FLUSH_NS);
    let raw = trial.raw.as_ref().unwrap();
    assert!(raw.p50_ns >= FLUSH_NS, "the raw probe knows it too: {raw:?}");
    let card = record(&only_run(&out)).card;
    let flush_ns: u64 = card.get("card.flush_p50_ns").unwrap().parse().unwrap();
    assert!(flush_ns >= FLUSH_NS, "and the set-up card");
    assert!(disk.flushes() as f64 >= trial.counts["syncs"], "no sync without a flush of the disk");
}

fn stalled(more: &[&str]) -> (TrialRecord, (u64, u64)) {
    let (_folder, out) = folder();
    let disk = SlowDisk::mount(DISK_BYTES);
    let device = disk.attach();
    let more = [&["--measure", "3s"], more].concat();
    let mut session = Session::start(&words(device.path(), &more), &out);
    session.wait_for(|event| match event {
        Event::TrialProgress { phase, operations, .. } => phase == "measure" && *operations > 0,
        _ => false,
    });
    disk.stall_once_ms(200);
    let (said, _) = session.end();
    assert_eq!(said.code, Some(0), "{said:?}");
    (first_trial(&out), disk.stall_ns().expect("the disk stalled"))
}

/// One sync among the worst holds the stall, by the disk's own record. A busy machine may make another one worse.
fn stall_is_one_spike(trial: &TrialRecord, (began_ns, ended_ns): (u64, u64)) {
    for name in ["sync", "durable"] {
        let op = op(trial, name);
        let spikes = op.spikes.iter();
        let spikes: Vec<_> =
            spikes.filter(|spike| spike.start_ns <= began_ns && spike.end_ns >= ended_ns).collect();
        assert_eq!(spikes.len(), 1, "{name}: {:?} holds {began_ns} to {ended_ns}", op.spikes);
        assert!(op.service.max_ns >= spikes[0].end_ns - spikes[0].start_ns, "{name}");
    }
}

#[test]
fn a_stall_stands_where_the_disk_says_and_arrivals_behind_it_wait() {
    only_if!(may_run(&["mkfs.ext4", "losetup", "/dev/fuse"]));
    let (trial, stall) = stalled(&["--set", "rate=200/s"]);
    stall_is_one_spike(&trial, stall);
    let load = trial.load.as_ref().unwrap();
    // 40 arrivals were due in the stall; those behind it waited for it, and that is the candidate's.
    assert!(load.late_queue >= 20, "{load:?}");
    let durable = op(&trial, "durable");
    let response = durable.response.as_ref().unwrap();
    let at =
        |operations: &pickfs_record::record::Times| operations.quantile(0.98).unwrap().value_ns;
    assert!(at(response) > 50_000_000, "a tenth of the arrivals began behind the stall");
    assert!(at(&durable.service) < at(response), "and only one of them was slow itself");
    assert!(response.max_ns >= stall.1 - stall.0);
}

#[test]
fn a_closed_loop_shows_the_stall_once_and_claims_no_response() {
    only_if!(may_run(&["mkfs.ext4", "losetup", "/dev/fuse"]));
    let (trial, stall) = stalled(&["--set", "arrival=closed", "--set", "pause=5ms"]);
    stall_is_one_spike(&trial, stall);
    let durable = op(&trial, "durable");
    assert!(durable.response.is_none(), "without a schedule nobody can say who waited");
}

#[test]
fn an_image_on_a_copying_host_is_written_in_place() {
    only_if!(may_run(&["mkfs.ext4", "mkfs.btrfs"]));
    let (_folder, place) = folder();
    let (host, out) = (place.join("host"), place.join("runs"));
    let file = fs::File::create(place.join("btrfs")).unwrap();
    file.set_len(400 << 20).unwrap();
    let made = Command::new("mkfs.btrfs").arg("-q").arg(place.join("btrfs")).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    fs::create_dir(&host).unwrap();
    let file = fs::File::options().read(true).write(true).open(place.join("btrfs")).unwrap();
    let device = LoopDevice::attach(&file).unwrap();
    let mounted = Mounted::mount(&MountRequest::new(device.path(), &host, "btrfs")).unwrap();
    let more = format!(
        "run quick --fs ext4 --blocks 1 --size 64MiB --image-dir {} --measure 500ms --warmup 50ms \
         --raw-probe 100ms --set sync=fdatasync --set rate=200/s --set file_size=1MiB",
        host.display()
    );
    let (said, _) = Session::start(&typed(&more), &out).end();
    assert_eq!(said.code, Some(0), "{said:?}");
    let image = first_trial(&out).image.unwrap();
    assert!(image.direct_io && image.holes_before_bytes == 0 && image.holes_after_bytes == 0);
    // Copied on write, each sync would have torn the image into more extents.
    assert_eq!(image.extents_before, image.extents_after, "{image:?}");
    mounted.unmount().unwrap();
    // A namespace of a test beside this one may hold the mount: the device goes with its last user.
    let _ = device.detach();
}

fn traced(params: Value) -> (Vec<WorkerMessage>, Vec<String>) {
    let (_folder, directory) = folder();
    let trace = directory.join("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-s", "64", "-e", "trace=pwrite64,write,fdatasync,fsync,pwritev2"]);
    let mut child = strace
        .arg("-o")
        .arg(&trace)
        .args([PICKFS, WORKER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let spec = TrialSpec { measure_ns: 500_000_000, ..spec("journal", params, &directory) };
    let messages = talk(&mut child, &spec);
    child.wait().unwrap();
    assert_eq!(messages.last(), Some(&WorkerMessage::Finished));
    let text = fs::read_to_string(&trace).unwrap();
    let lines = text.lines().skip_while(|line| !line.contains("\\\"event\\\":\\\"ready")).skip(1);
    let measured = lines.take_while(|line| !line.contains("\\\"event\\\":\\\"op"));
    (messages, measured.map(String::from).collect())
}

fn calls(trace: &[String], name: &str) -> u64 {
    trace.iter().filter(|line| line.contains(&format!(" {name}("))).count() as u64
}

/// After the last operation the record that was made ready for an arrival that never came is written and
/// synced, so that verification finds whole records: one call of each more than operations.
const AFTER_THE_LAST_OPERATION: u64 = 1;

#[test]
fn every_sync_and_every_append_is_one_call_of_the_kernel() {
    only_if!(may_run(&["strace"]));
    for every in [1, 10] {
        let (messages, trace) = traced(json!({
            "sync": "fdatasync", "rate": 400, "write_path": "pwrite", "sync_every": every,
        }));
        let syncs = count(&messages, "syncs").unwrap() as u64;
        assert!(syncs >= 2, "{syncs}");
        assert_eq!(calls(&trace, "fdatasync"), syncs + AFTER_THE_LAST_OPERATION, "every {every}");
        assert_eq!(operations(&messages, "sync"), Some(syncs));
        let appends = operations(&messages, "append").unwrap();
        assert!(appends >= 10);
        assert_eq!(calls(&trace, "pwrite64"), appends + AFTER_THE_LAST_OPERATION, "every {every}");
        assert_eq!(calls(&trace, "write"), 0, "nothing is said while it measures");
    }
}

#[test]
fn without_sync_there_is_none() {
    only_if!(may_run(&["strace"]));
    let (messages, trace) =
        traced(json!({ "sync": "none", "rate": 400, "write_path": "seek-write" }));
    let syncs = ["fdatasync", "fsync"].map(|name| calls(&trace, name));
    assert_eq!((count(&messages, "syncs"), syncs), (Some(0.0), [0, 0]));
    assert_eq!(
        calls(&trace, "write"),
        operations(&messages, "append").unwrap() + AFTER_THE_LAST_OPERATION
    );
}
