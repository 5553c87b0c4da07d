//! Root ring: real file systems on a recorded disk, and their states mounted again.
#![allow(clippy::unwrap_used)]

#[path = "../../../core/candidate/tests/ring/mod.rs"]
mod ring;

use std::{fs::File, path::Path, process::ExitCode, time::Duration};

use pickfs_crash::{
    ground::{Disk, Means, recorder},
    log::What,
    log_writes,
    recording::Recording,
    session::{Listener, Request, Session, Writer, perform},
};

/// As xfs asks for.
const IMAGE_BYTES: u64 = 300 << 20;
const MINUTE: Duration = Duration::from_secs(60);

const TESTS: &[ring::Test] = &[
    ("what_was_synced_is_in_each_state", what_was_synced),
    ("what_is_not_safe_is_seen_to_be_lost", what_is_not_safe),
    ("a_command_and_a_log_of_others_are_explored", command_and_log),
    ("a_disk_whose_recorder_is_killed_is_given_back", a_killed_recorder),
];

fn main() -> ExitCode {
    if let Some(ended) = pickfs_crash::run() {
        return ended;
    }
    ring::run(TESTS);
    ExitCode::SUCCESS
}

struct Quiet;

impl Listener for Quiet {
    fn looked(&self) {}
    fn is_stopped(&self) -> bool {
        false
    }
}

fn means(folder: &Path) -> Means {
    Means { program: std::env::current_exe().unwrap(), folder: folder.into(), guests: None }
}

fn request(candidate: &str, writer: &str, crash: &str, states: usize) -> Request {
    Request {
        candidate: candidate.parse().unwrap(),
        writer: Writer::Ours(writer.into()),
        check: Vec::new(),
        image_bytes: IMAGE_BYTES,
        records: 40,
        exposed_for: Duration::ZERO,
        crashes: vec![crash.into()],
        states,
        seed: 7,
        checker_each: 20,
        keeps_all: false,
    }
}

fn performed(request: &Request) -> Session {
    let (_guard, folder) = ring::folder();
    let session = perform(&means(&folder), request, None, &Quiet).unwrap();
    let left = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, 0, "{} leaves something", request.candidate.label);
    let (cell, label) = (&session.cells[0], &request.candidate.label);
    println!("{label} {} {}: {:?}", cell.subject, cell.crash, cell.explored.tally);
    session
}

const HONEST: &str = "power-loss:any-order/4096/honest";
const LYING: &str = "power-loss:any-order/4096/lying";

fn what_was_synced() {
    for candidate in ["ext4", "xfs", "btrfs"] {
        for writer in ["journal/append/fdatasync/none", "save/both"] {
            let session = performed(&request(candidate, writer, HONEST, 40));
            let explored = &session.cells[0].explored;
            assert_eq!(explored.failures, [], "{candidate} {writer}");
            assert!(explored.states > 20 && session.cells[0].checked > 0, "{explored:?}");
            assert!(explored.epochs_whole > 0, "{explored:?}");
            let cost = session.cells[0].cost;
            assert!(cost.flushes >= cost.records, "{cost:?}");
        }
    }
}

fn what_is_not_safe() {
    for (candidate, writer, crash) in [
        ("ext4", "journal/append/fdatasync/none", LYING),
        ("xfs", "journal/append/fdatasync/none", LYING),
        ("btrfs", "journal/append/fdatasync/none", LYING),
        ("ext4:barrier=0", "journal/append/fdatasync/none", HONEST),
        ("btrfs:nobarrier", "journal/append/fdatasync/none", HONEST),
        ("ext4", "journal/append/none/none", HONEST),
        ("ext4", "save/file", HONEST),
    ] {
        let session = performed(&request(candidate, writer, crash, 60));
        let tally = session.cells[0].explored.tally;
        assert!(tally.lost > 0, "{candidate} {writer} {crash}: {tally:?}");
        assert!(!session.cells[0].smallest.is_empty());
    }
}

fn shell(text: &str) -> Vec<String> {
    ["sh", "-c", text].map(String::from).to_vec()
}

fn of_program(words: &str, check: &str) -> Request {
    let (before, silence, longest) = (shell("touch before"), MINUTE, MINUTE);
    let writer = Writer::Program { words: shell(words), before, silence, longest };
    Request { writer, check: shell(check), ..request("ext4", "", HONEST, 30) }
}

const SAID: &str = "for n in 1 2 3 4 5; do echo $n > $n; sync $n .; echo $n; done";

const CHECK: &str =
    "while read n; do test \"$(cat $n)\" = $n || { echo $n is gone; exit 1; }; done";

/// The log is as others write it: marks for promises.
fn command_and_log() {
    let (_guard, folder) = ring::folder();
    let saved = folder.join("saved");
    let crashes = [HONEST, LYING].map(String::from).to_vec();
    let request = Request { keeps_all: true, crashes, ..of_program(SAID, CHECK) };
    let session = perform(&means(&folder), &request, Some(&saved), &Quiet).unwrap();
    let [honest, lying] = [0, 1].map(|at: usize| &session.cells[at].explored.failures);
    assert_eq!(*honest, []);
    assert!(format!("{lying:?}").contains("No such file"), "{lying:?}");
    let unsaved = perform(&means(&folder), &request, Some(&saved), &Quiet).unwrap();
    assert!(unsaved.troubles.len() == 1 && !unsaved.cells[1].kept_all(), "{unsaved:?}");
    let blind = perform(&means(&folder), &of_program(SAID, "true"), None, &Quiet).unwrap();
    assert!(blind.cells.is_empty() && format!("{blind:?}").contains("Blind"), "{blind:?}");
    let facts = std::fs::read_to_string(saved.join("recording.json")).unwrap();
    let facts: Recording = serde_json::from_str(&facts).unwrap();
    let mut log = recorder::recording(&saved.join("disk.log"), 0).unwrap();
    let mut marks = vec![(facts.start, "made".to_owned())];
    let told = facts.due.0.iter().zip(&facts.lines);
    marks.extend(told.map(|(at, line)| (*at, line.clone())));
    for (at, words) in marks.into_iter().rev() {
        log.entries.insert(at.0, What::Mark(words));
    }
    let file = folder.join("foreign.log");
    log_writes::write(&log, &mut File::create(&file).unwrap()).unwrap();
    for (crash, is_lost) in [(HONEST, false), (LYING, true)] {
        let writer = Writer::Log(file.clone());
        let request = Request { writer, crashes: vec![crash.into()], ..request.clone() };
        let session = perform(&means(&folder), &request, None, &Quiet).unwrap();
        let cell = &session.cells[0];
        assert_eq!((cell.cost.records, cell.explored.tally.failed > 0), (5, is_lost), "{cell:?}");
    }
}

fn a_killed_recorder() {
    let (_guard, folder) = ring::folder();
    let spec = "ext4".parse().unwrap();
    let mut disk = Disk::make(&means(&folder), &spec, IMAGE_BYTES, &mut Vec::new()).unwrap();
    let device = disk.device().to_owned();
    disk.mount().unwrap();
    disk.recorder().breaker().free();
    assert!(File::create(disk.at().join("new")).and_then(|file| file.sync_all()).is_err());
    drop(disk);
    let attached = pickfs_sys::loop_device::attached();
    assert!(attached.iter().all(|one| device != Path::new(&format!("/dev/loop{}", one.number))));
}
