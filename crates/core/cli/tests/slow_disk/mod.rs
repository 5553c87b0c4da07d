//! A disk whose truth is known: one file in memory, exported by FUSE, under a loop device. Every
//! flush can be made to last, one flush can be made to stall, and every access can be made to fail;
//! what it did is written down on the clock of the operations.
//!
//! ```text
//! candidate    made and mounted by pickfs
//! /dev/loopN   direct I/O; a flush of the file system becomes an fsync of the file
//! FUSE         fsync sleeps, counts, notes; one thread, so that a stall stops everything
//! ```
#![allow(dead_code, clippy::unwrap_used)]

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, UNIX_EPOCH},
};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation,
    INodeNo, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyWrite,
    Request, WriteFlags,
};

use pickfs_sys::{block::BlockDevice, device_users::users_of, proc_root::ProcRoot};
use pickfs_testkit::until;

const FILE: INodeNo = INodeNo(2);
const NAME: &str = "disk";
const FOREVER: Duration = Duration::from_secs(3600);

#[derive(Default)]
struct Orders {
    flush_ms: AtomicU64,
    stall_ms: AtomicU64,
    stall_from: AtomicU64,
    fails: AtomicBool,
    flushes: AtomicU64,
    stall: Mutex<Option<(u64, u64)>>,
}

pub struct SlowDisk {
    orders: Arc<Orders>,
    session: Option<BackgroundSession>,
    folder: tempfile::TempDir,
}

impl SlowDisk {
    pub fn mount(size_bytes: usize) -> SlowDisk {
        let folder = tempfile::Builder::new().prefix("pickfs-disk-").tempdir().unwrap();
        let orders = Arc::new(Orders::default());
        let disk = Disk { bytes: Mutex::new(vec![0; size_bytes]), orders: Arc::clone(&orders) };
        let session = fuser::spawn_mount(disk, folder.path(), &Config::default()).unwrap();
        SlowDisk { orders, session: Some(session), folder }
    }

    pub fn set_flush_ms(&self, flush_ms: u64) {
        self.orders.flush_ms.store(flush_ms, SeqCst);
    }

    pub fn stall_once_ms(&self, stall_ms: u64) {
        self.stall_behind(0, stall_ms);
    }

    /// The flush behind so many from now on stalls.
    pub fn stall_behind(&self, flushes: u64, stall_ms: u64) {
        self.orders.stall_from.store(self.flushes() + flushes, SeqCst);
        self.orders.stall_ms.store(stall_ms, SeqCst);
    }

    pub fn stall_ns(&self) -> Option<(u64, u64)> {
        *self.orders.stall.lock().unwrap()
    }

    pub fn fail(&self, fails: bool) {
        self.orders.fails.store(fails, SeqCst);
    }

    pub fn flushes(&self) -> u64 {
        self.orders.flushes.load(SeqCst)
    }

    /// Nobody keeps it open, as with a disk of a user.
    pub fn attach(&self) -> Attached {
        attached(&["--find".as_ref()], &self.folder.path().join(NAME))
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        self.orders.fails.store(false, SeqCst);
        // Unmounts. It is not waited for: a namespace of a test beside this one may hold the mount for long.
        drop(self.session.take());
    }
}

fn attached(which: &[&OsStr], file: &Path) -> Attached {
    let mut losetup = Command::new("losetup");
    losetup.args(["--show", "--direct-io=on"]).args(which).arg(file);
    let output = losetup.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    // Another losetup may still try the number that it was offered, too.
    let number = BlockDevice::at(&path).unwrap().device_number();
    until("a device that nobody has open", || {
        users_of(number, &ProcRoot::host()).unwrap().users.is_empty().then_some(())
    });
    Attached { path, file: file.into() }
}

pub struct Attached {
    path: PathBuf,
    file: PathBuf,
}

impl Attached {
    pub fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }

    pub fn replug(self) -> Attached {
        let (path, file) = (self.path.clone(), self.file.clone());
        drop(self);
        attached(&[path.as_os_str()], &file)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
        let number = self.path.file_name().unwrap().to_owned();
        let backing = Path::new("/sys/block").join(number).join("loop/backing_file");
        for _ in 0..500 {
            if !backing.exists() {
                return;
            }
            // SLEEP: between two looks.
            std::thread::sleep(Duration::from_millis(10));
        }
        eprintln!("{} could not be detached", self.path.display());
    }
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

struct Disk {
    bytes: Mutex<Vec<u8>>,
    orders: Arc<Orders>,
}

impl Disk {
    fn attributes(&self, node: INodeNo) -> FileAttr {
        let (kind, size) = match node {
            FILE => (FileType::RegularFile, self.bytes.lock().unwrap().len() as u64),
            _ => (FileType::Directory, 0),
        };
        let then = UNIX_EPOCH;
        FileAttr {
            ino: node,
            size,
            blocks: size / 512,
            atime: then,
            mtime: then,
            ctime: then,
            crtime: then,
            kind,
            perm: 0o700,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        }
    }

    fn fails(&self) -> bool {
        self.orders.fails.load(SeqCst)
    }
}

impl Filesystem for Disk {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == NAME {
            true => reply.entry(&FOREVER, &self.attributes(FILE), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &self.attributes(node));
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if self.fails() {
            return reply.error(Errno::EIO);
        }
        let bytes = self.bytes.lock().unwrap();
        let from = (offset as usize).min(bytes.len());
        reply.data(&bytes[from..(from + size as usize).min(bytes.len())]);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut bytes = self.bytes.lock().unwrap();
        let from = offset as usize;
        match bytes.get_mut(from..from + data.len()) {
            Some(place) if !self.fails() => {
                place.copy_from_slice(data);
                reply.written(data.len() as u32);
            }
            _ => reply.error(Errno::EIO),
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        if self.fails() {
            return reply.error(Errno::EIO);
        }
        let is_due = self.orders.flushes.load(SeqCst) >= self.orders.stall_from.load(SeqCst);
        let stall_ms = if is_due { self.orders.stall_ms.swap(0, SeqCst) } else { 0 };
        let began_ns = now_ns();
        // SLEEP: the disk's own slowness.
        std::thread::sleep(Duration::from_millis(self.orders.flush_ms.load(SeqCst) + stall_ms));
        if stall_ms > 0 {
            *self.orders.stall.lock().unwrap() = Some((began_ns, now_ns()));
        }
        self.orders.flushes.fetch_add(1, SeqCst);
        reply.ok();
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        _: i32,
        reply: ReplyEmpty,
    ) {
        let mut bytes = self.bytes.lock().unwrap();
        let (from, length) = (offset as usize, length as usize);
        match bytes.get_mut(from..from + length) {
            Some(place) if !self.fails() => {
                place.fill(0);
                reply.ok();
            }
            _ => reply.error(Errno::EIO),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }
}
