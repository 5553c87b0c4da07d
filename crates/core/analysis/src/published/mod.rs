//! Every number stands as its source printed it, in a CSV file beside this one whose first
//! lines name the source, or in a file of the user's own. [`beside`] puts a run's figures next to them. Nothing here is a measurement of pickfs, and nothing of
//! it enters a verdict.

pub mod beside;
pub mod bonnie;
pub mod facts;
pub mod nano;
pub mod own;
pub mod rates;
pub mod table;
pub mod word;

pub use beside::{Beside, beside};
pub use facts::{Fact, Statistic};
pub use table::{Published, UnknownTable, find, names};
pub use word::Word;
