//! A network of one's own. It has no name: the kernel removes it, and a veth(4) pair that ends in
//! it, when its last thread and socket are gone, however they went: network_namespaces(7).

#![allow(unsafe_code)]

use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::refused::{Refused, cannot};

/// It has a loopback that is down, and nothing else. Sockets stay where they were made. Needs
/// CAP_SYS_ADMIN.
pub fn leave() -> Result<(), Refused> {
    // SAFETY: without CLONE_FILES, the descriptors stay as they are.
    let left = unsafe { unshare_unsafe(UnshareFlags::NEWNET) };
    left.map_err(cannot("make a network namespace", "root"))
}

/// The number of this thread, by which another may put an interface into its network.
pub fn task() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}
