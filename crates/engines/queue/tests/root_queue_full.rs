//! A full disk is an error before the store, on every file system and in every way of growing: needs root to mount
//! small file systems on loop devices. A SIGBUS would end this program, and so fail the test.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use pickfs_queue::{Allocation, Appender, Error, Options, Prepare, Queue, Touch};
use pickfs_testkit::{may_run, only_if};
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use tempfile::TempDir;

/// btrfs needs some of it for its own.
const LEFT_BYTES: u64 = 32 << 20;
const NEEDS: &[&str] = &["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];
const FILE_SYSTEMS: [&str; 4] = ["ext4", "xfs", "btrfs", "tmpfs"];

/// It goes away with its image, also when a test fails.
struct Mounted {
    dir: TempDir,
    at: PathBuf,
}

fn run(program: &str, words: &[&str]) {
    let output = Command::new(program).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {words:?}: {said}");
}

impl Mounted {
    fn new(kind: &str) -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (image, at) = (dir.path().join("image"), dir.path().join("mnt"));
        fs::create_dir(&at).unwrap();
        let (image, at_text) = (image.to_str().unwrap(), at.to_str().unwrap());
        if ["tmpfs", "ramfs"].contains(&kind) {
            run("mount", &["-t", kind, "-o", "size=48m", "none", at_text]);
        } else {
            File::create(image).unwrap().set_len(320 << 20).unwrap();
            let force = if kind == "ext4" { "-F" } else { "-f" };
            run(&format!("mkfs.{kind}"), &["-q", force, image]);
            run("mount", &["-t", kind, "-o", "loop", image, at_text]);
        }
        Self { at: at.clone(), dir }
    }

    fn fill_to(&self, left_bytes: u64) {
        let file = File::create(self.at.join("filler")).unwrap();
        let mut length = 0;
        for step in [32 << 20, 4 << 20, 1 << 20, 64 << 10, 4096] {
            loop {
                let seen = statvfs(&self.at).unwrap();
                if seen.f_bavail * seen.f_frsize < left_bytes + step
                    || fallocate(&file, FallocateFlags::empty(), length, step).is_err()
                {
                    break;
                }
                length += step;
            }
        }
    }

    /// Down to the last block that a small write can have.
    fn fill(&self) {
        self.fill_to(0);
        let Ok(mut file) = File::create(self.at.join("rest")) else { return };
        for length in [1 << 20, 4096] {
            while file.write_all(&vec![1; length]).and_then(|()| file.sync_data()).is_ok() {}
        }
    }

    fn empty(&self) {
        for name in ["filler", "rest"] {
            let _ = fs::remove_file(self.at.join(name));
        }
        rustix::fs::syncfs(File::open(&self.at).unwrap()).unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
        let _ = &self.dir;
    }
}

fn options(allocation: Allocation, touch: Touch) -> Options {
    Options {
        segment_bytes: 4 << 20,
        chunk_bytes: 1 << 20,
        allocation,
        touch,
        prepare: Prepare::Inline,
        ..Options::default()
    }
}

fn append_until_full(appender: &mut Appender, queue_bytes_max: u64) -> u64 {
    for count in 0..queue_bytes_max / 1000 {
        // Of several lengths, so that messages lie across the ends of pages in several ways.
        let length = 1000 - (count % 8) as usize * 8;
        let appended = appender.append(&[(count % 251) as u8; 1000][..length]).map(drop);
        if let Err(error) = appended.and_then(|()| appender.idle().map(drop)) {
            assert!(error.is_full(), "{error}");
            let again = appender.append(&[0; 1000]).map(drop);
            return count + 1 + u64::from(again.is_ok());
        }
    }
    panic!("the disk never was full");
}

fn count(queue: &Queue) -> u64 {
    let mut tailer = queue.tailer().unwrap();
    let mut count = 0;
    while tailer.poll().unwrap().is_some() {
        count += 1;
    }
    count
}

#[test]
fn an_append_to_a_full_disk_is_an_error_and_goes_on_when_there_is_room() {
    only_if!(may_run(NEEDS));
    let ways = [
        (Allocation::Fallocate, Touch::NextPage),
        (Allocation::Sparse, Touch::None),
        (Allocation::Sparse, Touch::Populate(16)),
        (Allocation::ZeroFill, Touch::None),
    ];
    for kind in FILE_SYSTEMS {
        let mounted = Mounted::new(kind);
        mounted.fill_to(LEFT_BYTES);
        for (at, (allocation, touch)) in ways.into_iter().enumerate() {
            let dir = mounted.at.join(format!("queue-{at}"));
            let queue = Queue::create(&dir, options(allocation, touch)).unwrap();
            let mut appender = queue.appender().unwrap();
            let appended = append_until_full(&mut appender, 256 << 20);
            println!("{kind} {allocation:?} {touch:?}: full after {appended}");
            let read = count(&queue);
            assert!((appended - 1..=appended).contains(&read), "{kind}: {read} of {appended}");
            mounted.empty();
            appender.append(&[9; 1000]).unwrap();
            assert_eq!(count(&queue), read + 1, "{kind} {allocation:?}");
            drop((appender, queue));
            fs::remove_dir_all(&dir).unwrap();
            mounted.fill_to(LEFT_BYTES);
        }
    }
}

#[test]
fn a_page_that_was_written_back_takes_stores_on_a_full_disk() {
    only_if!(may_run(NEEDS));
    for kind in FILE_SYSTEMS {
        for allocation in [Allocation::Fallocate, Allocation::Sparse, Allocation::ZeroFill] {
            let mounted = Mounted::new(kind);
            let queue =
                Queue::create(mounted.at.join("queue"), options(allocation, Touch::None)).unwrap();
            let mut appender = queue.appender().unwrap();
            appender.append(&[1; 100]).unwrap();
            rustix::fs::syncfs(File::open(&mounted.at).unwrap()).unwrap();
            mounted.fill();
            // The page is clean and write-protected: this store asks the file system again.
            let appended = appender.append(&[2; 100]);
            println!("{kind} {allocation:?}: {}", appended.is_ok());
            assert!(appended.is_ok() || appended.is_err_and(|error| error.is_full()));
            rustix::fs::syncfs(File::open(&mounted.at).unwrap()).unwrap();
        }
    }
}

#[test]
fn a_queue_is_filled_with_zeros_where_there_is_no_fallocate_unless_told_otherwise() {
    only_if!(may_run(&[]));
    let ramfs = Mounted::new("ramfs");
    let options = |allocation| Options { segment_bytes: 1 << 20, allocation, ..Options::default() };
    let told = options(Allocation::Fallocate);
    let refused = Queue::create(ramfs.at.join("told"), told).err().unwrap();
    assert!(matches!(refused, Error::Refused { way: "fallocate", .. }), "{refused}");
    let queue = Queue::create(ramfs.at.join("left"), options(Allocation::Either)).unwrap();
    assert_eq!(queue.allocation(), Allocation::ZeroFill);
    let mut tailer = queue.tailer().unwrap();
    queue.appender().unwrap().append(b"kept").unwrap();
    assert_eq!(tailer.poll().unwrap().unwrap().payload, b"kept");

    let tmpfs = Mounted::new("tmpfs");
    let queue = Queue::create(tmpfs.at.join("left"), options(Allocation::Either)).unwrap();
    assert_eq!(queue.allocation(), Allocation::Fallocate);
}
