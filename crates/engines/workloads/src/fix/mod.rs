//! The engine is the library `pickfs-fix`, on a pinned thread of its own; the clients are another
//! thread, which sends on a schedule and reads reports in between.

mod clients;
mod params;
mod ready;
mod serving;

use crate::followers;
use pickfs_workload::Workload;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "fix",
    version: 5,
    about: "sends orders to a FIX engine that keeps every message: order to report, each persist step, round trip",
    params: params::PARAMS,
    ops: params::ops,
    durability: params::durability,
    prepare: |session| Ok(Box::new(ready::Ready::new(session)?)),
    scheduled: &[params::ROUND_TRIP],
    check: followers::check,
    play: |session| followers::play(session, &params::terms(session)),
    ..Workload::LOOP
};
