//! The program as users call it, and its workers as the lab talks to them; no root.
#![allow(clippy::unwrap_used)]

#[cfg(all(feature = "engines", feature = "features"))]
mod claims_choose;
#[cfg(not(any(
    feature = "engines",
    feature = "explain",
    feature = "features",
    feature = "fleet",
    feature = "guest",
    feature = "serve"
)))]
mod core_alone;
mod directory_interrupt;
mod directory_run;
mod exec_directory;
#[cfg(feature = "explain")]
mod explain_process;
#[cfg(feature = "features")]
mod features;
#[cfg(feature = "serve")]
mod front;
mod hostile_words;
mod json_page;
#[path = "../lab_session/mod.rs"]
mod lab_session;
mod messages;
#[path = "../pickfs/mod.rs"]
mod pickfs;
#[cfg(all(feature = "engines", feature = "guest"))]
mod plans;
mod quiet_lab;
mod race_flags;
#[path = "../spoken/mod.rs"]
mod spoken;
mod validity_page;
mod worker_companions;
mod worker_files_interrupted;
mod worker_orphan;
mod worker_protocol;
#[cfg(feature = "engines")]
mod worker_roles;
