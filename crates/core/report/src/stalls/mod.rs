//! All forms draw from [`pickfs_analysis::stalls`]; a run that was not explained has no tables,
//! and every form is then empty.

pub mod bars;
pub mod causes;
pub(crate) mod ledger;
pub mod timeline;
pub mod words;

pub use ledger::{StallScreen, stalls_document};
