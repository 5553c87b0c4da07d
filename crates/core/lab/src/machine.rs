use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use pickfs_candidate::{
    Mounted, Scratch, TargetError, carry_out,
    fs::{self, Ground},
    knob::{IO_PRIORITY, KnobError, turn},
};
use pickfs_record::{
    BackingKind, BackingSpec, Event, FORMAT, INTERRUPTED, Outcome, Plan, TrialRecord, TrialSpec,
    trial::FINAL_SYNC_KEY,
};
use pickfs_workload::{Length, ParamError, Resolved, Workload};

use crate::{
    capacity,
    crew::{Around, Limits, Moment, run_crew},
    disk::Under,
    doubts,
    explain::Explanation,
    final_sync,
    interrupt::Interrupt,
    placement::Placement,
    preflight::size_bytes,
    ranks::{self, Gathered},
    raw_band::RawBand,
    settle::Quiet,
    stage::TrialOrder,
    transcript,
    watch::Watch,
};

/// What trials need wherever they run.
#[derive(Clone)]
pub struct Means {
    pub plan: Plan,
    pub worker: PathBuf,
    pub quiet: Quiet,
    pub interrupt: Interrupt,
}

pub struct Machine {
    means: Means,
    pub scratch: Scratch,
    mount_point: PathBuf,
    placement: Placement,
    /// One for each place: another disk has another band.
    raw: BTreeMap<Option<PathBuf>, RawBand>,
    /// Why what the last trial left could not be taken away.
    pub stuck: Option<String>,
}

const PLACES_NOTE: &str = "a place as it is: file system, what lies in it and the disk under it are \
     compared as one, and two places may lie on different disks";
const SHARED_SYNC_NOTE: &str =
    "the final sync writes also what others left unwritten in the file system of the directory";
pub const SPIKES_MAX: u32 = 64;

impl Machine {
    pub fn new(means: Means, scratch: Scratch, mount_point: PathBuf) -> Machine {
        let placement = Placement::choose(means.plan.cpus.as_ref());
        Machine { means, scratch, mount_point, placement, raw: BTreeMap::new(), stuck: None }
    }

    pub fn perform(&mut self, order: &TrialOrder<'_>, tell: &mut dyn FnMut(Event)) -> TrialRecord {
        let (kind, interrupt) = (self.scratch.kind(), self.means.interrupt.clone());
        performed(order, kind, &interrupt, |record| self.trial(order, record, tell))
    }

    fn trial(
        &mut self,
        order: &TrialOrder<'_>,
        record: &mut TrialRecord,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(), TrialError> {
        self.scratch.turn_to(&order.cell.candidate);
        if stands_on_a_device(&order.cell.candidate.fs) {
            tell(phase(order, "raw device probe"));
            self.probe_raw(order, record)?;
        }
        tell(phase(order, "make and mount"));
        let Machine { means, scratch, mount_point, placement, stuck, .. } = self;
        let Means { plan, worker, quiet, interrupt } = &*means;
        let candidate = &order.cell.candidate;
        let under = Under::of(&candidate.fs, scratch.device(), quiet, &plan.backing);
        let mut mounted = scratch.make_and_mount(candidate, mount_point, &mut record.steps)?;
        record.environment = mounted.environment.clone();
        record.backing = mounted.backing;
        if plan.backing.directories().len() > 1 {
            record.notes.push(PLACES_NOTE.into());
        }
        let mut job = Job::of(order)?;
        let gathered = ranks::gather(plan, &mounted.directory, interrupt, stuck)?;
        let ranks = gathered.as_deref();
        let placement = &ranks.map_or_else(|| placement.clone(), |ranks| job.over(ranks, record));
        if let Some((measure, help)) = job.placement(placement).lists() {
            record.environment.put("cpus.measure", measure);
            record.environment.put("cpus.help", help);
        }
        let turned = turn(&order.cell.knobs, &mounted.directory).inspect_err(|error| {
            if matches!(error, KnobError::Stuck { .. }) {
                *stuck = Some(error.to_string());
            }
        })?;
        for (name, value) in &turned.values {
            record.environment.put(&format!("knob.{name}"), value);
        }
        let periods = mounted.promise.periods.clone();
        let measured_s = job.measured_s(plan);
        let spec = trial_spec(order, plan, placement, &job, &mounted.directory);
        let helper = Helper { program: worker, interrupt, placement, plan, under, job, ranks };
        let (drop_caches, mut cooling) = (plan.consent.drop_caches, Vec::new());
        let mut make_cold =
            || mounted.make_cold(drop_caches, &mut cooling).map_err(|error| error.to_string());
        let measured = match &plan.capacity {
            None => helper.measure(&spec, order, record, &mut make_cold, tell),
            Some(ask) => {
                capacity::seek(ask, spec, record, helper.interrupt, &mut |spec, attempt| {
                    helper.measure(spec, order, attempt, &mut make_cold, tell)
                })
            }
        };
        record.steps.append(&mut cooling);
        doubts::periods(record, &periods, measured_s);
        let is_shared = matches!(plan.backing, BackingSpec::Directory { .. });
        if is_shared && record.counts.contains_key(FINAL_SYNC_KEY) {
            record.notes.push(SHARED_SYNC_NOTE.into());
        }
        // Whatever still writes there ends before it is taken away.
        drop(gathered);
        let put_back = turned.put_back().map_err(TrialError::Failed);
        let ended = both(put_back, unmount(mounted, record));
        if let Err(TrialError::Failed(why) | TrialError::Skipped(why)) = &ended {
            *stuck = Some(why.clone());
        }
        both(measured, ended)
    }

    fn probe_raw(
        &mut self,
        order: &TrialOrder<'_>,
        record: &mut TrialRecord,
    ) -> Result<(), TargetError> {
        let Machine { means: Means { plan, interrupt, .. }, scratch, raw, .. } = self;
        let place = plan.backing.directory_of(&order.cell.candidate.label);
        let band = raw.entry(place.map(Path::to_path_buf)).or_default();
        let seconds = plan.timing.raw_probe_s;
        band.probe(seconds, record, interrupt, &mut |s| scratch.raw_probe(s))
    }
}

/// A trial with whatever went wrong as its outcome.
pub fn performed(
    order: &TrialOrder<'_>,
    kind: BackingKind,
    interrupt: &Interrupt,
    trial: impl FnOnce(&mut TrialRecord) -> Result<(), TrialError>,
) -> TrialRecord {
    let began = Instant::now();
    let mut record = blank(order, kind);
    if let Err(error) = trial(&mut record) {
        record.outcome = match interrupt.is_raised() {
            true => Outcome::Failed { reason: INTERRUPTED.into() },
            false => error.outcome(),
        };
        record.ops.clear();
    }
    record.elapsed_s = began.elapsed().as_secs_f64();
    doubts::after(&mut record);
    record
}

pub enum TrialError {
    Skipped(String),
    Failed(String),
}

impl TrialError {
    pub fn outcome(self) -> Outcome {
        match self {
            TrialError::Skipped(reason) => Outcome::Skipped { reason },
            TrialError::Failed(reason) => Outcome::Failed { reason },
        }
    }
}

impl From<KnobError> for TrialError {
    fn from(error: KnobError) -> Self {
        match &error {
            KnobError::NoPlace { .. } => TrialError::Skipped(error.to_string()),
            _ => TrialError::Failed(error.to_string()),
        }
    }
}

impl From<TargetError> for TrialError {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Unavailable(why) => TrialError::Skipped(why.to_string()),
            error => TrialError::Failed(error.to_string()),
        }
    }
}

pub struct Job {
    pub workload: &'static Workload,
    pub params: Resolved,
    pub lanes: u32,
    pub length: Length,
}

impl Job {
    pub fn of(order: &TrialOrder<'_>) -> Result<Job, TrialError> {
        let asked = &order.cell.workload;
        let failed = |error: ParamError| TrialError::Failed(error.to_string());
        let workload = pickfs_workload::find(&asked.name).map_err(failed)?;
        let params = workload.validate(&asked.params).map_err(failed)?;
        let (lanes, length) = ((workload.lanes)(&params), (workload.length)(&params));
        Ok(Job { workload, params, lanes, length })
    }

    /// Each rank is a lane. Which processors it has is for its launcher.
    fn over(&mut self, ranks: &dyn Gathered, record: &mut TrialRecord) -> Placement {
        self.lanes = ranks.count();
        if let Some(lanes) = self.params.params.get_mut("lanes") {
            *lanes = self.lanes.into();
        }
        record.environment.0.extend(ranks.facts().0);
        Placement::default()
    }

    /// Seconds that the clock gives the work; none where it takes what it takes.
    pub fn measured_s(&self, plan: &Plan) -> Option<f64> {
        (!self.length.is_work()).then_some(plan.timing.measure_s)
    }

    /// One loop is pinned to a CPU; phases use threads and lanes, which need all of them.
    fn placement(&self, placement: &Placement) -> Placement {
        if self.length.is_work() { placement.of_phases() } else { placement.clone() }
    }
}

struct Helper<'a> {
    program: &'a Path,
    interrupt: &'a Interrupt,
    placement: &'a Placement,
    plan: &'a Plan,
    under: Under,
    job: Job,
    ranks: Option<&'a dyn Gathered>,
}

impl Helper<'_> {
    fn measure(
        &self,
        spec: &TrialSpec,
        order: &TrialOrder<'_>,
        record: &mut TrialRecord,
        make_cold: &mut dyn FnMut() -> Result<(), String>,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(), TrialError> {
        let placement = self.job.placement(self.placement);
        let _kept_off = placement.keep_off();
        let window = Duration::from_nanos(spec.measure_ns);
        let mut watch = Watch::new(order.number, window, placement.measuring, self.under.clone());
        let page = watch.page();
        let limits = Limits::of(spec, self.job.length);
        let mut explanation = Explanation::of(self.plan, record);
        let slow_operations = explanation.slow_operations();
        let around = Around {
            page: page.as_deref(),
            slow_operations: slow_operations.as_deref(),
            interrupt: self.interrupt,
            observe: &mut |moment| {
                explanation.at(&moment);
                // What others do on this machine disturbs no other host.
                if self.ranks.is_none() || !matches!(moment, Moment::Going { .. }) {
                    watch.at(moment, tell);
                }
            },
            make_cold,
        };
        let said = match self.ranks {
            Some(ranks) => run_crew(ranks.place(), spec, limits, around),
            None => run_crew(self.program, spec, limits, around),
        };
        record.disturbance = watch.finish();
        record.stalls = explanation.finish();
        let said = said.map_err(|error| TrialError::Failed(error.to_string()))?;
        record.hosts = self.ranks.map(|ranks| ranks.hosts(&said)).unwrap_or_default();
        let acknowledged = ranks::acknowledged(&said);
        transcript::into_record(said, &self.job, spec, record)?;
        match self.ranks {
            Some(ranks) => ranks::read_back(ranks, &acknowledged, self.interrupt, record),
            None => Ok(()),
        }
    }
}

/// Neither of two reasons is lost.
pub fn both(
    measured: Result<(), TrialError>,
    ended: Result<(), TrialError>,
) -> Result<(), TrialError> {
    match (measured, ended) {
        (
            Err(TrialError::Failed(first) | TrialError::Skipped(first)),
            Err(TrialError::Failed(then) | TrialError::Skipped(then)),
        ) => Err(TrialError::Failed(format!("{first}; and then: {then}"))),
        (measured, ended) => measured.and(ended),
    }
}

/// Unmounts; what cannot be unmounted fails the trial, as its data may not be on the device.
fn unmount(mounted: Mounted<'_>, record: &mut TrialRecord) -> Result<(), TrialError> {
    let mut steps = std::mem::take(&mut record.steps);
    let image = mounted.unmount(&mut steps);
    let left = steps.iter().filter(|step| step.output.starts_with(carry_out::LEFT));
    record.notes.extend(left.map(|step| step.output.clone()));
    record.steps = steps;
    record.image = image?;
    Ok(())
}

pub fn trial_spec(
    order: &TrialOrder<'_>,
    plan: &Plan,
    placement: &Placement,
    job: &Job,
    directory: &Path,
) -> TrialSpec {
    let placement = job.placement(placement);
    let mut workload = order.cell.workload.clone();
    if let Some(lanes) = workload.params.get_mut("lanes") {
        *lanes = job.lanes.into();
    }
    TrialSpec {
        format: FORMAT,
        build: pickfs_workload::BUILD.into(),
        workload,
        directory: directory.into(),
        role: "appender".into(),
        lane: 0,
        lanes: job.lanes,
        seed: order.seed,
        warmup_ns: (plan.timing.warmup_s * 1e9) as u64,
        warmup_bytes: plan.timing.warmup_bytes,
        measure_ns: (plan.timing.measure_s * 1e9) as u64,
        // A capacity is what is sustained.
        sustain_ns: plan.capacity.map_or((plan.timing.sustain_s * 1e9) as u64, |_| 0),
        // A rank knows it of its own.
        among: None,
        cpu: placement.measuring,
        helper_cpu: placement.helping,
        cpus: placement.of_worker(),
        scratch_bytes: size_bytes(&plan.backing),
        io_priority: order.cell.knobs.get(IO_PRIORITY).cloned(),
        spikes_max: SPIKES_MAX,
        drop_caches: plan.consent.drop_caches,
        final_sync: final_sync::ops(plan, order.cell),
    }
}

pub(crate) fn blank(order: &TrialOrder<'_>, backing: BackingKind) -> TrialRecord {
    TrialRecord {
        number: order.number,
        cell: order.cell.id.clone(),
        block: order.block,
        attempt: order.attempt,
        backing,
        settle: Some(order.settle),
        ..TrialRecord::default()
    }
}

pub fn stands_on_a_device(fs: &str) -> bool {
    fs::find(fs).is_none_or(|row| row.ground != Ground::Memory)
}

pub fn phase(order: &TrialOrder<'_>, phase: &str) -> Event {
    Event::TrialProgress { number: order.number, phase: phase.into(), operations: 0, max_ns: 0 }
}
