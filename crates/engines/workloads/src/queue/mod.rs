//! Measured are the call of the append alone, and the way from its beginning to the copy in the
//! reader's hands (`write-to-read`).

mod appending;
mod channel;
mod memory;
mod params;
mod payload;
mod reader;
mod ready;
mod tailing;
mod verify;

pub(crate) use ready::allocation_note;

use pickfs_record::Durability;
use serde_json::{Map, Value};

use pickfs_workload::{
    fault::Fault,
    param::{Param, ParamError, Resolved},
    workload::{Prepared, Session, Workload},
};

pub struct Queue;

impl Workload for Queue {
    fn name(&self) -> &'static str {
        "queue"
    }

    fn version(&self) -> u32 {
        4
    }

    fn about(&self) -> &'static str {
        "sends messages through a memory-mapped queue: append alone, and write to read"
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
        params::ops(params).into_iter().map(String::from).collect()
    }

    fn scheduled(&self) -> &'static [&'static str] {
        &[params::APPEND, params::WRITE_TO_READ]
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

    fn play(&self, session: &Session) -> Result<(), Fault> {
        reader::play(session)
    }
}
