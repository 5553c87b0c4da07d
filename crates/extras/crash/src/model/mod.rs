//! Which crash, of which disk, and what it may take away.
//!
//! ```text
//! log       w0 w1 F w2 w3 w4 . . .        F: a flush, w: a write
//!                    ^safe    ^crash
//! honest    |- kept -|- may go -|
//! ```
//!
//! What may go is cut into pieces as large as what the disk writes at once. A disk without a cache loses at most a part
//! of the write that is under way; one that keeps order loses everything behind some write, of which a part may stay;
//! one that reorders keeps any of the pieces.

mod window;
mod words;

use pickfs_record::Durability;

pub use window::Windows;
pub use words::UnknownWord;
pub(crate) use words::unknown;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Crash {
    /// The process dies; kernel and page cache live on. What it leaves is what a recording ends with.
    ProcessKill,
    /// The kernel dies with its page cache; the disk finishes what it was told.
    KernelCrash,
    PowerLoss(Device),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device {
    pub cache: Cache,
    pub unit: Unit,
    pub flush: Flush,
}

/// How it keeps what no flush covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cache {
    /// A write is on the medium when it is answered, or the cache has a battery.
    None,
    /// Writes reach the medium in the order in which they came.
    Ordered,
    AnyOrder,
}

/// What it writes at once: all of it or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// A multiple of 512; pieces lie at multiples of it.
    Bytes(u32),
    Request,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flush {
    Honest,
    /// It answers and does nothing.
    Lying,
}

impl Crash {
    /// That lost its power.
    pub fn device(&self) -> Option<Device> {
        match self {
            Self::PowerLoss(device) => Some(*device),
            _ => None,
        }
    }

    /// The weakest class that outlives it; no promise holds on a disk that lies.
    pub fn least(&self) -> Option<Durability> {
        match self {
            Self::ProcessKill => Some(Durability::ProcessCrash),
            Self::KernelCrash => Some(Durability::KernelCrash),
            Self::PowerLoss(device) if device.is_honest() => Some(Durability::PowerLoss),
            Self::PowerLoss(_) => None,
        }
    }

    /// A sentence's end: "states of ...".
    pub fn prose(&self) -> String {
        let device = match self {
            Self::ProcessKill => return "a process kill (all is written)".into(),
            Self::KernelCrash => return "a kernel crash".into(),
            Self::PowerLoss(device) => device,
        };
        let cache = match device.cache {
            Cache::None => "without a cache",
            Cache::Ordered => "whose cache keeps order",
            Cache::AnyOrder => "whose cache may reorder",
        };
        let lies = if device.flush == Flush::Lying { " and whose flush does nothing" } else { "" };
        format!("a disk {cache}{lies}")
    }
}

impl Device {
    pub fn is_honest(&self) -> bool {
        self.flush == Flush::Honest
    }
}

impl Default for Device {
    /// The weakest that keeps its word: a cache that reorders, over blocks of 4096 bytes.
    fn default() -> Self {
        Self { cache: Cache::AnyOrder, unit: Unit::Bytes(4096), flush: Flush::Honest }
    }
}
