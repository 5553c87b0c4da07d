//! One FIX session as a state machine: messages and time go in, [`Action`]s come out.
//!
//! It sends nothing and keeps nothing itself; the engine carries actions out in their order. So every rule is tested
//! without a socket. The rules are those of the session layer of FIX 4.4 (volume 2) and FIXT 1.1.

mod action;
mod logon;
mod machine;
mod names;
mod reply;
mod settings;

pub use action::{Action, Actions, End, Reply};
pub use machine::{Phase, Session};
pub use names::Names;
pub use settings::{Role, Timing};
