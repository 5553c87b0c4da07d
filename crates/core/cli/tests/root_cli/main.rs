//! Whole runs on devices that the tests make: real file systems, kills, full disks, knobs; needs root.
#![allow(clippy::unwrap_used)]

mod bad_days;
mod cold;
#[cfg(feature = "crash")]
mod crash;
mod exec;
#[cfg(feature = "explain")]
mod explain_program;
mod files;
mod foreign;
mod knobs;
#[path = "../lab_session/mod.rs"]
mod lab_session;
#[cfg(feature = "engines")]
mod pair_hosts;
#[path = "../pickfs/mod.rs"]
mod pickfs;
mod refusals;
mod rerun;
#[path = "../slow_disk/mod.rs"]
mod slow_disk;
#[path = "../spoken/mod.rs"]
mod spoken;
#[path = "../traced/mod.rs"]
mod traced;
mod truth;
