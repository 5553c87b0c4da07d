use std::time::Duration;

use super::error::{Error, Result};
use super::layout::{ControlHeader, PAGE_BYTES, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// The file has its length and no space. The appender asks for each page before it stores to it, so that a
    /// full disk is an error and no signal.
    Sparse,
    Fallocate,
    /// Zeros are written, one chunk at a time: the pages are in memory, and the extents are written.
    ZeroFill,
    /// [`Self::Fallocate`] where the file system has it, else [`Self::ZeroFill`]; [`super::Queue::allocation`] tells.
    Either,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// Nobody: the store takes the page fault.
    None,
    /// The appender, one page ahead, in [`super::Appender::idle`].
    NextPage,
    /// A thread beside the appender, this many pages ahead.
    Ahead(u32),
    /// The appender, this many pages at once, whenever it comes to the first of them.
    Populate(u32),
}

/// What the kernel is told about the order of access (madvise(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Nothing: a fault reads ahead, and on a fresh file instantiates, `read_ahead_kb` at once.
    Normal,
    /// MADV_RANDOM: a fault brings one page.
    Random,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// They are not: they outlive their process, not the kernel.
    None,
    /// msync with MS_ASYNC: on Linux since 2.6.19 no more than none (msync(2)); here to be measured.
    MsyncAsync,
    /// MS_SYNC over what is new.
    Msync,
    Fdatasync,
}

/// It looks after each of its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncEvery {
    /// Of its own messages; 0 counts as 1.
    Messages(u32),
    /// Since its last sync, by CLOCK_MONOTONIC.
    Time(Duration),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepare {
    Inline,
    /// A thread beside the appender, when half of the present segment is full.
    Ahead,
}

/// Each limit holds whole segments, and never one that a tailer needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    pub segments: Option<u64>,
    /// Segments whose successor began longer ago than this go.
    pub age: Option<Duration>,
    /// Of all full segments together.
    pub bytes: Option<u64>,
}

/// Segment, chunk and roll are kept by the queue and fixed when it is made; the rest is of whoever
/// opens it. [`Options::default`] does what the measurements of `docs/queue-workload.md` found
/// best.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// A multiple of 4096 from 64 KiB to 32 GiB.
    pub segment_bytes: u64,
    /// A multiple of 4096; more than a segment is one segment.
    pub chunk_bytes: u64,
    /// Counted from 1970; zero rolls by size alone.
    pub roll_every: Duration,
    pub allocation: Allocation,
    pub touch: Touch,
    pub advice: Advice,
    pub prepare: Prepare,
    pub sync: Sync,
    pub sync_every: SyncEvery,
    pub retention: Retention,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            chunk_bytes: 64 << 20,
            roll_every: Duration::ZERO,
            allocation: Allocation::Either,
            touch: Touch::NextPage,
            advice: Advice::Random,
            prepare: Prepare::Ahead,
            sync: Sync::None,
            sync_every: SyncEvery::Messages(1),
            retention: Retention::default(),
        }
    }
}

impl Options {
    /// With what the queue keeps.
    pub(crate) fn of(self, header: &ControlHeader) -> Self {
        let ControlHeader { segment_bytes, chunk_bytes, roll_ns, .. } = *header;
        Self { segment_bytes, chunk_bytes, roll_every: Duration::from_nanos(roll_ns), ..self }
    }

    pub fn validate(&self) -> Result<()> {
        let sizes = SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX;
        let on_pages = |value: u64| value % PAGE_BYTES == 0;
        if !sizes.contains(&self.segment_bytes) || !on_pages(self.segment_bytes) {
            let allowed = "a multiple of 4096 from 65536 to 34359738368";
            return Err(Error::Option {
                field: "segment_bytes",
                value: self.segment_bytes,
                allowed,
            });
        }
        if self.chunk_bytes == 0 || !on_pages(self.chunk_bytes) {
            let allowed = "a multiple of 4096";
            return Err(Error::Option { field: "chunk_bytes", value: self.chunk_bytes, allowed });
        }
        Ok(())
    }
}
