//! Kernel modules that Debian's guest kernels lack, built from Debian's own source of the very same
//! version: UFS with writing switched on, and Reiser 3.5 with one check corrected. Not a kernel
//! build and not an installation: packages are downloaded and unpacked into a cache, and nothing of
//! the machine changes.
//!
//! What is ours is the recipe and a few words of change; the kernel's code comes from Debian. Built
//! modules are kept by kernel version. Where no compiler or no source is to be had, the answer is an
//! error that [`ModuleError::is_skip`] calls a reason to skip, with what would help.
//!
//! For Debian's stock kernel in QEMU they are built against its headers ([`StockWorkshop`]), and OpenZFS with them. The
//! package of user-mode Linux has no headers: so a trimmed tree of the source is
//! prepared once (230 MB in the cache), and each module takes seconds then. By hand, modules of this
//! recipe were loaded by Debian's user-mode Linux 6.1.176; UFS1, UFS2 and Reiser 3.5 were mounted writable,
//! took 16 MiB and 500 files, and gave them back after a second mount.
//!
//! ```no_run
//! use pickfs_modules::{Module, UmlKernel, Workshop};
//! let kernel = UmlKernel::of_package("/var/cache/pickfs/user-mode-linux".as_ref())?;
//! let workshop = Workshop::new("/var/cache/pickfs/modules".as_ref(), kernel);
//! let ufs = workshop.built(Module::UfsWrite)?;
//! # Ok::<(), pickfs_modules::ModuleError>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod change;
mod error;
mod kernel;
mod module;
mod openzfs;
mod run;
mod source;
mod stock;
mod tools;
mod workshop;

pub use error::ModuleError;
pub use kernel::UmlKernel;
pub use module::Module;
pub use stock::{StockKernel, StockWorkshop};
pub use workshop::Workshop;
