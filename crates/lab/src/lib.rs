//! Runs a plan: expands it to cells, asks the machine what it can do, makes and
//! mounts each candidate, lets a worker measure, keeps what came of it and leaves
//! nothing behind. It decides; it never formats for people.

pub mod bounds;
pub mod capacity;
pub mod crew;
pub mod doctor;
pub mod doubts;
pub mod engines;
pub mod environment;
pub mod expand;
pub mod explain;
mod fitting;
mod grounds;
mod guest_boot;
pub mod guest_check;
pub mod guest_folder;
mod guest_lane;
pub mod guests;
pub mod interrupt;
pub mod kernels;
pub mod launch;
pub mod length;
pub mod machine;
pub mod order;
pub mod origin;
pub mod placement;
pub mod plan_file;
pub mod plans;
pub mod preflight;
mod processors;
mod raw_band;
pub mod referee;
pub mod rivals;
pub mod robbery;
pub mod run;
pub mod run_lock;
pub mod settle;
pub mod sink;
pub mod stage;
mod stages;
mod transcript;
pub mod views;
mod watch;
pub mod worker_process;
