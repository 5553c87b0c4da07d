//! Root ring: real file systems give the answers that their drivers are known to give, and
//! asking leaves nothing behind.
#![allow(clippy::unwrap_used)]

#[path = "../../../core/candidate/tests/ring/mod.rs"]
mod ring;

use std::path::Path;
use std::time::Duration;

use pickfs_features::answers::{FeatureRow, Presence, Verdict};
use pickfs_features::{Asked, Listener, Request, capabilities, survey};
use pickfs_record::BackingSpec;
use pickfs_record::origin::Class;
use pickfs_sys::{loop_device, mount};

const SIZE_BYTES: u64 = 384 << 20;

const TESTS: &[ring::Test] = &[
    ("each_file_system_answers_as_its_driver_is_known_to", known_answers),
    ("classes_follow_from_origin_and_answers", classes_follow),
    ("what_is_not_here_is_a_row_with_its_reason", what_is_not_here),
    ("a_stopped_survey_takes_away_what_is_mounted", a_stopped_survey),
];

fn main() {
    ring::run(TESTS);
}

struct Quiet {
    questions: usize,
    limit: usize,
}

impl Listener for Quiet {
    fn hear(&mut self, asked: Asked) {
        self.questions += usize::from(matches!(asked, Asked::Question(..)));
    }

    fn is_stopped(&self) -> bool {
        self.questions >= self.limit
    }
}

fn ask(run_dir: &Path, names: &[&str], limit: usize) -> Vec<FeatureRow> {
    let request = Request {
        candidates: names.iter().map(|name| name.parse().unwrap()).collect(),
        backing: BackingSpec::Ram { size_bytes: SIZE_BYTES },
        run_dir: run_dir.to_owned(),
        torn_time: Duration::from_millis(150),
    };
    survey(&request, &mut Quiet { questions: 0, limit }).unwrap()
}

fn cell<'r>(row: &'r FeatureRow, key: &str) -> &'r str {
    let at = capabilities().iter().position(|capability| capability.key == key);
    row.answers[at.unwrap_or_else(|| panic!("no capability {key}"))].cell()
}

/// What is known of these drivers whatever the kernel's age (5.15 and later).
const KNOWN: &[(&str, &str)] = &[
    (
        "ext4",
        "permissions yes, owners yes, hard-links yes, special-files yes, acl yes, case yes, \
         name-length 255 B, name-characters none, rename-exchange yes, punch yes, \
         collapse yes, insert yes, unshare no, reflink no, largest-file <16 TiB, direct yes, \
         mmap yes, folder-sync yes, time-step 1 ns, time-first 1902, time-last 2446, \
         birth yes, keeps yes",
    ),
    (
        "xfs",
        "reflink yes, unshare yes, insert yes, torn-4k none, torn-64k none, \
         largest-file <8 EiB",
    ),
    ("btrfs", "reflink yes, collapse no, insert no, punch yes"),
    ("tmpfs", "keeps yes, reflink no, punch yes, flush -, zero-range no"),
    (
        "ntfs-3g",
        "permissions no, owners no, hard-links yes, symbolic-links yes, fallocate no, \
         reflink no, rename-exchange no, time-step 100 ns, name-length 255 ch",
    ),
    (
        "exfat-fuse",
        "permissions no, hard-links no, symbolic-links no, case no, sparse no, \
         largest-file -, time-first 1980, time-last 2107",
    ),
    ("ext4-fuse2fs", "permissions yes, owners yes, hard-links yes, reflink no, name-length 255 B"),
];

fn known_answers() {
    let (_folder, run_dir) = ring::folder();
    let before = leftovers(&run_dir);
    let names: Vec<_> = KNOWN.iter().map(|(name, _)| *name).collect();
    for row in ask(&run_dir, &names, usize::MAX) {
        if let Presence::Missing { reason, .. } = &row.presence {
            ring::skip(&format!("{}: {reason}", row.label));
            continue;
        }
        assert!(matches!(row.presence, Presence::Asked { .. }), "{:?}", row.presence);
        let (_, known) = KNOWN.iter().find(|(name, _)| *name == row.fs).unwrap();
        let known = known.split(", ").map(|one| one.split_once(' ').unwrap());
        let wrong: Vec<_> = known
            .filter(|(key, expected)| cell(&row, key) != *expected)
            .map(|(key, expected)| format!("{key} {}, not {expected}", cell(&row, key)))
            .collect();
        assert!(wrong.is_empty(), "{}: {}", row.label, wrong.join("; "));
        if ["ext4", "xfs", "btrfs"].contains(&row.fs.as_str()) {
            let flush = capabilities().iter().position(|capability| capability.key == "flush");
            let flush = &row.answers[flush.unwrap()];
            assert_eq!(flush.verdict, Verdict::Yes, "{}: {}", row.label, flush.words);
        }
        // exfat-fuse makes a plain file where a FIFO was asked for, and the kernel calls that EIO.
        let expected = |words: &str| row.fs == "exfat-fuse" && words == "mknod: EIO";
        let failed = row.answers.iter().filter(|answer| answer.verdict == Verdict::Failed);
        let failed = failed.filter(|answer| !expected(&answer.words));
        let failed: Vec<_> = failed.map(|answer| answer.words.clone()).collect();
        assert!(failed.is_empty(), "{}: {failed:?}", row.label);
    }
    assert_eq!(before, leftovers(&run_dir));
}

fn classes_follow() {
    let (_folder, run_dir) = ring::folder();
    let rows = ask(&run_dir, &["ext4", "xfs", "ntfs-3g", "jfs"], usize::MAX);
    let found = |fs: &str| {
        let row = rows.iter().find(|row| row.fs == fs).unwrap();
        row.classification.clone().unwrap()
    };
    assert_eq!(found("ext4").class, Class::Native);
    assert_eq!(found("ext4").differs_because, "");
    assert_eq!((found("xfs").class, found("xfs").is_measured), (Class::ForeignSupported, true));
    if ring::have(&["ntfs-3g"]) {
        let ntfs = found("ntfs-3g");
        assert_eq!(ntfs.class, Class::ForeignUnsupported);
        assert_eq!(ntfs.article, Some(Class::ForeignSupported));
        assert!(ntfs.because.contains("permissions stick"), "{}", ntfs.because);
        assert!(!ntfs.differs_because.is_empty());
    }
    assert_eq!(found("jfs").class, Class::ForeignSupported);
}

fn what_is_not_here() {
    let (_folder, run_dir) = ring::folder();
    let rows = ask(&run_dir, &["hpfs"], usize::MAX);
    let Presence::Missing { reason, remedy } = &rows[0].presence else {
        panic!("{:?}", rows[0].presence)
    };
    assert!(!reason.is_empty() && !remedy.is_empty());
    assert!(rows[0].origin.is_some() && rows[0].answers.is_empty());
    assert_eq!(std::fs::read_dir(&run_dir).unwrap().count(), 0);
}

fn a_stopped_survey() {
    let (_folder, run_dir) = ring::folder();
    let before = leftovers(&run_dir);
    let rows = ask(&run_dir, &["ext4", "xfs"], 3);
    assert_eq!(rows.len(), 1, "the second candidate is not begun");
    assert_eq!(rows[0].answers[2].verdict, Verdict::Yes);
    assert_eq!(rows[0].answers[3].verdict, Verdict::NotAsked);
    assert_eq!(before, leftovers(&run_dir));
}

fn leftovers(run_dir: &Path) -> (usize, usize, usize) {
    let attached = loop_device::attached();
    let ours = attached.iter().filter(|one| one.backing_file.starts_with(run_dir));
    let mounts = mount::mounts_inside(run_dir).unwrap().len();
    (mounts, ours.count(), std::fs::read_dir(run_dir).unwrap().count())
}
