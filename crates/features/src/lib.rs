//! What a mounted file system can do, asked of it and never assumed: one small
//! probe per capability, each in a folder of its own.
//!
//! [`ask`] asks a directory; [`survey`] makes candidates on a scratch, mounts
//! each and asks it; [`classify`] derives the class from origin and answers.
//! Speed is not measured here.
//!
//! ```
//! let folder = tempfile::tempdir()?;
//! let room = pickfs_features::Room::new(folder.path(), None);
//! let answers = pickfs_features::ask(&room, &["hard-links"], &mut |_| {});
//! assert_eq!(answers[0].1.cell(), "yes");
//! # Ok::<(), std::io::Error>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod class;
mod errno;
mod figures;
mod probe;
mod probes;
mod refusal;
mod room;
mod survey;
mod table;

pub use class::classify;
pub use probe::Probe;
pub use refusal::Refusal;
pub use room::{Room, TORN_TIME};
pub use survey::{Asked, Listener, Request, SurveyError, survey};
pub use table::{ask, capabilities, questions};
