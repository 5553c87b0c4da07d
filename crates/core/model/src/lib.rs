//! Everything that is stored or crosses a process border carries [`FORMAT`].

pub mod backing;
pub mod calls;
pub mod candidate;
pub mod cell;
pub mod closest;
pub mod cpus;
pub mod diagnosis;
pub mod environment;
pub mod event;
pub mod explain_also;
pub mod features;
pub mod finding;
pub mod phase;
pub mod plan;
pub mod quantity;
pub mod record;
pub mod stall;
pub mod step;
pub mod trial;
pub mod typed;
pub mod visible;

pub use backing::{BackingKind, BackingSpec, DeviceState};
pub use calls::CallsRecord;
pub use candidate::{CandidateError, CandidateSpec};
pub use cell::{Cell, CellId, Durability, Level, WorkloadSpec};
pub use cpus::Cpus;
pub use diagnosis::Diagnosis;
pub use environment::Environment;
pub use event::Event;
pub use explain_also::ExplainAlso;
pub use finding::Findings;
pub use phase::{Heat, PhaseRecord, WorkUnit};
pub use plan::Plan;
pub use record::{Outcome, RunRecord, TrialRecord};
pub use stall::StallRecord;
pub use step::{Action, Step, StepRecord};
pub use trial::{TrialSpec, WorkerMessage};

/// Version of everything that this crate describes when it is stored or sent.
///
/// Readers accept this value and every lower one.
pub const FORMAT: u32 = 1;
