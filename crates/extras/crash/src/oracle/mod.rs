//! What is written before a crash, and what is there after it.
//!
//! A [`Subject`] writes records of known bytes and reads them again by the recovery and the reader that its users have;
//! there is no second reader here. What is not ours is seen from outside: the disk was full of one byte before, and
//! no record has a run of it.

mod command;
mod fix;
mod journal;
mod pair;
mod queue;
mod record;
mod save;
mod subject;

pub use crate::check::Due;
pub use command::Command;
pub use record::{FOREIGN_BYTE, RECORD_BYTES};
pub use subject::{Subject, SubjectError, Writes};
