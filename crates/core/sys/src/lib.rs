//! Kernel interfaces that several crates use, one per file. It decides nothing. `unsafe` is allowed
//! here, each time with the reason why it holds.
//! Errors keep the cause in their own text, so that a reason stored in a results row is whole.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod account;
pub mod affinity;
pub mod aligned_buffer;
pub mod block;
pub mod broken_pipe;
pub mod cgroup;
pub mod closing;
pub mod cpu;
pub mod cpu_time;
pub mod device_users;
pub mod elements;
pub mod ended;
pub mod errno_name;
mod exec_image;
mod extent_repair;
pub mod extents;
pub mod files;
pub mod foreground;
pub mod huge_pages;
mod ioctl;
pub mod last_words;
pub mod live_page;
pub mod loop_device;
pub mod mapped_elements;
pub mod mapped_file;
pub mod mount;
pub mod mount_table;
mod mounts_everywhere;
pub mod namespace;
pub mod nodes;
pub mod own_descriptors;
pub mod own_network;
pub mod own_usage;
pub mod proc_root;
pub mod process;
pub mod program;
pub mod refused;
pub mod residency;
pub mod shared_memory;
pub mod sigbus;
pub mod signal_wait;
pub mod slow_operations;
mod spawn;
pub mod starting_gate;
pub mod tunables;
pub mod vm_state;
pub mod write_watch;
