//! No query language and no database runs here; the calls are those of one.

mod append;
mod check;
mod conditions;
mod course;
mod durable;
mod files;
mod get;
mod lane;
mod layout;
mod list;
mod lock;
mod meta_suite;
mod own_files;
mod params;
mod prepared_files;
mod random;
mod random_suite;
mod ranks;
mod read_suite;
mod replace;
mod room;
mod rows;
mod set;
mod shuffle;
mod sizes;
mod sort_suite;
mod symbols;
mod sync;
mod table;
mod tiers;
mod watch;
mod write_suite;

use pickfs_record::{Durability, PhaseRecord};
use serde_json::{Map, Value};

use crate::{
    fault::Fault,
    param::{Param, ParamError, Resolved},
    workload::{Length, Prepared, Scratch, Session, TooLarge, Workload},
};

pub use append::{Handle, open_append};
pub use get::{Mapped, Touch, get, read1};
pub use layout::{Attribute, ElementType, Header, Layout, LayoutError};
pub use list::{List, ListKind, Profile, Windows};
pub use lock::enter;
pub use random::{Blocks, OpenFiles, Place, ReadBy};
pub use ranks::{Ranks, SymbolError};
pub use replace::replace;
pub use set::{SetHow, Setting, set};
pub use sizes::Sizes;
pub use symbols::{Domain, Draw, SymbolLayout};
pub use sync::{SyncBy, command_text, sync};
pub use table::{Rewritten, Table};
pub use watch::{Tally, Watch};

pub struct Column;

pub fn phases_markdown() -> String {
    let defaults = Column.validate(&Map::new());
    defaults.map_or_else(
        |error| error.to_string(),
        |params| rows::rows_markdown(&params::Settings::new(&params)),
    )
}

impl Workload for Column {
    fn name(&self) -> &'static str {
        "column"
    }

    fn version(&self) -> u32 {
        1
    }

    fn about(&self) -> &'static str {
        "what a column store does: set, append, replace, sync, map, read at random, sort; by 1 or many processes"
    }

    fn params(&self) -> &'static [Param] {
        params::PARAMS
    }

    fn validate(&self, asked: &Map<String, Value>) -> Result<Resolved, ParamError> {
        let params = Resolved::new(self.name(), params::PARAMS, asked)?;
        params::check(&params)?;
        Ok(params)
    }

    fn ops(&self, params: &Resolved) -> Vec<String> {
        let settings = params::Settings::new(params);
        let measured = rows::rows(&settings).into_iter().map(|row| row.phase);
        measured
            .chain(durable::durable_phases(&settings))
            .chain(tiers::tier_phases(&settings))
            .collect()
    }

    /// Rows without a sync outlive the process alone; what is called durable has been synced.
    fn durability(&self, _params: &Resolved) -> Durability {
        Durability::PowerLoss
    }

    fn lanes(&self, params: &Resolved) -> u32 {
        params.integer("lanes").max(1) as u32
    }

    /// A trial at scale small took some 90 s with one lane, and hardly more with 64 (whose files
    /// shrink), on a virtual disk of 1.7 GB/s.
    fn length(&self, params: &Resolved) -> Length {
        Length::Work(Some(5.0 + 450.0 * params::Settings::new(params).scale))
    }

    fn too_large(&self, params: &Resolved, scratch: &Scratch) -> Option<TooLarge> {
        room::too_large(&params::Settings::new(params), self.lanes(params), scratch)
    }

    fn derive(&self, params: &Resolved, phases: &mut Vec<PhaseRecord>) {
        tiers::derive(&params::Settings::new(params), phases);
    }

    fn incompatible(&self, _params: &Resolved) -> Option<String> {
        None
    }

    fn prepare(&self, session: &Session) -> Result<Box<dyn Prepared>, Fault> {
        Ok(Box::new(course::Course::new(session)?))
    }
}
