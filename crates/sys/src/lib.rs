//! Every kernel interface that pickfs uses, one per file.
//!
//! This crate asks the kernel and hands back typed answers. It decides nothing, prints nothing and
//! keeps no state beyond what a guard must undo. `unsafe` is allowed here, each time with the
//! reason why it holds.
//!
//! Errors keep the cause in their own text, so that a reason stored in a results row is whole; the
//! `io::Error` is in the field `cause`.
//!
//! ```
//! let here = pickfs_sys::mount::mount_of(std::path::Path::new("/proc"))?;
//! assert_eq!(here.fs_type, "proc");
//! # Ok::<(), pickfs_sys::mount::MountError>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod aligned_buffer;
pub mod block;
pub mod device_users;
mod exec_image;
pub mod extents;
mod ioctl;
pub mod loop_device;
pub mod mount;
pub mod mount_table;
pub mod namespace;
mod privilege;
pub mod proc_root;
mod signal_wait;
pub mod tunables;
