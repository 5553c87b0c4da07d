//! Measured are the append, the sync, the roll, the way from a record's due time to the end of the
//! sync that covers it (`durable`), and, where they are asked for, reads beside the writer.

mod appending;
mod content;
mod heat;
mod neighbour;
mod params;
mod published;
mod reading;
mod ready;
mod record_size;
mod replayed;
mod stamp;
mod verify;
mod wear;

use pickfs_record::Durability;
use serde_json::{Map, Value};

use crate::{
    fault::Fault,
    param::{Param, ParamError, Resolved},
    workload::{Prepared, Session, Workload},
};

pub use appending::Appending;
pub use content::scrambled;
pub(crate) use replayed::recording;

pub struct Journal;

impl Workload for Journal {
    fn name(&self) -> &'static str {
        "journal"
    }

    fn version(&self) -> u32 {
        3
    }

    fn about(&self) -> &'static str {
        "appends records to a journal: preallocation, write path, sync and roll are parameters"
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
        params::ops(params)
    }

    fn scheduled(&self) -> &'static [&'static str] {
        &["append", "durable"]
    }

    fn durability(&self, params: &Resolved) -> Durability {
        params::durability(params)
    }

    fn incompatible(&self, params: &Resolved) -> Option<String> {
        params::incompatible(params)
    }

    fn prepare(&self, session: &Session) -> Result<Box<dyn Prepared>, Fault> {
        Ok(Box::new(ready::Ready::new(session)?))
    }
}
