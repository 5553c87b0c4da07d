use std::sync::{Arc, OnceLock};

use pickfs_record::{Durability, PhaseRecord, TrialSpec, closest::closest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    bench::LiveOperations,
    column, command,
    drive::Driven,
    fault::Fault,
    files, fio, journal,
    measurement::{Measured, Measurement},
    null,
    param::{Param, ParamError, Resolved},
    phase::{Gate, LabLine},
    shared,
};

static CORE: &[Workload] = &[
    null::WORKLOAD,
    journal::WORKLOAD,
    column::WORKLOAD,
    files::WORKLOAD,
    command::WORKLOAD,
    fio::WORKLOAD,
    shared::WORKLOAD,
];

static MORE: OnceLock<&[Workload]> = OnceLock::new();

/// From now on these are workloads of this program too. Only the first call adds.
pub fn add(more: &'static [Workload]) {
    let _ = MORE.set(more);
}

pub fn all() -> impl Iterator<Item = &'static Workload> + Clone {
    CORE.iter().chain(MORE.get().copied().unwrap_or_default())
}

pub fn find(name: &str) -> Result<&'static Workload, ParamError> {
    let without = match MORE.get() {
        Some(_) => "",
        None => "; those of the engines come with the feature engines",
    };
    let names = all().map(|workload| workload.name);
    all().find(|workload| workload.name == name).ok_or_else(|| ParamError::UnknownWorkload {
        name: name.into(),
        closest: closest(name, names.clone()),
        known: names.collect::<Vec<_>>().join(", ") + without,
    })
}

/// A workload is one row. It must write its names, `params`, `ops`, `durability` and `prepare`; the rest is there
/// by `..Workload::LOOP`.
#[derive(Clone, Copy)]
pub struct Workload {
    pub name: &'static str,
    /// Rises when a change may move its numbers.
    pub version: u32,
    pub about: &'static str,
    pub params: &'static [Param],
    pub ops: fn(&Resolved) -> Vec<String>,
    /// What one completed operation outlives on a file system and a device that keep their word. The
    /// lab lowers it where the backing or a mount option says so.
    pub durability: fn(&Resolved) -> Durability,
    /// Makes everything ready that is not measured. Threads that it starts inherit the CPU of the
    /// caller.
    pub prepare: fn(&Session) -> Result<Box<dyn Prepared>, Fault>,
    /// Operations that the arrivals of a schedule wait for: they have a response time in an open loop.
    pub scheduled: &'static [&'static str],
    /// Puts in what parameters decide about others that are not asked for.
    pub fill: fn(&mut Map<String, Value>),
    /// What each parameter alone does not show.
    pub check: fn(&Resolved) -> Result<(), ParamError>,
    /// Why these parameters do not go together, if they do not: such a cell is skipped.
    pub incompatible: fn(&Resolved) -> Option<String>,
    /// Worker processes of a trial, each in a directory of its own.
    pub lanes: fn(&Resolved) -> u32,
    pub length: fn(&Resolved) -> Length,
    /// Its measurement is one [`Measurement`], which waits for the word to begin once its recorder is there.
    pub begins_by_recorder: bool,
    /// Why the work cannot fit on a scratch, where that is certain before anything is made. What only
    /// the mounted file system can tell is told by the trial.
    pub too_large: fn(&Resolved, &Scratch) -> Option<TooLarge>,
    /// Adds phases that follow from others of the trial; called once all lanes are merged.
    pub derive: fn(&Resolved, &mut Vec<PhaseRecord>),
    /// Reads what the session's lane wrote and has ended, on another host than wrote it.
    pub read_back: fn(&Session) -> Result<Found, Fault>,
    /// Plays the role of the session beside the process that measures, until that one has no more words.
    pub play: fn(&Session) -> Result<(), Fault>,
}

impl Workload {
    /// One process in a loop that the clock ends, with parameters that all go together.
    pub const LOOP: Workload = Workload {
        name: "",
        version: 1,
        about: "",
        params: &[],
        ops: |_| Vec::new(),
        durability: |_| Durability::Unknown,
        prepare: |session| Err(no_role(session)),
        scheduled: &[],
        fill: |_| {},
        check: |_| Ok(()),
        incompatible: |_| None,
        lanes: |_| 1,
        length: |_| Length::Clock,
        begins_by_recorder: false,
        too_large: |_, _| None,
        derive: |_, _| {},
        read_back: |session| Err(not_read_back(&session.spec.workload.name)),
        play: |session| Err(no_role(session)),
    };

    pub fn validate(&self, asked: &Map<String, Value>) -> Result<Resolved, ParamError> {
        let mut asked = asked.clone();
        (self.fill)(&mut asked);
        let resolved = Resolved::new(self.name, self.params, &asked)?;
        (self.check)(&resolved)?;
        Ok(resolved)
    }

    /// A worker trusts nobody's arithmetic, and looks again whether the parameters go together.
    pub fn make_ready(&self, session: &Session) -> Result<Box<dyn Prepared>, Fault> {
        match (self.incompatible)(&session.params) {
            Some(reason) => Err(Fault::Skipped { reason }),
            None => (self.prepare)(session),
        }
    }

    pub fn defaults(&self) -> Map<String, Value> {
        self.validate(&Map::new()).map(|resolved| resolved.params).unwrap_or_default()
    }
}

fn no_role(session: &Session) -> Fault {
    let (name, role) = (&session.spec.workload.name, &session.spec.role);
    Fault::Failed { reason: format!("{name} has no role {role}") }
}

fn not_read_back(name: &str) -> Fault {
    Fault::Skipped { reason: format!("what {name} wrote is read by its writers alone") }
}

/// What stands where another process wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Whole and right, up to the first that is not.
    pub records: u64,
    /// What is wrong behind them.
    pub damage: Option<String>,
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
    pub live: Option<Arc<dyn LiveOperations>>,
    pub gate: Gate,
    pub lab: Option<Arc<dyn LabLine>>,
}

impl Session {
    pub fn new(
        spec: TrialSpec,
        live: Option<Arc<dyn LiveOperations>>,
    ) -> Result<Session, ParamError> {
        let workload = find(&spec.workload.name)?;
        let params = workload.validate(&spec.workload.params)?;
        let ops = (workload.ops)(&params);
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
            lab: self.lab.clone().filter(|_| !is_warm_up),
        }
    }
}

pub trait Prepared {
    /// The same loop as the measurement, until the session's warm-up time and bytes are reached;
    /// gives its length in nanoseconds.
    fn warm_up(&mut self, _session: &Session) -> Result<u64, Fault> {
        Ok(0)
    }

    /// What the preparation and the warm-up want told: fallbacks, sizes, what was reached.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    fn measure(&mut self, session: &Session) -> Result<Measured, Fault>;

    /// The same operations back to back, for the time that the session says; nothing where the workload has
    /// no such loop.
    fn sustain(&mut self, _session: &Session) -> Result<Option<Driven>, Fault> {
        Ok(None)
    }

    /// Reads back what was written and compares; gives the number of records or files compared.
    fn verify(&mut self, session: &Session) -> Result<u64, Fault>;

    /// What was not removed, with the reason: things that somebody else put among ours. Asked after
    /// `verify`.
    fn left(&self) -> Vec<String> {
        Vec::new()
    }
}
