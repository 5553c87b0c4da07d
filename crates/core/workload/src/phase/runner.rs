use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use pickfs_record::{
    Clock, MonotonicClock, OpRecord, Outcome, PhaseRecord,
    record::{Flag, LoadRecord},
};
use pickfs_sys::{own_usage::OwnUsage, residency::ResidentPages};

use super::{
    bench::{Kept, PhaseBench},
    cold::{forget_all, resident, write_out},
    gate::{Gate, LabLine},
    spec::PhaseSpec,
};
use crate::{fault::Fault, measurement::Measured, workload::Session};

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Done {
    /// Units of work, as the field counts them.
    pub work: f64,
    /// Bytes that went to or came from files.
    pub real_bytes: u64,
}

impl Done {
    pub fn work(work: f64) -> Done {
        Done { work, ..Done::default() }
    }

    pub fn bytes(bytes: u64) -> Done {
        Done { work: bytes as f64, real_bytes: bytes }
    }
}

pub struct PhaseRunner {
    session: Session,
    directory: PathBuf,
    phases: Vec<PhaseRecord>,
    ops: Vec<OpRecord>,
    before: OwnUsage,
    announced: u32,
}

impl PhaseRunner {
    /// A runner with a directory of its own, `lane-N` in the session's (N from 1), which must not
    /// be there yet.
    pub fn new(session: &Session) -> Result<PhaseRunner, Fault> {
        let directory = session.spec.directory.join(format!("lane-{}", session.spec.lane + 1));
        fs::create_dir(&directory).map_err(Fault::io("create", &directory))?;
        Ok(PhaseRunner {
            session: session.clone(),
            directory,
            phases: Vec::new(),
            ops: Vec::new(),
            before: OwnUsage::now(),
            announced: 0,
        })
    }

    pub fn lane(&self) -> u32 {
        self.session.spec.lane
    }

    pub fn lanes(&self) -> u32 {
        self.session.spec.lanes
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Waits for all lanes, then times `work`: the whole of it, unless it says by the bench's
    /// `span_begins` and `span_ends` what counts. When it fails, no lane waits any more.
    pub fn run(
        &mut self,
        spec: &PhaseSpec,
        work: impl FnOnce(&mut PhaseBench) -> Result<Done, Fault>,
    ) -> Result<(), Fault> {
        let gate = self.session.gate.clone();
        self.timed(spec, |bench| work(bench).inspect_err(|_| gate.break_open()))?
    }

    /// The same, but a fault is the phase's outcome; gives whether it was run to its end.
    pub fn run_or_tell(
        &mut self,
        spec: &PhaseSpec,
        work: impl FnOnce(&mut PhaseBench) -> Result<Done, Fault>,
    ) -> Result<bool, Fault> {
        Ok(self.timed(spec, work)?.is_ok())
    }

    /// It waits for the others all the same.
    pub fn skip(&mut self, spec: &PhaseSpec, reason: impl Into<String>) -> Result<(), Fault> {
        self.together()?;
        self.keep(spec, Outcome::Skipped { reason: reason.into() });
        self.leave_together()
    }

    /// Waits while others run a phase that this lane has no part in.
    pub fn stand_by(&mut self, phase: &str) -> Result<(), Fault> {
        self.announce(phase)?;
        self.together()?;
        self.together()
    }

    fn announce(&mut self, phase: &str) -> Result<(), Fault> {
        self.announced += 1;
        self.lab().map_or(Ok(()), |lab| lab.phase_begins(phase, self.announced))
    }

    pub fn gate(&self) -> Gate {
        self.session.gate.clone()
    }

    pub fn together(&mut self) -> Result<(), Fault> {
        self.session.gate.pass()
    }

    fn leave_together(&mut self) -> Result<(), Fault> {
        let waited_ns = self.waited_together()?;
        if let Some(last) = self.phases.last_mut() {
            last.waited_after_ns = waited_ns;
        }
        Ok(())
    }

    fn waited_together(&mut self) -> Result<u64, Fault> {
        let came_ns = MonotonicClock.now_ns();
        self.together()?;
        Ok(MonotonicClock.now_ns() - came_ns)
    }

    /// Writes everything out, drops these files of this lane from memory, and counts what is left of
    /// them. All lanes call it, with nothing of the mount open or mapped.
    pub fn make_cold(&mut self, files: &[PathBuf]) -> Result<ResidentPages, Fault> {
        self.cold(files).inspect_err(|_| self.session.gate.break_open())
    }

    fn cold(&mut self, files: &[PathBuf]) -> Result<ResidentPages, Fault> {
        self.together()?;
        if self.lane() == 0 {
            write_out(&self.session.spec.directory)?;
        }
        self.together()?;
        forget_all(files)?;
        self.together()?;
        if let Some(lab) = self.lab() {
            lab.make_cold()?;
        }
        self.together()?;
        resident(files)
    }

    pub fn flag_last(&mut self, kind: &str, text: impl Into<String>) {
        if let Some(last) = self.phases.last_mut() {
            last.flags.push(Flag { kind: kind.into(), text: text.into() });
        }
    }

    pub fn value_last(&mut self, name: &str, value: f64) {
        if let Some(last) = self.phases.last_mut() {
            last.values.insert(name.into(), value);
        }
    }

    pub fn phases(&self) -> &[PhaseRecord] {
        &self.phases
    }

    pub fn finish(self) -> Measured {
        let used = OwnUsage::now().since(&self.before);
        let began_ns = self.phases.first().map_or(0, |phase| phase.began_ns);
        let ended_ns = self.phases.last().map_or(0, |phase| phase.ended_ns);
        let arrivals: u64 = self.ops.iter().map(|op| op.service.count).sum();
        let measured_ns = ended_ns - began_ns;
        let load = LoadRecord {
            achieved_per_s: arrivals as f64 * 1e9 / measured_ns.max(1) as f64,
            arrivals,
            measured_ns,
            began_ns,
            cpu_user_ns: used.user_ns,
            cpu_system_ns: used.system_ns,
            preemptions: used.preemptions,
            ..LoadRecord::default()
        };
        Measured { ops: self.ops, phases: self.phases, load, ..Measured::default() }
    }

    fn lab(&self) -> Option<Arc<dyn LabLine>> {
        self.session.lab.clone().filter(|_| self.lane() == 0)
    }

    /// The outer result is the runner's own, the inner one the work's.
    fn timed(
        &mut self,
        spec: &PhaseSpec,
        work: impl FnOnce(&mut PhaseBench) -> Result<Done, Fault>,
    ) -> Result<Result<(), Fault>, Fault> {
        self.announce(&spec.record.phase)?;
        let mut bench = PhaseBench::new(
            spec.ops(),
            self.session.spec.spikes_max as usize,
            self.session.spec.helper_cpu,
            self.session.live.clone(),
        )?;
        if self.lane() == 0 {
            bench.watch_machine();
        }
        let waited_before_ns = self.waited_together()?;
        bench.begin();
        let done = work(&mut bench);
        bench.end();
        self.keep(spec, done.as_ref().map_or_else(outcome, |_| Outcome::Finished));
        // What a lane does with its operations would be in the way of those that still measure.
        if let Err(broken) = self.leave_together() {
            return Ok(Err(done.err().unwrap_or(broken)));
        }
        let kept = bench.finish()?;
        Ok(done.map(|done| self.tell_last(&done, waited_before_ns, kept)))
    }

    fn tell_last(&mut self, done: &Done, waited_before_ns: u64, kept: Kept) {
        if let (Some(phase), Some(span)) = (self.phases.last_mut(), kept.span) {
            let (elapsed_ns, used) = (span.elapsed_ns(), span.used());
            (phase.began_ns, phase.ended_ns) = (span.began.at_ns, span.ended.at_ns);
            (phase.work, phase.real_bytes) = (done.work, done.real_bytes);
            phase.rate_per_s = done.work * 1e9 / elapsed_ns.max(1) as f64;
            (phase.elapsed_ns, phase.elapsed_mean_ns) = (elapsed_ns, elapsed_ns);
            (phase.cpu_user_ns, phase.cpu_system_ns) = (used.user_ns, used.system_ns);
            phase.waited_before_ns = waited_before_ns;
            let busy = kept.machine_busy_cpus.map(|busy| ("machine_busy_cpus".into(), busy));
            phase.values.extend(busy);
        }
        // A single operation is the phase itself: its time says all.
        let repeated = kept.ops.into_iter().filter(|operations| operations.service.count > 1);
        self.ops.extend(repeated);
    }

    fn keep(&mut self, spec: &PhaseSpec, outcome: Outcome) {
        let now_ns = MonotonicClock.now_ns();
        let (began_ns, ended_ns) = (now_ns, now_ns);
        self.phases.push(PhaseRecord { outcome, began_ns, ended_ns, ..spec.record.clone() });
    }
}

fn outcome(fault: &Fault) -> Outcome {
    let reason = fault.to_string();
    match fault.is_skip() {
        true => Outcome::Skipped { reason },
        false => Outcome::Failed { reason },
    }
}
