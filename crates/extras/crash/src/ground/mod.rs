//! The half that touches the machine: the recorder, the loop device on it, what is mounted there.

mod disk;
mod error;
mod guests;
mod mounting;
mod prober;
pub mod recorder;
mod served;
mod store;
mod watchdog;

pub use disk::{Disk, Means};
pub use error::GroundError;
pub use guests::Guests;
pub(crate) use guests::{Away, run as run_inside};
pub use prober::Prober;
