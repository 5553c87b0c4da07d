//! The `command` workload: any program, run in a fresh directory of the mounted candidate and timed
//! as a whole.
//!
//! ```text
//! setup, once a trial ─► for each repeat: prepare ─► write out ─► COMMAND ─► cleanup
//! ```
//!
//! Wall, user and system time are operations with one time for each repeat. Bytes, calls and whatever
//! the program itself tells are figures: the mean over the repeats of a trial. Times that it kept of its own operations
//! are operations like ours.

pub mod calls;
mod jlbh;
pub mod metric;
pub mod needs;
mod output;
mod params;
mod place;
mod ready;
mod run;
mod stray;
mod times;
mod watched;

pub(crate) use output::end_of;
pub(crate) use place::Place;
pub(crate) use run::{Ran, ready, run};
pub(crate) use stray::end_strays;

use pickfs_record::Durability;

use crate::workload::{Length, Workload};

/// Operations of every command: from its start to its end, and the time of its processes in
/// programs and in the kernel.
pub const TIMES: [&str; 3] = ["wall", "user", "system"];

pub(crate) const WORKLOAD: Workload = Workload {
    name: "command",
    about: "any program, timed as a whole in a fresh directory of the candidate",
    params: params::PARAMS,
    ops: |params| {
        let own = params::metrics(params).into_iter().map(|metric| metric.name);
        TIMES.iter().map(|name| name.to_string()).chain(own).collect()
    },
    // What a program asked of the kernel before it ended is not looked at.
    durability: |_| Durability::Unknown,
    prepare: |session| Ok(Box::new(ready::Ready::new(session)?)),
    check: params::check,
    length: |_| Length::Work(None),
    ..Workload::LOOP
};
