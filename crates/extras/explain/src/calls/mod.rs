//! The file-system calls of other programs: counted, timed and, where they were slow, explained.
//! Needs root; what remains without it is seen by [`SleepWatch`].

mod cost;
mod event;
mod kind;
mod sleeps;
mod slow;
mod tally;
mod tracer;
mod watch;

pub use event::{CallEvent, CallWhat};
pub use sleeps::{SleepWatch, SleepsRefused};
pub use tally::{CallTally, EndedCall};
pub use tracer::{CallTracer, CallsRefused};
pub use watch::{CallWatch, CallsSeen, WatchOptions};
