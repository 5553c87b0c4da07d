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
mod further;
mod interrupt;
mod lane;
mod laps;
mod limits;
mod looking;
mod many_files;
mod names;
mod new_names;
mod one_file;
mod original;
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

use pickfs_record::Durability;
use serde_json::{Map, Value};

use crate::{
    fault::Fault,
    param::{Param, ParamError, Resolved},
    workload::{Length, Prepared, Scratch, Session, TooLarge, Workload},
};
use settings::Settings;

pub use limits::limits_markdown;

pub struct Files;

impl Workload for Files {
    fn name(&self) -> &'static str {
        "files"
    }

    fn version(&self) -> u32 {
        2
    }

    fn about(&self) -> &'static str {
        "one large file and many small ones: bonnie++'s phases, then renames, links and safe saves"
    }

    fn params(&self) -> &'static [Param] {
        params::PARAMS
    }

    fn validate(&self, asked: &Map<String, Value>) -> Result<Resolved, ParamError> {
        params::resolve(asked)
    }

    fn ops(&self, params: &Resolved) -> Vec<String> {
        ready::ops(&Settings::new(params, 0, 0))
    }

    /// A created or deleted name is durable where both file and directory are synced each time; what
    /// else is done is on its way when the call returns.
    fn durability(&self, params: &Resolved) -> Durability {
        let settings = Settings::new(params, 0, 0);
        let creates = settings.fsync_creates.file && settings.fsync_creates.directory;
        match creates && settings.fsync_deletes.directory && settings.fsync_updates {
            true => Durability::PowerLoss,
            false => Durability::ProcessCrash,
        }
    }

    fn incompatible(&self, params: &Resolved) -> Option<String> {
        params::incompatible(params)
    }

    fn lanes(&self, params: &Resolved) -> u32 {
        params.integer("lanes") as u32
    }

    fn length(&self, params: &Resolved) -> Length {
        Length::Work(Some(foreseen::expected_s(&Settings::new(params, 0, 0), self.lanes(params))))
    }

    fn too_large(&self, params: &Resolved, scratch: &Scratch) -> Option<TooLarge> {
        foreseen::too_large(&Settings::new(params, 0, 0), self.lanes(params), scratch)
    }

    fn prepare(&self, session: &Session) -> Result<Box<dyn Prepared>, Fault> {
        Ok(Box::new(ready::Ready::new(session)?))
    }
}
