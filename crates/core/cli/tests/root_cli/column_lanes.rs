use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use pickfs_record::{PhaseRecord, TrialSpec, WorkerMessage, phase::Heat, trial::WORKER};
use pickfs_sys::starting_gate::StartingGate;
use pickfs_testkit::{only_if, until};
use pickfs_workload::phase::merged_phases;
use serde_json::{Value, json};

use crate::spoken::{finished, may_mount, spec, talk, with};

const LANES: u32 = 3;

struct Ext4 {
    point: tempfile::TempDir,
    _image: tempfile::NamedTempFile,
}

impl Ext4 {
    fn new(bytes: u64) -> Ext4 {
        let image = tempfile::NamedTempFile::new_in("/var/tmp").expect("an image");
        image.as_file().set_len(bytes).expect("a length");
        succeed(Command::new("mkfs.ext4").arg("-qF").arg(image.path()));
        let point = tempfile::tempdir().expect("a folder");
        succeed(Command::new("mount").args(["-o", "loop"]).arg(image.path()).arg(point.path()));
        Ext4 { point, _image: image }
    }

    fn path(&self) -> PathBuf {
        self.point.path().to_owned()
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.point.path()).status();
    }
}

fn succeed(command: &mut Command) {
    let output = command.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin").output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn lane_spec(directory: &Path, lane: u32, lanes: u32, more: &Value) -> TrialSpec {
    let params = json!({
        "lanes": lanes, "scale": "tiny", "files_limit": "250MiB", "threads": 2, "random_variants": "no",
    });
    TrialSpec { lane, lanes, ..spec("column", with(params, more), directory) }
}

fn trial(directory: &Path, lanes: u32, more: &Value) -> Vec<Vec<WorkerMessage>> {
    let gate = StartingGate::create(lanes).expect("a gate");
    let started: Vec<Child> = (0..lanes).map(|_| worker_at(&gate)).collect();
    let talks = started.into_iter().zip(0..).map(|(worker, lane)| {
        let spec = lane_spec(directory, lane, lanes, more);
        thread::spawn(move || ended(worker, &spec))
    });
    talks.collect::<Vec<_>>().into_iter().map(|talk| talk.join().expect("no panic")).collect()
}

fn worker_at(gate: &StartingGate) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pickfs"));
    command.arg(WORKER).stdin(Stdio::piped()).stdout(Stdio::piped());
    gate.hand_to(&mut command);
    command.spawn().expect("the worker starts")
}

fn ended(mut worker: Child, spec: &TrialSpec) -> Vec<WorkerMessage> {
    let messages = talk(&mut worker, spec);
    worker.wait().expect("it ends");
    messages
}

fn phases(messages: &[WorkerMessage]) -> Vec<PhaseRecord> {
    let of = |message: &WorkerMessage| match message {
        WorkerMessage::Phase(phase) => Some((**phase).clone()),
        _ => None,
    };
    messages.iter().filter_map(of).collect()
}

#[test]
fn lanes_run_every_row_together_and_cold_rows_are_cold() {
    only_if!(may_mount());
    let ext4 = Ext4::new(1 << 30);
    let lanes = trial(&ext4.path(), LANES, &json!({}));
    for (lane, messages) in lanes.iter().enumerate() {
        assert!(finished(messages), "lane {lane}: {:?}", messages.last());
    }
    let phases: Vec<Vec<PhaseRecord>> = lanes.iter().map(|messages| phases(messages)).collect();
    let merged = merged_phases(&phases);
    assert!(merged.len() > 60, "{} rows", merged.len());
    for phase in &merged {
        assert!(
            phase.is_finished() && phase.lanes == LANES,
            "{}: {:?}",
            phase.phase,
            phase.outcome
        );
        assert!(phase.rate_per_s > 0.0, "{}", phase.phase);
        let has = |kind: &str| phase.flags.iter().any(|flag| flag.kind == kind);
        assert!(
            phase.heat != Some(Heat::Cold) || !has("not-cold"),
            "{}: {:?}",
            phase.phase,
            phase.flags
        );
    }
    for (one, other) in phases[0].iter().zip(&phases[1]) {
        assert_eq!(one.phase, other.phase);
        let apart = one.began_ns.max(other.began_ns)
            < one.ended_ns.min(other.ended_ns).max(1) + 1_000_000_000;
        assert!(apart, "{}: the lanes were a second apart", one.phase);
    }
    let left = std::fs::read_dir(ext4.path()).expect("a folder").count();
    assert_eq!(left, 1, "lost+found alone is left");
}

#[test]
fn too_small_a_disk_is_refused_by_every_lane() {
    only_if!(may_mount());
    let ext4 = Ext4::new(16 << 20);
    for messages in trial(&ext4.path(), 2, &json!({})) {
        let Some(WorkerMessage::Skipped { reason }) = messages.last() else {
            panic!("{:?}", messages.last())
        };
        assert!(reason.contains("2 lanes need") && reason.contains("use fewer lanes"), "{reason}");
    }
}

#[test]
fn a_file_that_a_neighbour_changes_fails_the_trial_for_all() {
    only_if!(may_mount());
    let ext4 = Ext4::new(1 << 30);
    let directory = ext4.path();
    let changed = directory.join("lane-2/seqreadMedium");
    let waiter = thread::spawn(move || change_when_there(&changed));
    let lanes = trial(&directory, 2, &json!({ "suites": "write,read" }));
    waiter.join().expect("it ends");
    for messages in &lanes {
        assert!(
            matches!(messages.last(), Some(WorkerMessage::Failed { .. })),
            "{:?}",
            messages.last()
        );
    }
    let Some(WorkerMessage::Failed { reason }) = lanes[1].last() else { unreachable!() };
    assert!(reason.contains("seqreadMedium"), "{reason}");
}

/// Waits for the row after the last one that writes the file, and changes a byte that nobody replaces.
fn change_when_there(path: &Path) {
    use std::os::unix::fs::FileExt;
    let later = path.with_file_name("randomread0");
    until("the row after the file", || later.exists().then_some(()));
    let file = File::options().write(true).open(path).expect("it is there");
    file.write_all_at(&[0xfe], 4).expect("a write");
}
