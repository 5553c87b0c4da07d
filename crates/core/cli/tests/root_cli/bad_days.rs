use std::{fs, path::Path};

use crate::lab_session::{Session, kill, may_run, traces};
use crate::pickfs::{Said, command, folder, only_run, pickfs, reason, record, typed};
use crate::slow_disk::SlowDisk;
use pickfs_candidate::undo::{Undo, UndoLog};
use pickfs_record::{Event, Outcome, RunRecord};
use pickfs_sys::loop_device::LoopDevice;
use pickfs_sys::mount::{MountRequest, Mounted};
use pickfs_sys::proc_root::ProcRoot;
use pickfs_sys::process::tree_of;
use pickfs_testkit::{only_if, with_ignored_signals};
use rustix::process::{Pid, Signal, kill_process};

const SHORT: &str = "run quick --fs ext4 --fs ext4:noatime --measure 500ms --warmup 50ms
    --raw-probe 50ms --set sync=fdatasync --set rate=200/s --set file_size=1MiB";
const SMALL: &[&str] = &["--blocks", "1", "--size", "64MiB"];

fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&typed(SHORT)[..], more].concat()
}

fn reasons(run: &RunRecord) -> Vec<&str> {
    run.trials.iter().map(reason).collect()
}

fn first_trial_is_kept(run: &Path) -> RunRecord {
    let record = record(run);
    assert_eq!(record.trials[0].outcome, Outcome::Finished);
    assert!(record.trials[0].ops.iter().any(|op| op.op == "durable" && op.service.count > 0));
    for verb in [vec!["show"], vec!["report", "--format", "csv"]] {
        let said = pickfs(&[&verb[..], &[run.to_str().unwrap()]].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    record
}

fn goes_on(run: &Path, out: &Path) {
    let before = record(run);
    let last_block = before.trials.last().unwrap().block;
    let session = Session::start(&["run", "--resume", run.to_str().unwrap()], out);
    let (said, _) = session.end();
    let after = record(run);
    assert_eq!(after.ended.as_ref().unwrap().how, "completed", "{said:?}");
    assert!(after.trials[..before.trials.len()] == before.trials[..], "what was kept has changed");
    let new = &after.trials[before.trials.len()..];
    let blocks: Vec<u32> = new.iter().map(|trial| trial.block).collect();
    let first = |block: &u32| blocks.iter().position(|b| b == block);
    assert!(blocks.len() >= 2 && first(&(last_block + 1)) == Some(0), "a new block: {blocks:?}");
    let in_first = new.iter().filter(|trial| trial.block == last_block + 1 && trial.attempt == 1);
    assert_eq!(in_first.count(), 2, "and a whole one");
    assert!(new.iter().all(|trial| trial.outcome == Outcome::Finished), "{:?}", reasons(&after));
}

fn in_the_second_trial(out: &Path) -> Session {
    let mut session = Session::start(&words(SMALL), out);
    session.wait_for_trial(2);
    session.wait_for_worker();
    let (mounts, loops) = traces(out);
    assert!(!mounts.is_empty() && !loops.is_empty(), "the test cannot see what it looks for");
    session
}

#[test]
fn control_c_and_a_termination_are_told_kept_and_resumed() {
    only_if!(may_run(&["mkfs.ext4"]));
    let to_group = |session: &Session| session.signal_group(Signal::INT);
    let to_one = |session: &Session| {
        kill_process(Pid::from_raw(session.outer()).unwrap(), Signal::TERM).unwrap();
    };
    // As timeout(1) does: one to the program and one to its group are one request.
    let to_both = |session: &Session| {
        to_one(session);
        session.signal_group(Signal::TERM);
    };
    // As pkill(1) does.
    let to_name = |session: &Session| {
        let tree = tree_of(session.outer() as u32, &ProcRoot::own()).unwrap();
        for one in tree.iter().filter(|one| one.name.contains("pickfs")) {
            // One that another's end has ended is gone.
            let _ = kill_process(Pid::from_raw(one.process_id as i32).unwrap(), Signal::TERM);
        }
    };
    let ways: [&dyn Fn(&Session); 4] = [&to_group, &to_one, &to_both, &to_name];
    for stop in ways {
        let (_folder, out) = folder();
        let session = in_the_second_trial(&out);
        stop(&session);
        let (said, _) = session.end();
        assert_eq!(said.code, Some(130), "{said:?}");
        let record = first_trial_is_kept(&only_run(&out));
        assert_eq!(record.ended.as_ref().unwrap().how, "interrupted");
        assert_eq!(reasons(&record)[1], "interrupted");
        goes_on(&only_run(&out), &out);
    }
}

#[test]
fn under_nohup_a_hang_up_ends_nothing() {
    only_if!(may_run(&["mkfs.ext4"]));
    let (_folder, out) = folder();
    let mut session = Session::start_with(with_ignored_signals, &words(SMALL), &out);
    session.wait_for_trial(2);
    session.wait_for_worker();
    for process in [session.outer(), session.inner()] {
        kill_process(Pid::from_raw(process).unwrap(), Signal::HUP).unwrap();
    }
    session.signal_group(Signal::INT);
    let (said, _) = session.end();
    assert_eq!(said.code, Some(4), "one block decides nothing: {said:?}");
    assert_eq!(record(&only_run(&out)).ended.unwrap().how, "completed");
}

#[test]
fn a_killed_lab_leaves_nothing_and_is_resumed() {
    only_if!(may_run(&["mkfs.ext4"]));
    for which in [Session::outer as fn(&Session) -> i32, Session::inner] {
        let (_folder, out) = folder();
        let session = in_the_second_trial(&out);
        let inner = session.inner();
        let killed = which(&session);
        kill(killed);
        let (said, _) = session.end();
        assert_eq!(said.code, Some(137), "{said:?}");
        let told = ["the lab was ended by signal 9", "go on with pickfs --resume"];
        let is_told = told.iter().all(|words| said.err.contains(words));
        assert!(is_told || killed != inner, "who is left says a word: {said:?}");
        let record = first_trial_is_kept(&only_run(&out));
        assert_eq!((record.trials.len(), &record.ended), (1, &None));
        goes_on(&only_run(&out), &out);
    }
}

#[test]
fn a_killed_worker_is_a_row_and_the_run_goes_on() {
    only_if!(may_run(&["mkfs.ext4"]));
    let (_folder, out) = folder();
    let mut session = Session::start(&words(SMALL), &out);
    session.wait_for_trial(1);
    kill(session.wait_for_worker());
    let (said, _) = session.end();
    assert_eq!(said.code, Some(4), "one block decides nothing: {said:?}");
    let record = record(&only_run(&out));
    assert!(reasons(&record)[0].contains("signal 9"), "{:?}", reasons(&record));
    let others = record.trials[1..].iter();
    assert!(others.clone().count() > 0 && others.clone().all(|t| t.outcome == Outcome::Finished));
    let shown = pickfs(&["show", only_run(&out).to_str().unwrap()]).out;
    assert!(shown.contains("signal 9"), "{shown}");
}

fn fails_everywhere(more: &[&str], parts: &[&str]) {
    let (_folder, out) = folder();
    // It ends when the disk is full, however slow the machine is.
    let long = |word| if word == "500ms" { "60s" } else { word };
    let words: Vec<&str> = words(more).into_iter().map(long).collect();
    let (said, _) = Session::start(&words, &out).end();
    assert_eq!(said.code, Some(3), "{said:?}");
    let record = record(&only_run(&out));
    assert!(record.trials.len() >= 2);
    for part in parts {
        assert!(
            reasons(&record).iter().all(|r| r.contains(part)),
            "{part}: {:?}",
            reasons(&record)
        );
    }
    let shown = pickfs(&["show", only_run(&out).to_str().unwrap()]);
    assert!(shown.code == Some(0) && shown.out.contains("failed"), "{shown:?}");
}

#[test]
fn a_full_disk_is_a_row_with_the_call_and_the_cause() {
    if may_run(&["mkfs.ext4"]) {
        let more = ["--set", "preallocation=zero-filled", "--set", "file_size=128MiB"];
        fails_everywhere(&[SMALL, &more].concat(), &["No space left on device"]);
    }
}

#[test]
fn a_full_disk_under_a_mapping_is_a_row_too() {
    if may_run(&["mkfs.ext4"]) {
        let more = typed(
            "--set write_path=mmap --set preallocation=sparse --set sync=none --set file_size=256MiB
             --set size=32768 --set rate=20000/s",
        );
        fails_everywhere(&[SMALL, &more[..]].concat(), &["SIGBUS in mapped file", "journal-0"]);
    }
}

#[test]
fn an_io_error_is_a_row_and_a_healed_disk_goes_on() {
    only_if!(may_run(&["mkfs.ext4", "losetup", "/dev/fuse"]));
    let (_folder, out) = folder();
    let disk = SlowDisk::mount(64 << 20);
    let device = disk.attach();
    let more =
        ["--blocks", "2", "--device", device.path(), "--erase", "--device-state", "discarded"];
    let mut session = Session::start(&words(&more), &out);
    session.wait_for_trial(2);
    // Before that, ext4 takes an inode bitmap that it cannot read for a full group: ENOSPC.
    session.wait_for_open_file("journal-0");
    disk.fail(true);
    session.wait_for(|event| matches!(event, Event::TrialFinished { number: 2, .. }));
    disk.fail(false);
    let (said, _) = session.end();
    let record = first_trial_is_kept(&only_run(&out));
    let why = reasons(&record);
    assert!(why[1].contains("Input/output error"), "{why:?} {said:?}");
    assert_eq!(why.last(), Some(&""), "the disk is well again, and the run went on: {why:?}");
    assert_eq!(said.code, Some(4), "{said:?}");
}

#[test]
fn a_full_results_folder_ends_the_run_and_keeps_what_was_written() {
    only_if!(may_run(&["mkfs.ext4"]));
    let (_folder, images) = folder();
    let (_results, out) = folder();
    let request = MountRequest::new("pickfs-test", &out, "tmpfs").options("size=1m");
    let mounted = Mounted::mount(&request).unwrap();
    let ballast = out.join("ballast");
    let more = ["--size", "64MiB", "--blocks", "2", "--image-dir", images.to_str().unwrap()];
    let mut session = Session::start(&words(&more), &out);
    session.wait_for_trial(2);
    fs::write(&ballast, vec![1; 4 << 20]).unwrap_err();
    let (said, _) = session.end();
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("full") && said.err.contains("--resume"), "{said:?}");
    fs::remove_file(&ballast).unwrap();
    let run = only_run(&out);
    first_trial_is_kept(&run);
    goes_on(&run, &out);
    assert_eq!(traces(&images), (vec![], vec![]));
    mounted.unmount().unwrap();
}

#[test]
fn an_image_never_takes_its_host_under_one_tenth_free() {
    only_if!(may_run(&["mkfs.ext4"]));
    let (_folder, images) = folder();
    let (_results, out) = folder();
    let request = MountRequest::new("pickfs-test", &images, "tmpfs").options("size=100m");
    let mounted = Mounted::mount(&request).unwrap();
    let more = ["--blocks", "6", "--size", "95MiB", "--image-dir", images.to_str().unwrap()];
    let (said, events) = Session::start(&words(&more), &out).end();
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("one tenth of it stays free"), "{said:?}");
    assert!(events.is_empty(), "{events:?}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "a run that did not begin leaves no folder");
    mounted.unmount().unwrap();
}

#[test]
fn a_resumed_run_wants_the_device_that_it_pinned() {
    only_if!(may_run(&["mkfs.ext4", "losetup", "/dev/fuse"]));
    let (_folder, out) = folder();
    let (disk, log_disk) = (SlowDisk::mount(64 << 20), SlowDisk::mount(64 << 20));
    let (mut device, log) = (disk.attach(), log_disk.attach());
    let ground = ["--blocks", "1", "--erase", "--device-state", "discarded"];
    let more = [&ground[..], &["--device", device.path(), "--log-device", log.path()]].concat();
    let mut session = Session::start(&words(&more), &out);
    session.wait_for_trial(2);
    session.wait_for_worker();
    session.signal_group(Signal::INT);
    assert_eq!(session.end().0.code, Some(130));
    // The same node, after a replug: it may be any disk now.
    device = device.replug();
    let run = only_run(&out);
    let resume = ["run", "--resume", run.to_str().unwrap()];
    let (said, _) = Session::start(&resume, &out).end();
    let parts =
        ["is not the device that was named", "name the device again: --resume RUN --device"];
    assert!(said.code == Some(1) && parts.iter().all(|p| said.err.contains(p)), "{said:?}");
    assert!(said.err.contains(&format!(" --log-device {} --erase", log.path())), "{said:?}");
    let larger = SlowDisk::mount(96 << 20);
    let another = larger.attach();
    let named = |device: &str, log: &[&str]| {
        let words = [&resume[..], &["--device", device, "--erase"], log].concat();
        Session::start(&words, &out).end().0
    };
    let with_log = ["--log-device", log.path()];
    for said in
        [named(another.path(), &with_log), named(device.path(), &["--log-device", another.path()])]
    {
        assert!(said.code == Some(1) && said.err.contains("is not the disk that"), "{said:?}");
    }
    let said = named(device.path(), &[]);
    assert!(said.code == Some(1) && said.err.contains("was begun with other devices"), "{said:?}");
    assert_eq!(record(&run).trials.len(), 2, "nothing was done");
    let said = named(device.path(), &with_log);
    // One block decides nothing.
    assert_eq!((said.code, record(&run).ended.unwrap().how.as_str()), (Some(4), "completed"));
}

#[test]
fn a_device_must_be_one() {
    only_if!(may_run(&[]));
    let (_folder, out) = folder();
    let file = out.join("a-file");
    fs::write(&file, "x").unwrap();
    let image = tempfile::tempfile().unwrap();
    image.set_len(64 << 20).unwrap();
    let unbound = LoopDevice::attach(&image).unwrap();
    let node = unbound.path().to_str().unwrap().to_owned();
    unbound.detach().unwrap();
    for (device, message) in [
        (node.as_str(), "no file is attached to it (`losetup /dev/loop"),
        ("/dev/null", "/dev/null is not a block device; for a directory use --dir"),
        (file.to_str().unwrap(), "is not a block device; for a directory use --dir"),
        ("/dev/nowhere", "/dev/nowhere: No such file or directory"),
    ] {
        let words = words(&["--blocks", "1", "--device", device, "--erase"]);
        let (said, _) = Session::start(&words, &out.join("runs")).end();
        assert!(said.code == Some(1) && said.err.contains(message), "{said:?}");
    }
    assert_eq!(fs::read_dir(out.join("runs")).unwrap().count(), 0);
    assert_eq!(fs::read(&file).unwrap(), b"x");
}

#[test]
fn clean_removes_what_was_written_down_and_only_that() {
    only_if!(may_run(&[]));
    let (_folder, state) = folder();
    let log = UndoLog::at(state.join("undo"));
    let (ours, theirs) = (state.join("pickfs-image-1"), state.join("pickfs-image-2"));
    fs::write(&ours, "ours").unwrap();
    fs::write(&theirs, "theirs").unwrap();
    fs::write(state.join("undo-list"), "theirs").unwrap();
    log.note(&Undo::image(&ours).unwrap()).unwrap();
    let empty = state.join("runs/2026-11-21-quick/mnt");
    fs::create_dir_all(&empty).unwrap();
    let clean = || {
        let mut command = command(&["doctor", "--clean", state.join("runs").to_str().unwrap()]);
        Said::from(command.env("PICKFS_STATE_DIR", &state).output().unwrap())
    };
    let said = clean();
    let run = empty.parent().unwrap();
    let told = format!(
        "undone: image {}\nundone: empty folder {}\nundone: empty folder {}\n",
        ours.display(),
        empty.display(),
        run.display()
    );
    assert_eq!((said.code, said.out.as_str()), (Some(0), told.as_str()));
    assert!(!run.exists());
    assert!(!ours.exists() && theirs.exists() && state.join("undo-list").exists());
    assert_eq!(clean().out, "nothing to clean: no run left anything behind\n");
}

#[test]
fn a_ring_that_the_kernel_closes_late_does_not_fail_the_unmount() {
    only_if!(may_run(&["mkfs.ext4"]));
    let (_kept, out) = folder();
    let ring = ["--set", "write_path=io-uring", "--set", "preallocation=zero-filled"];
    let session =
        Session::start(&words(&[&["--blocks", "2", "--size", "64MiB"][..], &ring].concat()), &out);
    let (said, _) = session.end();
    let run = record(&only_run(&out));
    assert!(reasons(&run).iter().all(|reason| reason.is_empty()), "{said:?}");
}
