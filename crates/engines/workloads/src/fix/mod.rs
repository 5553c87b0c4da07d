//! The engine is the library `pickfs-fix`, on a pinned thread of its own; the clients are another
//! thread, which sends on a schedule and reads reports in between.

mod clients;
mod orders;
mod params;
mod ready;
mod serving;
mod verify;
mod watch;

use pickfs_record::Durability;
use serde_json::{Map, Value};

use crate::followers;
use pickfs_workload::{
    fault::Fault,
    param::{Param, ParamError, Resolved},
    workload::{Prepared, Session, Workload},
};

pub struct Fix;

impl Workload for Fix {
    fn name(&self) -> &'static str {
        "fix"
    }

    fn version(&self) -> u32 {
        4
    }

    fn about(&self) -> &'static str {
        "sends orders to a FIX engine that keeps every message: order to report, each persist step, round trip"
    }

    fn params(&self) -> &'static [Param] {
        params::PARAMS
    }

    fn validate(&self, asked: &Map<String, Value>) -> Result<Resolved, ParamError> {
        let params = Resolved::new(self.name(), params::PARAMS, asked)?;
        followers::check(&params)?;
        Ok(params)
    }

    fn ops(&self, params: &Resolved) -> Vec<String> {
        params::ops(params).into_iter().map(String::from).collect()
    }

    fn scheduled(&self) -> &'static [&'static str] {
        &[params::ROUND_TRIP]
    }

    fn durability(&self, params: &Resolved) -> Durability {
        params::durability(params)
    }

    fn incompatible(&self, _params: &Resolved) -> Option<String> {
        None
    }

    fn prepare(&self, session: &Session) -> Result<Box<dyn Prepared>, Fault> {
        Ok(Box::new(ready::Ready::new(session)?))
    }

    fn play(&self, session: &Session) -> Result<(), Fault> {
        followers::play(session, &params::terms(session))
    }
}
