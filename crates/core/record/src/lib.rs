//! One record, from the operation that a recorder saw to what the file holds and a page shows.
//! Everything that is stored or crosses a process border carries [`FORMAT`]. What measures runs on a
//! [`clock::Clock`], so that tests run it on a simulated one, exact to the nanosecond.

pub mod arrival;
pub mod backing;
pub mod calls;
pub mod candidate;
pub mod cell;
pub mod clock;
pub mod closest;
pub mod condition;
pub mod cpus;
pub mod density;
pub mod diagnosis;
pub mod environment;
pub mod episode;
pub mod event;
pub mod explain_also;
pub mod finding;
pub mod gaps;
pub mod interval_log;
pub mod keeper;
pub mod lindley;
mod merge;
pub mod metric;
pub mod origin;
mod packed;
pub mod phase;
pub mod plan;
pub mod quantity;
pub mod record;
pub mod recorder;
pub mod stall;
pub mod step;
pub mod times;
pub mod trial;
pub mod typed;
pub mod visible;

pub use arrival::{Arrival, Schedule};
pub use backing::{BackingKind, BackingSpec, DeviceState};
pub use calls::CallsRecord;
pub use candidate::{CandidateError, CandidateSpec};
pub use cell::{Cell, CellId, Durability, Level, Seen, Survived, WorkloadSpec};
pub use clock::{Clock, MonotonicClock, SimClock};
pub use condition::{Condition, Scope};
pub use cpus::Cpus;
pub use diagnosis::Diagnosis;
pub use environment::Environment;
pub use event::{Event, Headline};
pub use explain_also::ExplainAlso;
pub use finding::Findings;
pub use gaps::{Gaps, watch_gaps};
pub use keeper::IntervalKeeper;
pub use lindley::{Lateness, Lindley};
pub use metric::Metric;
pub use phase::{Heat, PhaseRecord, WorkUnit};
pub use plan::Plan;
pub use record::{INTERRUPTED, OpRecord, Operation, Outcome, RunRecord, TrialRecord};
pub use recorder::{OpIndex, Recorder, RecorderOptions, recorder};
pub use stall::StallRecord;
pub use step::{Action, Step, StepRecord};
pub use trial::{TrialSpec, WorkerMessage};

/// Version of everything that this crate describes when it is stored or sent.
///
/// Readers accept this value and every lower one.
pub const FORMAT: u32 = 1;
