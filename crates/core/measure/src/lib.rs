//! No files, no processes, no printing. Everything here runs on a [`clock::Clock`], so
//! that tests run it on a simulated one, exact to the nanosecond.

pub mod arrival;
pub mod clock;
pub mod episode;
pub mod gaps;
pub mod keeper;
pub mod merge;
pub mod recorder;
pub mod summary;
pub mod turnstile;

pub use arrival::{Arrival, Schedule};
pub use clock::{Clock, MonotonicClock, SimClock};
pub use gaps::{Gaps, watch_gaps};
pub use keeper::{IntervalKeeper, OpLaps, SecondRow};
pub use recorder::{Lap, LapRecorder, OpIndex, RecorderOptions, recorder};
pub use summary::{QuantileValue, Summary};
pub use turnstile::{Lateness, Turnstile};
