//! The file-system calls of other programs: counted, timed and, where they were slow, explained.
//!
//! Not for the laps of our own workloads, which know their own times. Needs root; what remains
//! without it is seen by [`SleepWatch`].
//!
//! ```no_run
//! use pickfs_probe::calls::{CallWatch, WatchOptions};
//! let watch = CallWatch::of_children(&WatchOptions::default())?;
//! // Started by this very thread: traced from its exec on, with all that it starts.
//! let status = std::process::Command::new("git").arg("status").status()?;
//! let seen = watch.finish();
//! for row in &seen.calls.calls {
//!     println!("{} {} calls in {} ns", row.call, row.service.count, row.total_ns);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub use tracer::{CallTracer, CallsRefused, TraceOptions};
pub use watch::{CallWatch, CallsSeen, WatchOptions};
