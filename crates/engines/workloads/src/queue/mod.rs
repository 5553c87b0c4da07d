//! Measured are the call of the append alone, and the way from its beginning to the copy in the
//! reader's hands (`write-to-read`).

mod appending;
mod channel;
mod params;
mod ready;
mod tailing;

pub(crate) use ready::allocation_note;

use pickfs_workload::Workload;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "queue",
    version: 5,
    about: "sends messages through a memory-mapped queue: append alone, and write to read",
    params: params::PARAMS,
    ops: params::ops,
    durability: params::durability,
    prepare: |session| Ok(Box::new(ready::Ready::new(session)?)),
    scheduled: &[params::APPEND, params::WRITE_TO_READ],
    check: params::check,
    incompatible: params::incompatible,
    play: tailing::play,
    ..Workload::LOOP
};
