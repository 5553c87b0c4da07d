//! States that a crash may leave, one by one: which, what each image looks like from afar, what came of it, and the
//! least that still fails.

mod explored;
mod exposure;
mod likeness;
mod plan;
mod reduce;
mod state;
#[cfg(test)]
mod toy;

pub use explored::{Explored, Failure, Sees, Stopped, Tally, explore};
pub use exposure::{Exposure, INSTANTS, exposure};
pub use likeness::Likeness;
pub use plan::{Plan, States};
pub use reduce::reduced;
pub(crate) use state::mix;
pub use state::{Kept, State, StateError};
