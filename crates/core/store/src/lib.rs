//! The records (`run`, `trial`, `interval_log`) are what was seen; the derived
//! tables beside them exist for people with an SQL client and are made of their JSON.

mod derived;
mod error;
mod file;
mod guard;
mod listing;
mod nameless;
mod reduced;
pub mod schema;

pub use error::StoreError;
pub use file::{RunFile, TrialRow, select};
pub use guard::is_own;
pub use listing::{EXTENSION, RunAbout, RunRow, list_runs, run_paths};
pub use reduced::reduced;
