//! Measured are the append, the sync, the roll, the way from a record's due time to the end of the
//! sync that covers it (`durable`), and, where they are asked for, reads beside the writer.

mod appending;
mod content;
mod neighbour;
mod params;
mod published;
mod read_back;
mod reading;
mod ready;
mod record_size;
mod replayed;
mod stamp;
mod verify;
mod wear;

use crate::Workload;

pub use appending::Appending;
pub use content::scrambled;
pub(crate) use replayed::recording;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "journal",
    version: 5,
    about: "appends records to a journal: preallocation, write path, sync and roll are parameters",
    params: params::PARAMS,
    ops: params::ops,
    durability: params::durability,
    prepare: |session| Ok(Box::new(ready::Ready::new(session)?)),
    scheduled: &["append", "durable"],
    check: params::check,
    incompatible: params::incompatible,
    begins_by_recorder: true,
    read_back: read_back::read_back,
    ..Workload::LOOP
};
