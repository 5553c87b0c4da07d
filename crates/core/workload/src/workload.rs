use std::sync::{Arc, OnceLock};

use pickfs_record::{Durability, PhaseRecord, TrialSpec, closest::closest};
use serde_json::{Map, Value};

use crate::{
    bench::LiveLaps,
    column::Column,
    command::Command,
    fault::Fault,
    files::Files,
    fio::Fio,
    journal::Journal,
    measurement::{Measured, Measurement},
    null::Null,
    param::{Param, ParamError, Resolved},
    phase::{Gate, LabLine},
};

static CORE: &[&dyn Workload] = &[&Null, &Journal, &Column, &Files, &Command, &Fio];

static MORE: OnceLock<&[&dyn Workload]> = OnceLock::new();

/// From now on these are workloads of this program too. Only the first call adds.
pub fn add(more: &'static [&'static dyn Workload]) {
    let _ = MORE.set(more);
}

pub fn all() -> impl Iterator<Item = &'static dyn Workload> {
    CORE.iter().chain(MORE.get().copied().unwrap_or_default()).copied()
}

pub fn find(name: &str) -> Result<&'static dyn Workload, ParamError> {
    let without = match MORE.get() {
        Some(_) => "",
        None => "; those of the engines come with the feature engines",
    };
    all().find(|workload| workload.name() == name).ok_or_else(|| ParamError::UnknownWorkload {
        name: name.into(),
        closest: closest(name, all().map(Workload::name)),
        known: all().map(Workload::name).collect::<Vec<_>>().join(", ") + without,
    })
}

pub trait Workload: Sync {
    fn name(&self) -> &'static str;

    /// Rises when a change may move its numbers.
    fn version(&self) -> u32;

    fn about(&self) -> &'static str;

    fn params(&self) -> &'static [Param];

    fn defaults(&self) -> Map<String, Value> {
        self.validate(&Map::new()).map(|resolved| resolved.params).unwrap_or_default()
    }

    fn validate(&self, asked: &Map<String, Value>) -> Result<Resolved, ParamError> {
        Resolved::new(self.name(), self.params(), asked)
    }

    fn ops(&self, params: &Resolved) -> Vec<String>;

    /// Operations that the turns of a schedule wait for: they have a response time in an open loop.
    fn scheduled(&self) -> &'static [&'static str] {
        &[]
    }

    /// What one completed operation outlives on a file system and a device that keep their word. The
    /// lab lowers it where the backing or a mount option says so.
    fn durability(&self, params: &Resolved) -> Durability;

    /// Worker processes of a trial, each in a directory of its own.
    fn lanes(&self, _params: &Resolved) -> u32 {
        1
    }

    fn length(&self, _params: &Resolved) -> Length {
        Length::Clock
    }

    /// Why the work cannot fit on a scratch, where that is certain before anything is made. What only
    /// the mounted file system can tell is told by the trial.
    fn too_large(&self, _params: &Resolved, _scratch: &Scratch) -> Option<TooLarge> {
        None
    }

    /// Adds phases that follow from others of the trial; called once all lanes are merged.
    fn derive(&self, _params: &Resolved, _phases: &mut Vec<PhaseRecord>) {}

    /// Why these parameters do not go together, if they do not: such a cell is skipped.
    fn incompatible(&self, params: &Resolved) -> Option<String>;

    /// Makes everything ready that is not measured. Threads that it starts inherit the CPU of the
    /// caller.
    fn prepare(&self, session: &Session) -> Result<Box<dyn Prepared>, Fault>;

    /// Plays the role of the session beside the process that measures, until that one has no more words.
    fn play(&self, session: &Session) -> Result<(), Fault> {
        let role = &session.spec.role;
        Err(Fault::Failed { reason: format!("{} has no role {role}", self.name()) })
    }
}

/// How long the work of a trial takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Length {
    /// One loop, which the clock ends.
    Clock,
    /// Work done once, which takes what it takes: seconds on a disk of a gigabyte a second, about; none
    /// where nobody can know it.
    Work(Option<f64>),
}

impl Length {
    pub fn is_work(self) -> bool {
        self != Length::Clock
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scratch<'a> {
    pub fs: &'a str,
    /// All of it, in bytes: a file system leaves less.
    pub size_bytes: u64,
    /// Its files are in memory and nowhere else.
    pub is_in_memory: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge {
    pub reason: String,
    pub remedy: String,
}

#[derive(Clone)]
pub struct Session {
    pub spec: TrialSpec,
    pub params: Resolved,
    pub ops: Vec<String>,
    pub live: Option<Arc<dyn LiveLaps>>,
    pub gate: Gate,
    pub lab: Option<Arc<dyn LabLine>>,
}

impl Session {
    /// Checks the workload and its parameters once more: a worker trusts nobody's arithmetic.
    pub fn new(spec: TrialSpec, live: Option<Arc<dyn LiveLaps>>) -> Result<Session, ParamError> {
        let workload = find(&spec.workload.name)?;
        let params = workload.validate(&spec.workload.params)?;
        let ops = workload.ops(&params);
        Ok(Session { spec, params, ops, live, gate: Gate::default(), lab: None })
    }

    #[must_use]
    pub fn among(self, gate: Gate, lab: Arc<dyn LabLine>) -> Session {
        Session { gate, lab: Some(lab), ..self }
    }

    pub fn measurement(&self, is_warm_up: bool) -> Measurement {
        Measurement {
            ops: self.ops.clone(),
            spikes_max: if is_warm_up { 0 } else { self.spec.spikes_max as usize },
            helper_cpu: self.spec.helper_cpu,
            live: self.live.clone().filter(|_| !is_warm_up),
        }
    }
}

pub trait Prepared {
    /// The same loop as the measurement, until the session's warm-up time and bytes are reached;
    /// gives its length in nanoseconds.
    fn warm_up(&mut self, session: &Session) -> Result<u64, Fault>;

    /// What the preparation and the warm-up want told: fallbacks, sizes, what was reached.
    fn notes(&self) -> Vec<String>;

    fn measure(&mut self, session: &Session) -> Result<Measured, Fault>;

    /// Reads back what was written and compares; gives the number of records or files compared.
    fn verify(&mut self, session: &Session) -> Result<u64, Fault>;

    /// What was not removed, with the reason: things that somebody else put among ours. Asked after
    /// `verify`.
    fn left(&self) -> Vec<String> {
        Vec::new()
    }
}
