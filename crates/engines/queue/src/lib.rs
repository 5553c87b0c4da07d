//! A memory-mapped queue between processes of one host: any number of appenders and tailers, each message in
//! order, once, and whole, whoever dies when.
//!
//! It is no broker and no network protocol: processes share a directory, and nobody runs in between. An append is
//! a copy and a compare-and-exchange; what it costs beside that are page faults, and [`Options`] say who takes
//! them. The bytes are in [`layout`], with a picture; the protocol is in [`word`].
//!
//! ```
//! use pickfs_queue::{Options, Queue};
//!
//! let dir = tempfile::tempdir()?;
//! let queue = Queue::create(dir.path(), Options::default())?;
//! let mut appender = queue.appender()?; // here, and in any other process
//! appender.append(b"buy 100 at 7.25")?;
//!
//! let mut tailer = queue.named_tailer("risk")?;
//! while let Some(message) = tailer.poll()? {
//!     assert_eq!((message.sequence, message.payload), (1, &b"buy 100 at 7.25"[..]));
//! }
//! tailer.remember()?; // the next process that opens this name goes on from here
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What survives: a message outlives its process as soon as [`Appender::append`] has returned. It outlives the
//! kernel and the power when [`Options::sync`] says so and the sync has returned.

mod appender;
mod clock;
mod control;
mod crc;
mod error;
mod forerunner;
mod handle;
pub mod layout;
mod map;
mod options;
mod recovery;
mod seat_lock;
mod segment;
mod tailer;
pub mod word;

pub use appender::{Appended, Appender};
pub use error::{Damage, DamageKind, Error, Result};
pub use handle::Queue;
pub use options::{Advice, Allocation, Options, Prepare, Retention, Sync, SyncEvery, Touch};
pub use recovery::{Recovery, Retired};
pub use segment::ReadBy;
pub use tailer::{Message, Tailer};
