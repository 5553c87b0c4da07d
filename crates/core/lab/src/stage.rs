//! Where trials happen: the machine with its scratch device, or a script in tests.
//!
//! This is the border at which the lab is simulated: everything above it (order,
//! repeats, stopping, storing, resuming) runs unchanged without a kernel.

use pickfs_record::{Cell, Event, TrialRecord, record::SettleRecord};

#[derive(Debug, Clone, Copy)]
pub struct TrialOrder<'a> {
    pub number: u32,
    pub block: u32,
    /// 1, or 2 where a disturbed trial is repeated.
    pub attempt: u32,
    pub cell: &'a Cell,
    /// Seed of the workload's random choices: the same for every cell of a block.
    pub seed: u64,
    pub settle: SettleRecord,
}

pub trait Stage {
    /// Seconds since some fixed moment.
    fn now_s(&self) -> f64;

    fn settle(&mut self) -> SettleRecord;

    /// Why no further trial can happen here: what the last one left could not be taken away.
    fn stuck(&self) -> Option<String> {
        None
    }

    /// Makes, mounts, measures and unmakes. Whatever goes wrong is the record's outcome.
    fn perform(&mut self, order: &TrialOrder<'_>, tell: &mut dyn FnMut(Event)) -> TrialRecord;
}
