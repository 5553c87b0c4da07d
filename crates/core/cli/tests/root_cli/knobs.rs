use std::{collections::BTreeSet, fs, path::Path, sync::Mutex};

use crate::lab_session::{Session, kill, may_run};
use crate::pickfs::{folder, only_run, pickfs, record, typed};
use pickfs_record::{Event, Outcome};
use pickfs_testkit::only_if;
use rustix::process::Signal;

const EXPIRY: &str = "/proc/sys/vm/dirty_expire_centisecs";

const SHORT: &str = "run quick --fs ext4 --fs btrfs --blocks 1 --size 128MiB --warmup 50ms
    --raw-probe 50ms --set sync=none --set rate=200/s --set file_size=1MiB";

const BRIEF: &[&str] = &["--measure", "300ms"];

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn setting() -> String {
    fs::read_to_string(EXPIRY).unwrap().trim().to_owned()
}

#[test]
fn settings_are_an_axis_and_are_put_back() {
    only_if!(may_run(&["mkfs.ext4", "mkfs.btrfs"]));
    let _alone = ONE_AT_A_TIME.lock();
    let (_kept, out) = folder();
    let before = setting();
    let more = format!(
        "--axis fs.read_ahead_kb=64,256 --set vm.dirty_expire_centisecs=1234 --allow-system-tuning \
         --out {}",
        out.display()
    );
    let said = pickfs(&[&typed(SHORT)[..], BRIEF, &typed(&more)].concat());
    assert_eq!(said.code, Some(4), "one block decides nothing: {said:?}");
    let run = record(&only_run(&out));
    assert_eq!(run.cells.len(), 4);
    let mut seen = BTreeSet::new();
    for trial in &run.trials {
        assert_eq!(trial.outcome, Outcome::Finished);
        let cell = run.cells.iter().find(|cell| cell.id == trial.cell).unwrap();
        let found = trial.environment.get("knob.fs.read_ahead_kb").unwrap();
        assert_eq!(found, cell.knobs["fs.read_ahead_kb"]);
        assert_eq!(trial.environment.get("knob.vm.dirty_expire_centisecs"), Some("1234"));
        seen.insert((cell.candidate.label.clone(), found.to_owned()));
    }
    assert_eq!(seen.len(), 4);
    assert_eq!(setting(), before);
}

fn killed_with_the_setting_turned(out: &Path) {
    let more =
        ["--set", "vm.dirty_expire_centisecs=2345", "--allow-system-tuning", "--measure", "20s"];
    let mut session = Session::start(&[&typed(SHORT)[..], &more[..]].concat(), out);
    session.wait_for_trial(1);
    session.wait_for_worker();
    assert_eq!(setting(), "2345");
    let said = pickfs(&["doctor", "--clean"]);
    assert!(said.out.contains("a run that is going on needs it"), "{said:?}");
    kill(session.outer());
    session.end();
    assert_eq!(setting(), "2345");
}

#[test]
fn a_killed_run_leaves_a_note_and_clean_puts_the_setting_back() {
    only_if!(may_run(&["mkfs.ext4", "mkfs.btrfs"]));
    let _alone = ONE_AT_A_TIME.lock();
    let (_kept, out) = folder();
    let before = setting();
    killed_with_the_setting_turned(&out);
    let said = pickfs(&["doctor", "--clean"]);
    assert!(said.out.contains("undone") && said.out.contains("dirty_expire"), "{said:?}");
    assert_eq!(setting(), before);
}

#[test]
fn a_resumed_run_puts_the_setting_back_first() {
    only_if!(may_run(&["mkfs.ext4", "mkfs.btrfs"]));
    let _alone = ONE_AT_A_TIME.lock();
    let (_kept, out) = folder();
    let before = setting();
    killed_with_the_setting_turned(&out);
    let run = only_run(&out);
    let mut session = Session::start(&["run", "--resume", run.to_str().unwrap()], &out);
    let is_told =
        |event: &Event| matches!(event, Event::Noticed { text } if text.contains("put back"));
    session.wait_for(is_told);
    session.wait_for_worker();
    session.signal_group(Signal::INT);
    session.end();
    assert_eq!(setting(), before);
}

#[test]
fn a_scheduler_and_the_length_of_its_queue_are_both_in_force() {
    only_if!(may_run(&["mkfs.ext4", "mkfs.btrfs"]));
    let loop_device = std::fs::read_to_string("/sys/block/loop0/queue/scheduler");
    if !loop_device.is_ok_and(|offered| offered.contains("kyber")) {
        println!("SKIPPED: this kernel does not offer the scheduler kyber");
        return;
    }
    let _alone = ONE_AT_A_TIME.lock();
    let (_kept, out) = folder();
    let more =
        format!("--set device.scheduler=kyber --set device.nr_requests=64 --out {}", out.display());
    let said = pickfs(&[&typed(SHORT)[..], BRIEF, &typed(&more)].concat());
    assert_eq!(said.code, Some(4), "one block decides nothing: {said:?}");
    for trial in &record(&only_run(&out)).trials {
        let knob = |name: &str| trial.environment.get(&format!("knob.device.{name}"));
        assert_eq!((knob("scheduler"), knob("nr_requests")), (Some("kyber"), Some("64")));
    }
}
