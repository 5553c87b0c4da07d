//! Formatters for file systems that no Linux distribution formats, or only
//! with a program outside its free part; each in a file of its own, written from the on-disk layout. Not a replacement for the
//! packaged mkfs programs, and not a checker: what is made here is made for the
//! kernel's drivers and was mounted, filled and read back by them.
//!
//! A format is drafted in memory first: a pure function from size and options
//! to bytes. Then the draft is written. The same arguments give the same bytes.
//!
//! ```
//! use pickfs_mkfs::{Kind, Options};
//! let file = tempfile::tempfile()?;
//! let summary = Kind::Affs.format(&file, 4 << 20, &Options::default())?;
//! assert_eq!(summary.to_string(), "affs: 8192 blocks of 512 bytes, 8186 free; 2052 bytes written");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod affs;
mod claims;
mod draft;
mod error;
mod hfsplus;
mod hpfs;
mod kind;
mod options;
mod place;
mod record;
mod ufs;

pub use draft::{Draft, Summary};
pub use error::MakeError;
pub use kind::{Kind, UnknownKind};
pub use options::{Contents, MADE_S, Options};
