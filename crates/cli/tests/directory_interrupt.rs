//! Ctrl-C in the midst of the `files` workload in a directory that exists: what was in the directory
//! is there afterwards, with its bytes, and nothing of ours.
#![allow(clippy::unwrap_used)]

mod lab_session;
mod pickfs;

use std::{collections::BTreeMap, fs, path::Path};

use lab_session::Session;
use pickfs::{folder, only_run, record};
use pickfs_model::Event;
use pickfs_testkit::until;
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

/// Stops the run as soon as one of the phases has said that it goes on.
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
