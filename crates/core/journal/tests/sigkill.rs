//! A process that is killed at any moment has lost no record whose append had returned. The child is this
//! test program again; it reports each sequence on standard error after its append.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use pickfs_journal::{
    Journal, KeepFiles, Options, Preallocation, Roll, Sync, WritePath, recover, replay,
};

const DIR: &str = "JOURNAL_TEST_DIR";
const PATH: &str = "JOURNAL_TEST_PATH";
const ROLL: &str = "JOURNAL_TEST_ROLL";
const ROUNDS: u64 = 3;

fn options(write_path: WritePath, roll: Roll) -> Options {
    let recycled = write_path == WritePath::Pwrite;
    Options {
        write_path,
        roll,
        sync: Sync::None,
        preallocation: if recycled { Preallocation::Recycled } else { Preallocation::Fallocate },
        keep_files: if recycled { KeepFiles::Last(3) } else { KeepFiles::Last(20) },
        file_bytes: 65536,
        buffer_bytes: 65536,
        ..Options::default()
    }
}

fn payload(sequence: u64) -> Vec<u8> {
    let length = 8 + (sequence * 131 % 3000) as usize;
    sequence.to_le_bytes().into_iter().cycle().take(length).collect()
}

/// Does nothing in a normal run; as the child it appends until it is killed.
#[test]
fn child() {
    let Ok(dir) = std::env::var(DIR) else {
        return;
    };
    let path = std::env::var(PATH).unwrap().parse().unwrap();
    let options = options(path, std::env::var(ROLL).unwrap().parse().unwrap());
    let mut journal = match Path::new(&dir).exists() {
        true => Journal::open(&dir, options).unwrap(),
        false => Journal::create(&dir, options).unwrap(),
    };
    let mut report = std::io::stderr();
    loop {
        let next = journal.written_sequence() + 1;
        let appended = journal.append(&payload(next)).unwrap();
        report.write_all(&appended.sequence.to_le_bytes()).unwrap();
    }
}

fn start(dir: &Path, write_path: WritePath, roll: Roll) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(DIR, dir)
        .env(PATH, write_path.to_string())
        .env(ROLL, roll.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn kill_after(mut child: Child, pause: Duration) -> u64 {
    let mut reports = child.stderr.take().unwrap();
    let mut first = [0; 8];
    reports.read_exact(&mut first).unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        reports.read_to_end(&mut bytes).unwrap();
        bytes
    });
    // SLEEP: the kill comes wherever the child is then.
    std::thread::sleep(pause);
    child.kill().unwrap();
    child.wait().unwrap();
    let rest = reader.join().unwrap();
    let last = rest.chunks_exact(8).next_back().unwrap_or(&first);
    u64::from_le_bytes(last.try_into().unwrap())
}

fn check(dir: &Path, reported: u64, asked: &str) {
    let recovery = recover(dir).unwrap();
    assert!(recovery.last_sequence >= reported, "{asked}: {recovery:?}, reported {reported}");
    assert!(recovery.last_sequence <= reported + 1, "{asked}: {recovery:?}, reported {reported}");
    let mut last = recovery.first_sequence - 1;
    replay(dir, 1, |record| {
        assert_eq!(record.sequence, last + 1);
        assert_eq!(record.payload, payload(record.sequence));
        last = record.sequence;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(last, recovery.last_sequence);
}

#[test]
fn a_killed_process_has_lost_no_record_whose_append_had_returned() {
    for &write_path in WritePath::ALL {
        for &roll in Roll::ALL {
            let holder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let dir = holder.path().join("journal");
            for round in 0..ROUNDS {
                let pause = Duration::from_millis(3 + 37 * round);
                let reported = kill_after(start(&dir, write_path, roll), pause);
                check(&dir, reported, &format!("{write_path} {roll} round {round}"));
            }
        }
    }
}
