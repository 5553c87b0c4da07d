use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

#[derive(Debug, Default)]
pub(super) struct Published {
    file_index: AtomicU64,
    position_bytes: AtomicU64,
    oldest_index: AtomicU64,
    stopped: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file_index: u64,
    /// Everything before this offset was written.
    pub(super) position_bytes: u64,
}

impl Published {
    /// What stands before `position_bytes` of the current file was written.
    #[inline]
    pub(super) fn advance(&self, position_bytes: u64) {
        self.position_bytes.store(position_bytes, Release);
    }

    /// A reader that looks in between sees a place without bytes.
    pub(super) fn begin_file(&self, file_index: u64, oldest_index: u64) {
        self.position_bytes.store(0, Release);
        self.file_index.store(file_index, Release);
        self.oldest_index.store(oldest_index, Relaxed);
    }

    /// The current file and what was written to it; nothing while the writer changes files.
    pub(super) fn place(&self) -> Place {
        let file_index = self.file_index.load(Acquire);
        let position_bytes = self.position_bytes.load(Acquire);
        let is_same = self.file_index.load(Acquire) == file_index;
        Place { file_index, position_bytes: if is_same { position_bytes } else { 0 } }
    }

    pub(super) fn oldest_index(&self) -> u64 {
        self.oldest_index.load(Relaxed)
    }

    pub(super) fn stop(&self, is_stopped: bool) {
        self.stopped.store(is_stopped, Release);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Acquire)
    }
}
