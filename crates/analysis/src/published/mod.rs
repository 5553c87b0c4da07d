//! Published tables as facts: what others measured, to be shown beside a run.
//!
//! Every number stands as its source printed it, in a CSV file beside this one whose
//! first lines name the source. [`means`] recomputes what the sources derived from
//! them; [`beside`] puts a run's figures next to them. Nothing here is a measurement
//! of pickfs, and nothing of it enters a verdict.
//!
//! ```
//! use pickfs_analysis::published::find;
//! let table = find("kx-2025-rhel9").expect("built in");
//! let fact = table.ratio(64, "write float large", None, "ext4").expect("printed");
//! assert_eq!((fact, table.reference), (5.65, Some("xfs")));
//! assert!(find("kx-2026").expect_err("no such table").to_string().contains("kx-2025-ubuntu"));
//! ```

pub mod beside;
pub mod bonnie;
pub mod facts;
pub mod means;
pub mod table;
pub mod word;

pub use beside::{Beside, beside};
pub use facts::{Fact, Statistic};
pub use table::{Published, UnknownTable, find, names};
pub use word::Word;
