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
pub(crate) use guests::run as run_inside;
pub use guests::{Away, Guests};
pub use prober::Prober;
