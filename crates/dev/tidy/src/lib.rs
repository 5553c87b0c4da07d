//! The house rules as pure functions: text of a file in, breaches out. `tests/house.rs` applies
//! every rule to this repository; the unit tests beside each rule show that it can fail.

pub mod budget;
pub mod code;
pub mod conflicts;
pub mod floors;
pub mod length;
pub mod licence;
pub mod links;
pub mod naming;
pub mod opening;
pub mod printing;
pub mod rows;
pub mod sleeping;
pub mod tree;
pub mod unsafety;
pub mod words;
