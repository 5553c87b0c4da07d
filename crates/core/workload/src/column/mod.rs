//! No query language and no database runs here; the calls are those of one.

mod append;
mod check;
mod conditions;
mod course;
mod derived;
mod files;
mod get;
mod lane;
mod layout;
mod list;
mod lock;
mod mix;
mod packed;
mod params;
mod random;
mod ranks;
mod read_suite;
mod room;
mod rows;
mod set;
mod shuffle;
mod sizes;
mod symbols;
mod sync;
mod table;
mod write_suite;

use params::Settings;
use pickfs_record::Durability;
use serde_json::Map;

use crate::{
    param::Resolved,
    workload::{Length, Workload},
};

pub use append::{Handle, open_append};
pub use get::{Touch, get, read1, replace};
pub use layout::{Attribute, Header, Layout};
pub use list::{List, ListKind};
pub use lock::enter;
pub use random::{Blocks, OpenFiles, ReadBy};
pub use set::{SetHow, Setting, set, unkept};
pub use symbols::{Domain, Draw};
pub use sync::sync;
pub use table::{Rewritten, Table};

pub fn phases_markdown() -> String {
    let two = Map::from_iter([("lanes".to_string(), 2.into())]);
    WORKLOAD.validate(&two).map_or_else(
        |error| error.to_string(),
        |params| rows::rows_markdown(&Settings::new(&params)),
    )
}

pub(crate) const WORKLOAD: Workload = Workload {
    name: "column",
    version: 2,
    about: "what a column store does: set, append, replace, sync, map, read at random, sort; by 1 or many processes",
    params: params::PARAMS,
    ops: |params| {
        let settings = Settings::new(params);
        let measured = rows::rows(&settings).into_iter().map(|row| row.phase);
        measured
            .chain(derived::durable_phases(&settings))
            .chain(derived::tier_phases(&settings))
            .collect()
    },
    // Rows without a sync outlive the process alone; what is called durable has been synced.
    durability: |_| Durability::PowerLoss,
    prepare: |session| Ok(Box::new(course::Course::new(session)?)),
    check: params::check,
    lanes,
    // A trial at scale small (0.2) took some 90 s with one lane, and hardly more with 64 (whose
    // files shrink), on a virtual disk of 1.7 GB/s; at scale tiny (0.05) some 42 s.
    length: |params| Length::Work(Some((5.0 + 450.0 * Settings::new(params).scale).max(42.0))),
    too_large: |params, scratch| room::too_large(&Settings::new(params), lanes(params), scratch),
    derive: |params, phases| derived::add_tiers(&Settings::new(params), phases),
    ..Workload::LOOP
};

fn lanes(params: &Resolved) -> u32 {
    params.integer("lanes").max(1) as u32
}
