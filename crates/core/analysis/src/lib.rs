//! The lab also asks [`answers`] which cells to run next, [`capacity`] which rate to try,
//! and [`doubts`] what to flag.

pub mod absent;
pub mod answers;
pub mod articles;
pub mod bimodal;
pub mod budget;
pub mod capacity;
pub mod clock;
pub mod compare;
pub mod comparisons;
pub mod decide;
pub mod disturbed;
pub mod doubts;
pub mod drift;
pub mod ending;
pub mod engine;
mod entry;
pub mod factors;
pub mod fleet;
pub mod gates;
pub mod noise;
pub mod not_yet;
pub mod objective;
pub mod panels;
pub mod phases;
pub mod published;
pub mod rows;
pub mod stalls;
pub mod steady;
pub mod summary;
pub mod trust;
pub mod wording;

pub use budget::ALPHA;
pub use entry::findings;

/// Fewest blocks for any interval: five of a fair coin say the same more often than one time in twenty (rule 8).
pub const BLOCKS_MIN: u32 = 6;
