//! With the profile `bonnie` it makes the calls of bonnie++ 2.00a, with the same names, offsets and
//! sizes for the same seed; with `modern` it reads what is cold, writes what does not compress, and
//! goes on to renames, links and safe saves. It makes its own directory and removes from it only
//! what it made.

mod calls;
mod coldness;
mod content;
mod creating;
mod deleting;
mod fitting;
mod foreseen;
mod interrupt;
mod lane;
mod looking;
mod many_files;
mod names;
mod new_names;
mod one_file;
mod params;
mod phases;
mod probing;
mod rand;
mod ready;
mod renaming;
mod saving;
mod scale;
mod scratch_file;
mod seeking;
mod settings;
mod sizes;
mod small_content;
mod spread;
mod tickets;
mod tree;
mod watch;

use pickfs_record::Durability;

use crate::{
    param::Resolved,
    workload::{Length, Workload},
};
use settings::Settings;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "files",
    version: 3,
    about: "one large file and many small ones: bonnie++'s phases, then renames, links and safe saves",
    params: params::PARAMS,
    ops: |params| ready::ops(&Settings::new(params, 0, 0)),
    durability,
    prepare: |session| Ok(Box::new(ready::Ready::new(session)?)),
    fill: params::fill,
    check: params::check,
    incompatible: params::incompatible,
    lanes,
    length: |params| {
        Length::Work(Some(foreseen::expected_s(&Settings::new(params, 0, 0), lanes(params))))
    },
    too_large: |params, scratch| {
        foreseen::too_large(&Settings::new(params, 0, 0), lanes(params), scratch)
    },
    ..Workload::LOOP
};

fn lanes(params: &Resolved) -> u32 {
    params.integer("lanes") as u32
}

/// A created or deleted name is durable where both file and directory are synced each time; what
/// else is done is on its way when the call returns.
fn durability(params: &Resolved) -> Durability {
    let settings = Settings::new(params, 0, 0);
    let creates = settings.fsync_creates.file && settings.fsync_creates.directory;
    match creates && settings.fsync_deletes.directory && settings.fsync_updates {
        true => Durability::PowerLoss,
        false => Durability::ProcessCrash,
    }
}
