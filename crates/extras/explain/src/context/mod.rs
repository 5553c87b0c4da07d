//! What else went on while an operation was slow: commits of a journal, write-back, and requests of
//! devices, of the whole machine. Context, no cause: that it went on at the same time does not say that
//! anybody waited for it; where a thread slept says that.
//!
//! Read only when asked for: these trace points have no filter, and each request of any device is two
//! events.

mod book;
mod points;
mod recorder;

pub use book::{ContextBook, Span};
pub use points::{ContextEvent, Moment};
pub use recorder::ContextRecorder;
