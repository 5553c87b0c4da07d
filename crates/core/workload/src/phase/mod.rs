//! A [`PhaseRunner`] runs them one after another: all lanes of the trial begin a phase together,
//! and it keeps what the phase did ([`Done`]), how long it took, the CPU that it used, and the operations
//! of its operations.

mod bench;
pub(crate) mod cold;
mod gate;
mod lanes;
mod runner;
mod span;
mod spec;

pub use bench::{PhaseBench, ThreadBench};
pub use cold::resident;
pub use gate::{GATE_BROKEN, Gate, LabLine};
pub use lanes::{merged_ops, merged_phases};
pub use runner::{Done, PhaseRunner};
pub use spec::PhaseSpec;
