//! Formatters for file systems that no Linux distribution formats, or only with a program outside
//! its free part; each written from the on-disk layout. A format is drafted in memory first: a
//! pure function from size to bytes. Then the draft is written.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod affs;
mod claims;
mod draft;
mod error;
mod hfsplus;
mod hpfs;
mod kind;
mod place;
mod record;
mod ufs;

pub use draft::{Draft, Summary};
pub use error::MakeError;
pub use kind::Kind;
