//! Pairs within this process, over the loopback. No test here starts a process: it would hold the locks of others for
//! a moment, between fork and exec.
#![allow(clippy::unwrap_used)]

#[cfg(feature = "aeron")]
mod aeron;
mod following;
mod no_allocation;
mod nodes;
mod promotion;
mod tail;
mod wire;
