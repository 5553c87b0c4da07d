//! Guests: small Linux kernels in which a cell runs where the host's own kernel cannot mount its
//! file system. No root, no installation: kernels come from Debian packages that are only unpacked. What
//! runs inside is the worker's affair; what is measured is the workload's.
//!
//! ```text
//! packages ─► engine: kernel ─┐
//! modules, worker ─► first_files ─► Boot ─► guest ◄─ frames ─► agent (crate worker)
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod apt;
pub mod boot_image;
pub mod cpio;
pub mod deadline;
pub mod debian_kernel;
pub mod engine;
pub mod error;
pub mod first_files;
pub mod frame;
pub mod guest;
pub mod guest_tools;
pub mod keeper;
pub mod kvm;
pub mod message;
pub mod module_info;
pub mod modules;
pub mod package_set;
pub mod packages;
pub mod program_files;
pub mod qemu_program;
pub mod rebuilt;
pub mod suites;
pub mod version;

pub use deadline::{Deadlines, GuestPhase};
pub use engine::{Boot, ENGINES, Engine, Kernel};
pub use error::GuestError;
pub use first_files::FirstFiles;
pub use guest::{Guest, LaneLine, LaneSink, Start};
pub use guest_tools::Tool;
pub use message::{FromGuest, Order, ToGuest};
pub use packages::{Ask, Download, PackageCache};
