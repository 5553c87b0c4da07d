//! Kernel modules that Debian's stock kernel lacks, built from Debian's own source of the very
//! same version: UFS with writing switched on, Reiser 3.5 with one check corrected, and OpenZFS.
//! Headers and source are unpacked packages; nothing of the machine changes.
//! Built modules are kept by kernel release. Where no compiler is to be had, the answer is an
//! error that [`ModuleError::is_skip`] calls a reason to skip.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod change;
mod error;
mod module;
mod openzfs;
mod run;
mod workshop;

pub use error::ModuleError;
pub use module::{MODULES, Module};
pub use openzfs::LAST as OPENZFS;
pub use workshop::{KernelSource, Workshop};
