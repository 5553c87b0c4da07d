//! One thread is the client and the primary, over a connection of its own; each secondary is a
//! process with its own store on the same file system, over TCP on loopback.

mod gating;
mod params;
mod pinging;
mod ready;

use crate::followers;
use pickfs_workload::Workload;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "pair",
    version: 3,
    about: "journals and replicates each message before it is processed: journal, wire, gate, reply",
    params: params::PARAMS,
    ops: params::ops,
    durability: params::durability,
    prepare: ready::prepare,
    scheduled: &[params::PROCESSED, params::REPLIED],
    check: params::check,
    incompatible: params::incompatible,
    play: |session| followers::play(session, &params::terms(session)),
    ..Workload::LOOP
};
