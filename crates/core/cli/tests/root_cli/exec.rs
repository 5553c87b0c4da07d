use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use crate::lab_session::{Session, kill, may_run, traces};
use crate::pickfs::{NOBODY, Said, folder, only_run, pickfs, reason, record};
use pickfs_record::{Event, Outcome, TrialRecord};
use pickfs_testkit::{only_if, until};
use rustix::process::Signal;

fn ran(out: &Path, verb: &[&str], more: &[&str]) -> (Said, TrialRecord) {
    let out_text = out.to_str().unwrap();
    let ground = ["--ram", "--size", "256MiB", "--fs", "ext4", "--blocks", "1"];
    let short = ["--raw-probe", "50ms", "--out", out_text];
    let words: Vec<&str> = [verb, &ground, &short, more].concat();
    let said = pickfs(&words);
    let trial = record(&only_run(out)).trials[0].clone();
    (said, trial)
}

#[test]
fn a_command_runs_as_the_user_that_is_named_with_all_that_belongs_to_one() {
    only_if!(may_run(&["mkfs.ext4"]));
    let (_kept, out) = folder();
    let script = "id -un; id -gn; touch mine; stat -c %U . mine; echo $HOME; exit 1";
    let more = ["--user", "nobody", "--", "sh", "-c", script];
    let (said, trial) = ran(&out, &["exec"], &more);
    let told = "nobody | nogroup | nobody | nobody | /nonexistent";
    assert!(reason(&trial).ends_with(told), "{} {said:?}", reason(&trial));
}

#[test]
fn a_user_reaches_the_mount_of_a_run_that_lies_behind_a_closed_home() {
    only_if!(may_run(&["mkfs.ext4"]));
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let out = home.path().join("pickfs-runs");
    let (said, trial) = ran(&out, &["exec"], &["--user", "nobody", "--", "touch", "mine"]);
    assert_eq!(trial.outcome, Outcome::Finished, "{said:?}");
    let steps = format!("{:?}", trial.steps);
    let is_outside =
        |word: &&str| word.starts_with("/run/pickfs-") || word.starts_with("/var/tmp/");
    let at = steps.split(['"', ' ']).find(is_outside).expect("a mount point that nobody reaches");
    assert!(!Path::new(at).exists(), "the mount point goes with the run: {at}");
    assert_eq!(traces(&out), Default::default());
}

#[test]
fn clean_takes_away_the_mount_point_of_a_killed_run_behind_a_closed_home() {
    only_if!(may_run(&["mkfs.ext4"]));
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let out = home.path().join("pickfs-runs");
    let script = "echo \"$PICKFS_DIR\" > \"$0\"; sleep 765432";
    let told = home.path().join("told");
    let words = ["exec", "--ram", "--size", "256MiB", "--fs", "ext4", "--blocks", "2", "--"];
    let command = ["sh", "-c", script, told.to_str().unwrap()];
    let session = Session::start(&[&words[..], &command].concat(), &out);
    let place = until("the folder of the command", || {
        Some(fs::read_to_string(&told).ok()?.strip_suffix('\n')?.to_owned())
    });
    let place = Path::new(&place).ancestors().find(|path| path.parent() == Some(Path::new("/run")));
    let place = place.expect("a mount point in /run");
    let cleaned = || pickfs(&["doctor", "--clean", out.to_str().unwrap()]).out;
    let undone = format!("undone: empty folder {}\n", place.display());
    assert!(!cleaned().contains(&undone) && place.exists(), "a run uses it");
    kill(session.inner());
    assert_eq!(session.end().0.code, Some(137));
    let said = cleaned();
    assert!(said.contains(&undone) && !place.exists(), "{said}");
}

#[test]
fn a_command_that_fills_the_disk_is_a_failed_trial_and_the_mount_goes() {
    only_if!(may_run(&["mkfs.ext4"]));
    let (_kept, out) = folder();
    let (said, trial) = ran(&out, &["exec"], &["--", "dd", "if=/dev/zero", "of=big", "bs=1M"]);
    assert!(reason(&trial).contains("No space left on device"), "{said:?}");
    assert_eq!(traces(&out), Default::default());
}

#[test]
fn a_mount_and_a_freeze_that_a_command_leaves_are_ended_and_named() {
    only_if!(may_run(&["mkfs.ext4", "fsfreeze"]));
    let script = "mkdir inner && mount -t tmpfs inner inner && mkdir inner/more && \
                  mount -t tmpfs more inner/more";
    for (script, names) in [
        (script, &["tmpfs on ", "/inner/more, tmpfs on ", "/inner"][..]),
        ("fsfreeze -f .", &["a freeze (fsfreeze)"]),
    ] {
        let (_kept, out) = folder();
        let (said, trial) = ran(&out, &["exec"], &["--", "sh", "-c", script]);
        assert_eq!((said.code, &trial.outcome), (Some(0), &Outcome::Finished), "{said:?}");
        let is_of_left = |note: &&String| note.starts_with("left in the mount and ended: ");
        let note = trial.notes.iter().find(is_of_left).expect("a note");
        assert!(names.iter().all(|name| note.contains(name)), "{note}");
        assert_eq!(traces(&out), Default::default());
    }
}

#[test]
fn control_c_leaves_no_process_no_mount_and_no_loop_device() {
    only_if!(may_run(&["mkfs.ext4"]));
    let (_kept, out) = folder();
    let script = "cd /; sleep 765432 & cd \"$PICKFS_DIR\"; setsid sleep 765432 & wait";
    let words = ["exec", "--ram", "--size", "256MiB", "--fs", "ext4", "--blocks", "2"];
    let mut session = Session::start(&[&words[..], &["--", "sh", "-c", script]].concat(), &out);
    session.wait_for(
        |event| matches!(event, Event::TrialProgress { phase, .. } if phase == "command"),
    );
    until("two sleepers", || (sleepers() == 2).then_some(()));
    session.signal_group(Signal::INT);
    let (said, _) = session.end();
    assert_eq!(said.code, Some(130), "{said:?}");
    assert_eq!(sleepers(), 0);
    assert_eq!(traces(&out), Default::default());
}

#[test]
fn what_is_written_outside_of_the_mount_is_named() {
    only_if!(may_run(&["mkfs.ext4"]));
    let (_files, place) = folder();
    let (_kept, out) = folder();
    let elsewhere = place.join("elsewhere");
    let script = format!("echo x > inside; cd /; echo y > {}", elsewhere.display());
    let (said, trial) = ran(&out, &["exec"], &["--", "sh", "-c", &script]);
    assert_eq!(trial.outcome, Outcome::Finished, "{said:?}");
    let note = trial.notes.iter().find(|note| note.contains("outside of the mount"));
    assert!(note.is_some_and(|note| note.contains("elsewhere;")), "{:?}", trial.notes);
    assert_eq!(trial.counts["files_written_outside"], 1.0, "{:?}", trial.notes);
}

fn sleepers() -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.starts_with(b"sleep\x00765432")).count()
}

/// That they are as many as strace counts is shown where they are counted.
#[test]
fn calls_of_a_command_are_operations_of_its_trial() {
    only_if!(may_run(&["mkfs.ext4"]));
    let program =
        ["dd", "if=/dev/zero", "of=a", "bs=4096", "count=57", "oflag=sync", "status=none"];
    let (_kept, out) = folder();
    let more: Vec<&str> = ["--calls", "--"].iter().chain(&program).copied().collect();
    let (said, trial) = ran(&out, &["exec"], &more);
    assert_eq!(trial.outcome, Outcome::Finished, "{said:?}");
    assert_eq!(trial.op("write").expect("it writes").service.count, 57);
    assert!(trial.ops.len() >= 6, "{:?}", trial.ops);
    assert!(trial.figures.contains_key("tracing percent of wall"), "{:?}", trial.figures);
}

#[test]
fn fio_is_run_in_the_mount_and_its_figures_are_kept() {
    only_if!(may_run(&["mkfs.ext4", "fio"]));
    let (_files, place) = folder();
    let (_kept, out) = folder();
    let file = place.join("jobs.fio");
    let jobs = "[global]\ndirectory=/nowhere/at/all\nsize=4m\nbs=4k\n[log]\nrw=write\nfdatasync=1\n\
                number_ios=100\n[scan]\nstonewall\nrw=randread\nfilename=/mnt/data/foo\n\
                number_ios=200\nnorandommap\n";
    fs::write(&file, jobs).unwrap();
    let (said, trial) = ran(&out, &["run"], &["--yes", "--fio", file.to_str().unwrap()]);
    assert_eq!(trial.outcome, Outcome::Finished, "{said:?}");
    let counts: Vec<(&str, u64)> =
        trial.ops.iter().map(|op| (op.op.as_str(), op.service.count)).collect();
    assert_eq!((counts[0], counts[2]), (("log sync", 99), ("scan read", 200)), "{counts:?}");
    assert_eq!(counts[1], ("log write", 100), "{counts:?}");
    assert!(trial.figures["log write IOPS"] > 0.0, "{:?}", trial.figures);
    assert!(trial.notes.iter().any(|note| note.contains("norandommap")), "{:?}", trial.notes);
    assert!(trial.notes.iter().any(|note| note.contains("mnt-data-foo in the mount")));
}

#[test]
fn a_job_file_of_a_stranger_reaches_nothing_outside_and_is_asked_about() {
    only_if!(may_run(&["mkfs.ext4", "fio"]));
    let (_files, place) = folder();
    let file = place.join("jobs.fio");
    let stolen = place.join("stolen");
    let text = stolen.to_str().unwrap();
    let ran = |jobs: &str, more: &[&str]| {
        fs::write(&file, jobs).unwrap();
        std::os::unix::fs::chown(&file, Some(NOBODY), None).unwrap();
        let words =
            ["run", "--ram", "--size", "256MiB", "--fs", "ext4", "--fio", file.to_str().unwrap()];
        let out = place.join("runs");
        pickfs(&[&words[..], &["--out", out.to_str().unwrap()], more].concat())
    };
    for line in [
        format!("filename_format={text}"),
        format!("exec_prerun=id > {text}"),
        format!("write_lat_log={text}"),
        format!("[{text}]"),
    ] {
        let said = ran(&format!("[a]\nrw=write\nsize=1m\n{line}\n"), &["--yes"]);
        assert!(said.code == Some(1) && said.err.contains("line 4"), "{line}: {said:?}");
    }
    let said = ran("[a]\nrw=write\nsize=1m\n", &[]);
    assert!(said.err.contains("rw=write") && said.err.contains("add --yes"), "{said:?}");
    assert!(!stolen.exists() && !place.join("runs").exists());
}

#[test]
fn appends_of_java_and_ours_are_logged_by_the_same_grid() {
    only_if!(may_run(&["mkfs.ext4", "javac", "jq"]));
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
    let (_classes, classes) = folder();
    let classes = format!("classes={}", classes.display());
    let journaller = |words: &[&str]| {
        let mut program = Command::new("env");
        program.arg(&classes).arg("peers/journaller/run").args(words).current_dir(root);
        program.status().unwrap().code()
    };
    assert_eq!(journaller(&["build"]), Some(0));
    assert_eq!(journaller(&["pwrite", "--rat", "5"]), Some(2));
    let words = "exec --ram --size 512MiB --fs ext4 --blocks 1 --raw-probe 50ms";
    for (by, way, sync) in [
        ("java", "seek-write", "none"),
        ("java", "pwrite", "fdatasync"),
        ("java", "mmap", "none"),
        ("pickfs", "mmap", "none"),
        ("pickfs", "pwrite", "fdatasync"),
    ] {
        let (_kept, out) = folder();
        let script = format!(
            "exec \"$PICKFS_FROM/peers/journaller/run\" {way} --sync {sync} --rate 500 --seconds 2 --warmup-s 1"
        );
        let mut program = crate::pickfs::command(&crate::pickfs::typed(words));
        program.args(["--env", &format!("by={by}"), "--env", &classes]);
        program.args(["--metric", "append=hlog:append.hlog"]);
        program.args(["--out", out.to_str().unwrap(), "--", &script]).current_dir(root);
        let said = Said::from(program.output().unwrap());
        let trial = record(&only_run(&out)).trials[0].clone();
        assert_eq!(trial.outcome, Outcome::Finished, "{by} {way}: {said:?}");
        let append = trial.op("append").unwrap();
        let response = append.response.as_ref().unwrap();
        assert_eq!((append.service.count, response.count), (1_000, 1_000), "{by} {way}");
        assert!(response.max_ns >= append.service.max_ns && append.intervals.len() >= 2);
    }
}
