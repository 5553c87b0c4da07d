//! A phase is a named stretch of work, done once in each trial. [`rows`] makes one row of a
//! phase over all candidates, [`tables`] groups the rows as the field's articles do and puts
//! GEOMETRIC MEAN and MAX RATIO under each group, and the verdict turns comparisons of the
//! [`TIERS`] into advice. Ratios are the reference's rate divided by the row's: above 1, the
//! reference is faster. That is the other way round than [`pickfs_record::finding::Comparison`].

mod rows;
pub mod scale;
mod tables;
mod tiers;

pub(crate) use rows::row_ratio;
pub use rows::{rate_metric, rows};
pub use tables::{ColumnMean, Kind, PhaseTable, tables};
pub use tiers::{TIERS, Tier, tier};
