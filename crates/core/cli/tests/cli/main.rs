//! The program as users call it, and its workers as the lab talks to them; no root.
#![allow(clippy::unwrap_used)]

mod claims_choose;
mod directory_interrupt;
mod directory_run;
mod exec_directory;
mod explain_process;
mod features;
mod front;
mod hostile_words;
mod json_page;
#[path = "../lab_session/mod.rs"]
mod lab_session;
mod messages;
#[path = "../pickfs/mod.rs"]
mod pickfs;
mod quiet_lab;
mod race_flags;
#[path = "../spoken/mod.rs"]
mod spoken;
mod validity_page;
mod worker_companions;
mod worker_files_interrupted;
mod worker_orphan;
mod worker_protocol;
mod worker_roles;
