//! What a queue is asked to be. Plain data.

use std::time::Duration;

use super::error::{Error, Result};
use super::layout::{PAGE_BYTES, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN};

/// How a segment gets its space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// The file has its length and no space. The appender asks for each page before it stores to it, so that a
    /// full disk is an error and no signal.
    Sparse,
    /// fallocate(2), one chunk at a time.
    Fallocate,
    /// Zeros are written, one chunk at a time: the pages are in memory, and the extents are written.
    ZeroFill,
    /// [`Self::Fallocate`] where the file system has it, else [`Self::ZeroFill`]; [`super::Queue::allocation`] tells.
    Either,
}

/// Who makes pages present before a message is stored to them.
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

/// How messages are made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// They are not: they outlive their process, not the kernel.
    None,
    /// msync with MS_ASYNC: on Linux since 2.6.19 no more than none (msync(2)); here to be measured.
    MsyncAsync,
    /// msync with MS_SYNC over what is new.
    Msync,
    /// fdatasync of the segment.
    Fdatasync,
}

/// How often an appender syncs; it looks after each of its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncEvery {
    /// After this many of its own messages; 0 counts as 1.
    Messages(u32),
    /// When this much time has passed since its last sync.
    Time(Duration),
}

/// Who makes the next segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepare {
    /// The appender that comes to it.
    Inline,
    /// A thread beside the appender, when half of the present segment is full.
    Ahead,
}

/// Which segments are let go; each limit holds whole segments, and never one that a tailer needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// At most this many full segments stay.
    pub segments: Option<u64>,
    /// Segments whose successor began longer ago than this go.
    pub age: Option<Duration>,
    /// At most this many bytes in full segments stay.
    pub bytes: Option<u64>,
}

/// Everything that a queue can be told. Segment, chunk and roll are kept by the queue and fixed when it is made;
/// the rest is of whoever opens it. [`Options::default`] does what the measurements of
/// `docs/queue-workload.md` found best.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Length of a segment: a multiple of 4096 from 64 KiB to 32 GiB.
    pub segment_bytes: u64,
    /// Bytes by which a segment grows: a multiple of 4096; more than a segment is one segment.
    pub chunk_bytes: u64,
    /// A new segment begins with each period of this length, counted from 1970; zero rolls by size alone.
    pub roll_every: Duration,
    /// How a segment gets its space.
    pub allocation: Allocation,
    /// Who makes pages present.
    pub touch: Touch,
    /// What the kernel is told about the order of access.
    pub advice: Advice,
    /// Who makes the next segment.
    pub prepare: Prepare,
    /// How messages are made durable.
    pub sync: Sync,
    /// How often.
    pub sync_every: SyncEvery,
    /// What [`super::Queue::retire`] lets go.
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
    /// Says which option is out of range.
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
