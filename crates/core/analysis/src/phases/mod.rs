//! A phase is a named stretch of work, done once in each trial. [`rows`] makes one row of a
//! phase over all candidates, [`tables`] groups the rows as the field's articles do and puts
//! GEOMETRIC MEAN and MAX RATIO under each group, and the verdict turns comparisons of the
//! [`TIERS`] into advice. Ratios are the reference's rate divided by the row's: above 1, the
//! reference is faster. That is the other way round than [`pickfs_record::finding::Comparison`].

mod rows;
pub mod scale;
mod tables;

pub use rows::{RowRatio, rate_metric, ratio, rows};
pub(crate) use rows::{order, row_ratio};
pub use tables::{ColumnMean, Kind, PhaseTable, tables};

/// Derived phases: the workload computes them from its rows, and a plan may fix their rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tier {
    pub phase: &'static str,
    pub stands_for: &'static str,
}

pub const TIERS: [Tier; 4] = [
    Tier { phase: "hot tier", stands_for: "reads from memory" },
    Tier { phase: "mid tier", stands_for: "random reads from the device" },
    Tier { phase: "cold tier", stands_for: "sequential reads from the device" },
    Tier { phase: "ingest, durable", stands_for: "writes and their sync" },
];

pub fn tier(phase: &str) -> Option<&'static Tier> {
    TIERS.iter().find(|tier| tier.phase == phase)
}
