//! The scratch that candidates are made on, the interlock that guards it, and the table of file
//! systems. Steps are data ([`pickfs_record::Step`]); [`plan_steps`] prints the same ones without
//! touching anything.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod availability;
mod calls;
mod card;
pub mod carry_out;
mod daemon;
mod directory;
mod environment;
mod error;
pub mod fs;
pub mod guest_image;
mod host_folder;
pub mod identity;
mod image;
mod incompressible;
pub mod interlock;
pub mod knob;
mod loops;
mod memory;
mod mounted;
mod named_device;
mod own_format;
pub mod packages;
mod partition;
mod plan;
mod raw_probe;
mod scratch;
pub mod signature;
pub mod undo;

pub use availability::{Availability, Unavailable, availability};
pub use environment::put_mount;
pub use error::TargetError;
pub use guest_image::GuestImage;
pub use mounted::{Mounted, Promise};
pub use plan::plan_steps;
pub use scratch::{Progress, Scratch};
