//! One run is one SQLite file, written between trials, readable for ever.
//!
//! The records (`run`, `trial`, `interval_log`) are what was seen; the derived
//! tables beside them exist for people with an SQL client and can be made again
//! from the records ([`RunFile::rebuild_derived`]). `schema.rs` documents both.
//!
//! ```no_run
//! let file = pickfs_store::RunFile::open("pickfs-runs/a-run.pickfs".as_ref())?;
//! println!("{} trials", file.read()?.trials.len());
//! # Ok::<(), pickfs_store::StoreError>(())
//! ```

mod derived;
mod error;
mod file;
mod guard;
mod listing;
pub mod schema;

pub use error::StoreError;
pub use file::{RunFile, TrialRow};
pub use guard::is_own;
pub use listing::{EXTENSION, RunAbout, RunRow, list_runs, run_paths};
