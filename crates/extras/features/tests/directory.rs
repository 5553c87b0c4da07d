//! A directory that is only asked stays as it was, whatever lies in it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pickfs_features::answers::{Presence, Verdict};
use pickfs_features::{Asked, Listener, Request, capabilities, survey};
use pickfs_record::BackingSpec;

struct Quiet;

impl Listener for Quiet {
    fn hear(&mut self, _asked: Asked) {}
}

fn request(path: &Path) -> Request {
    Request {
        candidates: vec!["dir".parse().unwrap()],
        backing: BackingSpec::directory(path),
        run_dir: PathBuf::new(),
        torn_time: Duration::from_millis(100),
    }
}

fn photograph(folder: &Path) -> BTreeMap<PathBuf, (u64, u32, Vec<u8>)> {
    let mut seen = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let facts = fs::symlink_metadata(&path).unwrap();
        let bytes = match facts.file_type() {
            kind if kind.is_symlink() => {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            }
            kind if kind.is_file() => fs::read(&path).unwrap(),
            _ => Vec::new(),
        };
        if facts.is_dir() {
            seen.extend(photograph(&path));
        }
        seen.insert(path, (facts.ino(), facts.mode(), bytes));
    }
    seen
}

#[test]
fn every_question_has_an_answer_and_foreign_files_stay() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let theirs = folder.path().join("theirs");
    fs::write(&theirs, b"keep me").unwrap();
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(folder.path().join("pickfs-trial-00000000")).unwrap();
    fs::write(folder.path().join("pickfs-trial-00000000/old"), b"not ours").unwrap();
    symlink(&theirs, folder.path().join("link")).unwrap();
    let before = photograph(folder.path());
    let rows = survey(&request(folder.path()), &mut Quiet).unwrap();
    assert!(matches!(rows[0].presence, Presence::Asked { .. }), "{:?}", rows[0].presence);
    assert_eq!(rows[0].answers.len(), capabilities().len());
    assert_eq!(before, photograph(folder.path()));
    for (capability, answer) in capabilities().into_iter().zip(&rows[0].answers) {
        let speaks = answer.verdict == Verdict::Yes || !answer.words.is_empty();
        assert!(speaks || answer.value.is_some(), "{}: {answer:?}", capability.key);
    }
}
