//! Fixtures for tests: one builder per subject, everything seeded.
//!
//! [`fake_run()`] makes a whole [`pickfs_record::RunRecord`] whose truth is known;
//! [`simulate()`] makes blocks of trial values for tests of statistics. Nothing
//! here measures, and nothing here belongs in a shipped program. [`Counting`] is an allocator for tests that a
//! path allocates nothing; [`until()`] waits for a state, with a deadline.
//!
//! ```
//! use pickfs_testkit::{FakeRun, fake_run};
//! let run = fake_run(&FakeRun { blocks: 8, ..FakeRun::default() });
//! assert_eq!(run.trials.len(), 8 * 4 * 2);
//! ```

pub mod counting;
pub mod dice;
pub mod docs;
mod fake_machine;
pub mod fake_phases;
pub mod fake_run;
mod fake_spec;
pub mod fake_stalls;
pub mod fake_trial;
mod hdr_log;
mod install;
pub mod mishap;
pub mod patience;
pub mod phase_list;
mod program;
pub mod root_ring;
pub mod signals;
pub mod simulate;

pub use counting::{Counting, allocated};
pub use dice::Dice;
pub use fake_phases::{FakePhase, FakePhasedRun, LostPhase, Speed, fake_phased_run};
pub use fake_run::{FakeCandidate, FakeRun, fake_run};
pub use fake_spec::{fake_spec, params};
pub use fake_stalls::explained;
pub use hdr_log::hdr_log;
pub use install::install;
pub use mishap::{Mishap, MishapKind, Mishaps};
pub use patience::{PATIENCE, until};
pub use program::Program;
pub use root_ring::{may_run, skipped};
pub use signals::{with_default_signals, with_ignored_signals};
pub use simulate::{Shape, Simulation, simulate};
