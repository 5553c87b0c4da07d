#![cfg(feature = "guest")]
#![allow(clippy::unwrap_used)]

mod guest_kernel;
mod pickfs;

use std::{
    path::Path,
    process::{Child, Command, Stdio},
};

use guest_kernel::{engines_over, kernel, output_within, signal_engine, wait_until_gone};
use pickfs::{command, folder, only_run, record, typed, without_root};
use pickfs_record::{BackingKind, Outcome};
use pickfs_testkit::until;
use rustix::process::{Pid, Signal, kill_process};

const RUN: &str = "run quick --engine qemu-tcg --fs ext2 --blocks 1 --size 64MiB
    --raw-probe 50ms --warmup 20ms --set sync=fdatasync --set rate=20/s --set file_size=64KiB";

fn guest_run(cache: &Path, out: &Path, measure: &str) -> Command {
    let mut command = command(&typed(RUN));
    command.args(["--measure", measure, "--out"]).arg(out);
    command.env("PICKFS_CACHE_DIR", cache).current_dir(out);
    without_root(&mut command);
    command
}

fn started(cache: &Path, out: &Path) -> Child {
    let mut command = guest_run(cache, out, "60s");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn files_of(run: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(run).unwrap().flatten();
    let mut names: Vec<_> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_cell_in_a_guest_names_engine_driver_kernel_and_block_size() {
    let Some((cache, _)) = kernel() else { return };
    let (_kept, out) = folder();
    let said = output_within(3, &mut guest_run(&cache, &out, "1s"));
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(said.status.code(), Some(0), "{error}");
    let run = only_run(&out);
    let record = record(&run);
    let trial = &record.trials[0];
    assert_eq!((&trial.outcome, trial.backing), (&Outcome::Finished, BackingKind::GuestImage));
    let fact = |key: &str| trial.environment.get(key).unwrap_or_else(|| panic!("no {key}"));
    // The stock kernel has no driver of ext2 but that of ext4.
    assert_eq!((fact("guest.engine"), fact("mount.driver")), ("qemu-tcg", "ext4"));
    assert!(fact("guest.kernel").starts_with(|first: char| first.is_ascii_digit()));
    assert!(["none", "writeback"].contains(&fact("guest.disk_cache")));
    for key in ["mount.block_size_bytes", "guest.call_ns", "guest.fill_ns_per_mib"] {
        assert!(fact(key).parse::<f64>().unwrap() > 0.0, "{key}");
    }
    assert!(trial.ops.iter().any(|op| op.op == "durable" && op.service.count > 0));
    assert_eq!(files_of(&run), ["report.html", "run.pickfs"]);
    assert!(engines_over(&out).is_empty());
}

#[test]
fn a_guest_that_is_killed_is_a_failed_row_and_leaves_nothing() {
    let Some((cache, _)) = kernel() else { return };
    let (_kept, out) = folder();
    let mut lab = started(&cache, &out);
    signal_engine(&out, Signal::KILL);
    let ended = until("the end of the lab", || lab.try_wait().unwrap());
    assert_eq!(ended.code(), Some(3), "a failed trial");
    wait_until_gone(&out);
    let run = only_run(&out);
    let record = record(&run);
    let Outcome::Failed { reason } = &record.trials[0].outcome else { panic!("{record:?}") };
    assert!(reason.contains("guest") && reason.contains("signal 9"), "{reason}");
    assert_eq!(files_of(&run), ["report.html", "run.pickfs"]);
}

#[test]
fn a_guest_does_not_outlive_a_lab_that_is_killed() {
    let Some((cache, _)) = kernel() else { return };
    let (_kept, out) = folder();
    let mut lab = started(&cache, &out);
    until("an engine", || engines_over(&out).pop());
    kill_process(Pid::from_child(&lab), Signal::KILL).unwrap();
    lab.wait().unwrap();
    wait_until_gone(&out);
}
