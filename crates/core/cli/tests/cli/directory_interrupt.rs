use std::{collections::BTreeMap, fs, path::Path};

use crate::lab_session::{Session, Signals};
use crate::pickfs::{folder, only_run, pickfs, record};
use pickfs_record::Event;
use pickfs_testkit::{until, with_default_signals, with_ignored_signals};
use rustix::process::Signal;

fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().flatten();
    entries
        .map(|entry| {
            let bytes =
                if entry.path().is_file() { fs::read(entry.path()).unwrap() } else { vec![] };
            (entry.file_name().into_string().unwrap(), bytes)
        })
        .collect()
}

fn stopped_in(phases: &[&str]) {
    let (_data, data) = folder();
    let (_kept, out) = folder();
    fs::create_dir(data.join("lane-1")).unwrap();
    fs::write(data.join("pickfs-trial-notes"), "theirs").unwrap();
    fs::write(data.join("00000000000"), "theirs too").unwrap();
    let before = contents(&data);
    let place = data.to_str().unwrap();
    let words = ["run", "files-tiny", "--dir", place, "--blocks", "2", "--raw-probe", "20ms"];
    let more = ["--set", "files=40000", "--set", "size=64MiB"];
    let mut session = Session::start(&[&words[..], &more].concat(), &out);
    session.wait_for(
        |event| matches!(event, Event::TrialProgress { phase, .. } if phases.contains(&phase.as_str())),
    );
    until("a folder of the trial", || (contents(&data).len() > before.len()).then_some(()));
    session.signal_group(Signal::INT);
    let (said, _) = session.end();
    assert_eq!(said.code, Some(130), "{said:?}");
    assert_eq!(contents(&data), before, "{phases:?}: {said:?}");
    assert_eq!(record(&only_run(&out)).ended.unwrap().how, "interrupted");
}

#[test]
fn control_c_in_the_large_file_leaves_the_directory_as_it_was() {
    stopped_in(&["block write", "rewrite", "char write"]);
}

#[test]
fn control_c_among_many_small_files_leaves_the_directory_as_it_was() {
    stopped_in(&["seq create", "seq stat"]);
}

/// A run of one block in a directory, whose worker is there.
fn measuring(signals: Signals, data: &Path, out: &Path, measure: &str) -> Session {
    let words = ["run", "quick", "--dir", data.to_str().unwrap(), "--blocks", "1"];
    let more = ["--measure", measure, "--warmup", "0s", "--raw-probe", "0s", "--set", "sync=none"];
    let mut session = Session::start_with(signals, &[&words[..], &more].concat(), out);
    session.wait_for_trial(1);
    session.wait_for_worker();
    session
}

#[test]
fn what_was_ignored_at_the_start_ends_nothing() {
    let (_data, data) = folder();
    let (_kept, out) = folder();
    let session = measuring(with_ignored_signals, &data, &out, "1s");
    session.signal_group(Signal::HUP);
    session.signal_group(Signal::INT);
    let (said, _) = session.end();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(record(&only_run(&out)).ended.unwrap().how, "completed");
}

#[test]
fn a_run_that_goes_on_is_not_resumed_beside_itself() {
    let (_data, data) = folder();
    let (_kept, out) = folder();
    let session = measuring(with_default_signals, &data, &out, "60s");
    let run = only_run(&out);
    let run = run.to_str().unwrap();
    let second = pickfs(&["run", "--resume", run]);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.err.contains("is running"), "{second:?}");
    let shown = pickfs(&["show", out.to_str().unwrap()]);
    assert_eq!(shown.code, Some(0), "reading needs no lock: {shown:?}");
    session.signal_group(Signal::INT);
    let (said, _) = session.end();
    assert_eq!(said.code, Some(130), "{said:?}");
}
