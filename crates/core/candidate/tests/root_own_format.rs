//! Root ring: what the `format` step writes on a loop device, blkid calls by its name.
#![allow(clippy::unwrap_used)]

mod ring;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use pickfs_candidate::{Scratch, carry_out::Calls};
use pickfs_record::BackingSpec;

const TESTS: &[ring::Test] = &[
    ("volumes_of_our_own_are_known_by_others", volumes_are_known),
    ("a_size_is_kept_and_other_words_are_refused", a_size_is_kept),
];

const SIZE_BYTES: u64 = 48 << 20;

fn main() {
    ring::run(TESTS);
}

fn scratch(run_dir: &Path) -> (Scratch, String) {
    let backing = BackingSpec::Loop { size_bytes: SIZE_BYTES, directory: None };
    let scratch = Scratch::prepare(&backing, run_dir, &mut |_| {}).unwrap();
    let device = scratch.device().unwrap().to_string_lossy().into_owned();
    (scratch, device)
}

fn blkid(device: &str, tag: &str) -> String {
    let words = ["-p", "-o", "value", "-s", tag, device];
    let output = Command::new("blkid").args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn volumes_are_known() {
    if !ring::have(&["blkid"]) {
        return;
    }
    let (_folder, run_dir) = ring::folder();
    let (mut scratch, device) = scratch(&run_dir);
    let kinds = [("hpfs", "hpfs"), ("hfsplus", "hfsplus"), ("hfsx", "hfsplus")];
    for (kind, name) in kinds.into_iter().chain([("ufs", "ufs"), ("ufs2", "ufs")]) {
        scratch.call("clear-ends", std::slice::from_ref(&device)).unwrap();
        let said = scratch.call("format", &[kind.into(), device.clone()]).unwrap();
        assert!(said.starts_with(&format!("{kind}: ")), "{said}");
        assert_eq!(blkid(&device, "TYPE"), name, "{kind}");
    }
    scratch.call("format", &["affs".into(), device.clone()]).unwrap();
    let mut head = [0; 4];
    File::open(&device).unwrap().read_exact(&mut head).unwrap();
    assert_eq!(&head, b"DOS\x03", "blkid knows no AFFS");
    assert_eq!(blkid(&device, "TYPE"), "", "nothing is left of what was there before");
}

fn a_size_is_kept() {
    let (_folder, run_dir) = ring::folder();
    let (mut scratch, device) = scratch(&run_dir);
    let mut format = |words: &[&str]| {
        let given = ["ufs2", &device].into_iter().chain(words.iter().copied());
        scratch.call("format", &given.map(str::to_owned).collect::<Vec<_>>())
    };
    assert!(format(&["size=16777216"]).unwrap().starts_with("ufs2: 4096 blocks of 4096 bytes"));
    assert!(format(&[]).unwrap().starts_with("ufs2: 12288 blocks"));
    let refused = format(&["-O", "2"]).unwrap_err().to_string();
    assert_eq!(refused, "our formatter of ufs2 knows no option `-O`; leave it out");
    let refused = format(&["size=99999744"]).unwrap_err().to_string();
    assert!(refused.starts_with("the device holds 50331648 bytes"), "{refused}");
}
