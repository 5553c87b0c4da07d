//! The `command` workload: any program, run in a fresh directory of the mounted candidate and timed
//! as a whole.
//!
//! ```text
//! setup, once a trial ─► for each repeat: prepare ─► write out ─► COMMAND ─► cleanup
//! ```
//!
//! Wall, user and system time are operations with a lap for each repeat. Bytes, calls and whatever
//! the program itself tells are figures: the mean over the repeats of a trial.

pub mod calls;
pub mod metric;
mod output;
mod params;
mod place;
mod ready;
mod run;
mod stray;
mod watched;

pub(crate) use output::end_of;
pub(crate) use place::Place;
pub(crate) use run::{Ran, ready, run};
pub(crate) use stray::end_strays;

use pickfs_record::Durability;
use serde_json::{Map, Value};

use crate::{
    fault::Fault,
    param::{Param, ParamError, Resolved},
    workload::{Length, Prepared, Session, Workload},
};

pub struct Command;

/// Operations of every command: from its start to its end, and the time of its processes in
/// programs and in the kernel.
pub const TIMES: [&str; 3] = ["wall", "user", "system"];

impl Workload for Command {
    fn name(&self) -> &'static str {
        "command"
    }

    fn version(&self) -> u32 {
        1
    }

    fn about(&self) -> &'static str {
        "any program, timed as a whole in a fresh directory of the candidate"
    }

    fn params(&self) -> &'static [Param] {
        params::PARAMS
    }

    fn validate(&self, asked: &Map<String, Value>) -> Result<Resolved, ParamError> {
        let resolved = Resolved::new(self.name(), params::PARAMS, asked)?;
        params::check(&resolved)?;
        Ok(resolved)
    }

    fn ops(&self, params: &Resolved) -> Vec<String> {
        let own = params::metrics(params).into_iter().map(|metric| metric.name);
        TIMES.iter().map(|name| name.to_string()).chain(own).collect()
    }

    /// What a program asked of the kernel before it ended is not looked at.
    fn durability(&self, _params: &Resolved) -> Durability {
        Durability::Unknown
    }

    fn length(&self, _params: &Resolved) -> Length {
        Length::Work(None)
    }

    fn incompatible(&self, _params: &Resolved) -> Option<String> {
        None
    }

    fn prepare(&self, session: &Session) -> Result<Box<dyn Prepared>, Fault> {
        Ok(Box::new(ready::Ready::new(session)?))
    }
}
