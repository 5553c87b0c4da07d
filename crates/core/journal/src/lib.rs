//! An append journal that an application links: records go in at the end, survive what the chosen
//! policy says they survive, and come back by recovery or replay.
//!
//! It is not a database: one writer, no random writes, no index. Every way to make the files, to
//! write, to sync and to roll is an option, because the fastest of them differs from one file system
//! to the next; [`compatibility`] says which go together. Between processes, with many writers and
//! readers that wait for new messages, there is the crate `pickfs-queue`.
//!
//! ```
//! use pickfs_journal::{Journal, Options, replay};
//! use std::ops::ControlFlow;
//!
//! let dir = tempfile::tempdir()?;
//! let mut journal = Journal::create(dir.path(), Options::default())?;
//! let appended = journal.append(b"buy 100 at 7.25")?;
//! assert_eq!(appended.sequence, 1);
//! drop(journal);
//!
//! replay(dir.path(), 1, |record| {
//!     assert_eq!(record.payload, b"buy 100 at 7.25");
//!     ControlFlow::Continue(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod aligned;
mod axes;
mod buffer;
pub mod compatibility;
pub mod crash;
mod directory;
mod disk_file;
mod disk_writer;
mod durability;
mod error;
mod evidence;
mod group_commit;
mod heater;
mod journal;
pub mod layout;
mod little_endian;
mod maker;
mod map;
mod name;
mod observe;
mod options;
mod range_sync;
mod recovery;
mod refusal;
mod replay;
mod ring;
mod scan;
mod storage;
mod supply;
mod survey;

pub use axes::{Framing, Preallocation, Roll, Sync, SyncEvery, UnknownWord, WritePath};
pub use buffer::EncodeBuffer;
pub use directory::Directory;
pub use disk_file::DiskFile;
pub use disk_writer::DiskWriter;
pub use durability::{Durability, durability, durability_markdown};
pub use error::{Damage, DamageKind, Error, Latch, Result};
pub use evidence::LaterRecords;
pub use group_commit::GroupCommit;
/// Of nanoseconds.
pub use hdrhistogram::Histogram;
pub use journal::{Appended, Journal};
pub use observe::{Observed, Observer, Second};
pub use options::{Fallback, KeepFiles, Options};
pub use recovery::{Holes, Recovery, TornTail, inspect, recover, recover_in, recover_with};
pub use refusal::Way;
pub use replay::{Record, Replayed, replay, replay_in};
pub use storage::{Open, Storage, StorageFile, SyncRange, Writer, WriterSpec};

/// The examples of the README are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
