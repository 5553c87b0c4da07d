//! Why laps were slow: the ledger of causes, the slowest laps opened, and what to change.

mod terminal;

pub use terminal::{StallScreen, stall_screen};
