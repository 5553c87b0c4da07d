//! Kernel modules that Debian's stock kernel lacks, built from Debian's own source of the very same version: UFS
//! with writing switched on, Reiser 3.5 with one check corrected, and OpenZFS. Not a kernel build and not an
//! installation: headers and source are unpacked packages, and nothing of the machine changes.
//!
//! What is ours is the recipe and a few words of change; the code comes from Debian. Built modules are kept by
//! kernel release. Where no compiler is to be had, the answer is an error that [`ModuleError::is_skip`]
//! calls a reason to skip, with what would help.
//!
//! ```no_run
//! use pickfs_modules::{KernelSource, Module, Workshop};
//! let kernel = KernelSource {
//!     release: "6.1.0-56-amd64".into(),
//!     version: "6.1.192-2".into(),
//!     headers: "/var/cache/pickfs/headers".into(),
//!     source: "/var/cache/pickfs/source".into(),
//! };
//! let workshop = Workshop::new("/var/cache/pickfs/modules".as_ref(), kernel);
//! let ufs = workshop.built(Module::UfsWrite)?;
//! # Ok::<(), pickfs_modules::ModuleError>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod change;
mod error;
mod module;
mod openzfs;
mod run;
mod workshop;

pub use error::ModuleError;
pub use module::Module;
pub use workshop::{KernelSource, Workshop};
