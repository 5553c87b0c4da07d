//! Engines within this process. No test here starts a process: it would hold the locks of others for a moment, between
//! fork and exec.
#![allow(clippy::unwrap_used)]

mod acceptor;
mod book_model;
mod desk;
mod fuzz;
mod gates;
mod no_allocation;
mod pair_store;
#[path = "../peer/mod.rs"]
mod peer;
mod risk;
mod session_rules;
mod stores;
