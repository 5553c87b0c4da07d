//! The disk as one file of a FUSE file system. One thread serves it, so that what it is told has one order; nothing of
//! it is cached, so that a state that is served is what a mount reads.
//!
//! A flush covers what was answered before it came, and nothing else. While a recording is made, a write is therefore
//! held for a moment, and enters the log when it is answered: who sends a flush without waiting for it finds it behind
//! the flush.

use std::{
    ffi::OsStr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::Ordering::SeqCst,
        mpsc::{Receiver, Sender, channel},
    },
    time::{Duration, Instant, UNIX_EPOCH},
};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, WriteFlags,
};
use pickfs_sys::shared_memory::Shared;

use super::{recorder::Positions, store::Store};

pub(super) const NAME: &str = "disk";
const FILE: INodeNo = INodeNo(2);
const FOREVER: Duration = Duration::from_secs(3600);
const REQUEST_BYTES: u32 = 1 << 20;
/// `FALLOC_FL_PUNCH_HOLE` and `FALLOC_FL_ZERO_RANGE` of fallocate(2).
const PUNCH_HOLE: i32 = 2;
const ZERO_RANGE: i32 = 16;
/// Longer than a flush takes that does not wait.
const HELD: Duration = Duration::from_micros(200);

#[derive(Clone)]
pub(super) struct Served {
    store: Arc<Mutex<Store>>,
    positions: Arc<Shared<Positions>>,
    held: Sender<Held>,
}

struct Held {
    since: Instant,
    offset: u64,
    data: Arc<[u8]>,
    reply: ReplyWrite,
}

impl Served {
    pub(super) fn of(store: Store, positions: Shared<Positions>) -> Self {
        let (held, waiting) = channel();
        let (store, positions) = (Arc::new(Mutex::new(store)), Arc::new(positions));
        let served = Self { store, positions, held };
        let answers = Self { held: channel().0, ..served.clone() };
        std::thread::spawn(move || answers.answer_held(&waiting));
        served
    }

    fn answer_held(&self, waiting: &Receiver<Held>) {
        for Held { since, offset, data, reply } in waiting {
            std::thread::sleep(HELD.saturating_sub(since.elapsed()));
            self.write_now(offset, data, reply);
        }
    }

    fn write_now(&self, offset: u64, data: Arc<[u8]>, reply: ReplyWrite) {
        let length = data.len() as u32;
        match self.told(|store| store.write(offset, data)) {
            Ok(()) => reply.written(length),
            Err(error) => reply.error(error),
        }
    }

    pub(super) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The position is told before the answer: who has the answer sees at least its own entry.
    fn told(&self, tell: impl FnOnce(&mut Store) -> Result<(), Errno>) -> Result<(), Errno> {
        let mut store = self.store();
        let answer = tell(&mut store);
        self.positions.word(0).store(store.log.end().0 as u64, SeqCst);
        answer
    }

    fn attributes(&self, node: INodeNo) -> FileAttr {
        let (kind, size) = match node {
            FILE => (FileType::RegularFile, self.store().log.bytes),
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
            perm: 0o600,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        }
    }
}

fn answer(done: Result<(), Errno>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

impl Filesystem for Served {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Smaller ones would split a request of the file system; where the kernel has a limit of its own, it has.
        let _ = config.set_max_write(REQUEST_BYTES);
        // Without it the kernel sends one write after the other, and no flush before a write is answered.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == NAME {
            true => reply.entry(&FOREVER, &self.attributes(FILE), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &self.attributes(node));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
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
        let bytes = self.store().read(offset, size.into());
        reply.data(&bytes);
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
        if self.store().is_replay {
            return self.write_now(offset, data.into(), reply);
        }
        let held = Held { since: Instant::now(), offset, data: data.into(), reply };
        // Who answers is there as long as this is.
        let _ = self.held.send(held);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let flush = |store: &mut Store| {
            store.flush();
            Ok(())
        };
        answer(self.told(flush), reply);
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let done = self.told(|store| match mode {
            mode if mode & PUNCH_HOLE != 0 => store.discard(offset, length),
            mode if mode & ZERO_RANGE != 0 => store.write_zeros(offset, length),
            _ => Ok(()),
        });
        answer(done, reply);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }
}
