use std::path::Path;

use pickfs_journal::{
    Fallback, Framing, Journal, KeepFiles, Options, Preallocation, Roll, Sync, SyncEvery,
    WritePath, compatibility, recover,
};

const FILE_BYTES: u64 = 16384;

fn small() -> Options {
    Options {
        file_bytes: FILE_BYTES,
        buffer_bytes: 16384,
        fallback: Fallback::Refuse,
        ..Options::default()
    }
}

fn payload(sequence: u64) -> Vec<u8> {
    let length = (sequence * 97 % 700) as usize;
    (0..length).map(|at| (at as u64 + sequence) as u8 | 1).collect()
}

fn all_pairs() -> Vec<Options> {
    let mut found = Vec::new();
    for &preallocation in Preallocation::ALL {
        for &write_path in WritePath::ALL {
            for &sync in Sync::ALL {
                for &sync_every in SyncEvery::ALL {
                    for &roll in Roll::ALL {
                        found.push(Options {
                            preallocation,
                            write_path,
                            sync,
                            sync_every,
                            roll,
                            ..small()
                        });
                    }
                }
            }
        }
    }
    found
}

/// A set of combinations in which each allowed pair of values of any two axes stands at least once.
fn pairwise() -> Vec<Options> {
    let words = |options: &Options| {
        let Options { preallocation, write_path, sync, sync_every, roll, .. } = options;
        let words = [
            format!("{preallocation}"),
            format!("{write_path}"),
            format!("{sync}"),
            format!("{sync_every}"),
            format!("{roll}"),
        ];
        let pairs = (0..5).flat_map(move |a| (0..a).map(move |b| (a, b)));
        pairs.map(move |(a, b)| format!("{a}{} {b}{}", words[a], words[b])).collect::<Vec<_>>()
    };
    let mut seen = std::collections::BTreeSet::new();
    let allowed = all_pairs().into_iter().filter(|options| compatibility::check(options).is_ok());
    allowed
        .filter(|options| {
            words(options).into_iter().fold(false, |new, pair| seen.insert(pair) | new)
        })
        .collect()
}

fn write(dir: &Path, options: Options, from: u64, count: u64) {
    let mut journal = match from {
        1 => Journal::create(dir, options).unwrap(),
        _ => Journal::open(dir, options).unwrap(),
    };
    assert_eq!(journal.notes(), [""; 0]);
    for sequence in from..from + count / 2 {
        assert_eq!(journal.append(&payload(sequence)).unwrap().sequence, sequence);
    }
    let mut last = 0;
    for first in (from + count / 2..from + count).step_by(10) {
        (first..first + 10).for_each(|sequence| journal.encode(&payload(sequence)).unwrap());
        last = journal.commit_encoded().unwrap().sequence;
    }
    assert_eq!(last, from + count - 1);
    journal.sync().unwrap();
    assert_eq!(journal.unsynced_records() > 0, journal.options().sync == Sync::None);
}

fn check(dir: &Path, last: u64) {
    let mut next = 1;
    crate::read(dir, 1, |record| {
        assert_eq!(record.sequence, next);
        assert_eq!(record.payload, payload(next));
        next += 1;
    })
    .unwrap();
    assert_eq!(next, last + 1);
}

#[test]
fn every_allowed_pair_of_options_keeps_what_was_appended_over_rolls_and_reopening() {
    let chosen = pairwise();
    assert!(chosen.len() >= 40, "only {} combinations", chosen.len());
    for options in chosen {
        let dir = crate::on_disk();
        let asked = format!("{options:?}");
        write(dir.path(), options.clone(), 1, 60);
        check(dir.path(), 60);
        let recovery = recover(dir.path()).unwrap();
        assert_eq!((recovery.last_sequence, recovery.torn_tail), (60, None), "{asked}");
        write(dir.path(), options, 61, 20);
        check(dir.path(), 80);
    }
}

#[test]
fn every_refused_combination_is_refused_when_a_journal_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let refused: Vec<_> =
        all_pairs().into_iter().filter(|options| compatibility::check(options).is_err()).collect();
    assert!(!refused.is_empty());
    for options in refused {
        assert!(Journal::create(dir.path(), options).is_err());
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn raw_framing_writes_the_bytes_as_given_and_refuses_to_be_opened() {
    for &write_path in WritePath::ALL {
        let dir = crate::on_disk();
        let options = Options { framing: Framing::Raw, write_path, ..small() };
        let mut journal = Journal::create(dir.path(), options.clone()).unwrap();
        let mut wanted = Vec::new();
        for sequence in 1..20 {
            journal.append(&payload(sequence)).unwrap();
            wanted.extend(payload(sequence));
        }
        drop(journal);
        let bytes = std::fs::read(dir.path().join("0000000001.journal")).unwrap();
        assert_eq!(bytes[..wanted.len()], wanted[..], "{write_path}");
        assert!(Journal::open(dir.path(), options).is_err());
        assert!(
            recover(dir.path()).unwrap_err().to_string().contains("not a file of this journal")
        );
    }
}

#[test]
fn recycled_files_never_show_their_former_records() {
    for roll in [Roll::Inline, Roll::Ahead] {
        let dir = crate::on_disk();
        let options = Options {
            preallocation: Preallocation::Recycled,
            keep_files: KeepFiles::Last(2),
            roll,
            ..small()
        };
        let mut journal = Journal::create(dir.path(), options).unwrap();
        for sequence in 1..=1000 {
            journal.append(&payload(sequence % 7)).unwrap();
            if sequence % 83 == 0 {
                let seen = crate::read(dir.path(), 1, |_| {}).unwrap();
                assert_eq!(seen.last_sequence, Some(sequence));
            }
        }
        drop(journal);
        assert!(std::fs::read_dir(dir.path()).unwrap().count() <= 6);
        let recovery = recover(dir.path()).unwrap();
        assert_eq!((recovery.last_sequence, recovery.torn_tail), (1000, None));
        assert!(recovery.first_sequence > 500);
    }
}
