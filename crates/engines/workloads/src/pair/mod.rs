//! One thread is the client and the primary, over a connection of its own; each secondary is a
//! process with its own store on the same file system, over TCP on loopback.

mod client;
mod echo;
mod gating;
mod params;
mod payload;
mod pinging;
mod ready;
mod verify;

use pickfs_record::Durability;
use serde_json::{Map, Value};

use crate::followers;
use pickfs_workload::{
    fault::Fault,
    param::{Param, ParamError, Resolved},
    workload::{Prepared, Session, Workload},
};

pub struct Pair;

impl Workload for Pair {
    fn name(&self) -> &'static str {
        "pair"
    }

    fn version(&self) -> u32 {
        3
    }

    fn about(&self) -> &'static str {
        "journals and replicates each message before it is processed: journal, wire, gate, reply"
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
        &[params::PROCESSED, params::REPLIED]
    }

    fn durability(&self, params: &Resolved) -> Durability {
        params::durability(params)
    }

    fn incompatible(&self, params: &Resolved) -> Option<String> {
        params::incompatible(params)
    }

    fn prepare(&self, session: &Session) -> Result<Box<dyn Prepared>, Fault> {
        if let Some(reason) = params::incompatible(&session.params) {
            return Err(Fault::Skipped { reason });
        }
        match params::socket(&session.params) {
            Some(socket) => Ok(Box::new(ready::pinging(session, socket)?)),
            None => Ok(Box::new(ready::gating(session)?)),
        }
    }

    fn play(&self, session: &Session) -> Result<(), Fault> {
        followers::play(session, &params::terms(session))
    }
}
