//! Phases: the work of workloads that are a list of named tests rather than one loop.
//!
//! A [`PhaseRunner`] runs them one after another: all lanes of the trial begin a phase together, and
//! it keeps what the phase did ([`Done`]), how long it took, the CPU that it used, and the laps of
//! its operations. What a phase does is the workload's.
//!
//! ```
//! # use pickfs_workload::phase::{Done, PhaseRunner, PhaseSpec};
//! # fn run(runner: &mut PhaseRunner) -> Result<(), pickfs_workload::Fault> {
//! let spec = PhaseSpec::new("hcount", "meta").calls();
//! runner.run(&spec, |bench| {
//!     for _ in 0..100 {
//!         let start_ns = bench.now_ns();
//!         // the call
//!         bench.lap(0, start_ns, bench.now_ns(), 0);
//!     }
//!     Ok(Done::work(100.0))
//! })
//! # }
//! ```

mod bench;
pub(crate) mod cold;
mod gate;
mod keepers;
mod lanes;
mod machine_cpu;
mod runner;
mod span;
mod spec;

pub use bench::{PhaseBench, ThreadBench};
pub use cold::Residency;
pub use gate::{GATE_BROKEN, Gate, LabLine};
pub use lanes::{merged_ops, merged_phases};
pub use runner::{Done, PhaseRunner};
pub use spec::PhaseSpec;
