//! Many hosts, one folder: a launcher of MPI starts ranks, and each is a lane of a trial.
//!
//! ```text
//! lab ── lines on standard streams ──► rank 0 ── MPI ──► rank 1 .. n-1      each: one process that speaks MPI,
//!  (starts the launcher once per trial)                                   and a worker below it that measures
//! ```
//!
//! Nothing of MPI is linked: its library is found when a launcher has started us. Only the process above a worker
//! speaks it, so that no thread of it is in the one that measures. While a worker measures, no rank says a word.
//! No port is opened here, and nothing is left running: every wait has a deadline, and a rank whose launcher
//! or lab is gone goes too.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod clock;
pub mod doctor;
mod error;
mod gathered;
mod group;
mod launch_words;
mod launched;
mod library;
mod meeting;
mod message;
mod mpi;
mod rank;
mod same_folder;
mod start;

use std::path::Path;

use pickfs_lab::{
    interrupt::Interrupt,
    ranks::{Gathered, Ranks},
};
use pickfs_record::plan::RanksSpec;

pub use error::RanksError;
pub use launch_words::launch_words;
pub use rank::run;

/// Ranks of the lab.
pub struct ByMpi;

impl Ranks for ByMpi {
    fn gather(
        &self,
        ranks: &RanksSpec,
        settle_s: f64,
        folder: &Path,
        interrupt: &Interrupt,
    ) -> Result<Box<dyn Gathered>, String> {
        let task = message::Task::Trial { settle_s };
        match gathered::gather(ranks, Some(folder), task, interrupt) {
            Ok(gathered) => Ok(Box::new(gathered)),
            Err(error) => Err(error.to_string()),
        }
    }
}
