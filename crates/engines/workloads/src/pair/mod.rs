//! One thread is the client and the primary, over a connection of its own; each secondary is a
//! process with its own store on the same file system, over TCP on loopback; or on a second host, in the folder where
//! the program was started there.

mod gating;
mod params;
mod pinging;
mod ready;

use pickfs_record::TrialSpec;
use pickfs_workload::workload::Session;
use pickfs_workload::{Fault, Workload, role};

use crate::{followers, hosts};

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
    play,
    ..Workload::LOOP
};

fn play(session: &Session) -> Result<(), Fault> {
    if let Some(socket) = params::socket(&session.params) {
        return pinging::play(session, socket);
    }
    if !hosts::is_second(&session.params) {
        return followers::play(session, &params::terms(session));
    }
    let folder = hosts::OwnFolder::make()?;
    let spec = TrialSpec { directory: folder.path().into(), ..session.spec.clone() };
    let session = Session { spec, ..session.clone() };
    let kept = followers::follow(&session, &params::terms(&session))?;
    let compare =
        |kept: followers::Kept| gating::verify(&kept.dir, &params::pattern(&session), kept.sent);
    role::answer(&kept.map(compare).transpose()?.unwrap_or(0))
}
