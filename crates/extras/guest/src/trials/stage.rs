//! The stage inside guests: each trial in a kernel of its own, on an image that the host makes.
//!
//! ```text
//! host    raw probe, make the candidate on the image, boot ............ extents, image
//! guest   modules, calibration, mount, worker: prepare ... verify, unmount, power-off
//! ```
//!
//! What a guest does wrong - it dies, hangs, cannot mount - is a failed row with the end of its console. Nothing
//! of a guest outlives its trial.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    GuestError,
    engine::{self, DISK_INSIDE},
};
use pickfs_candidate::{GuestImage, fs};
use pickfs_record::{Event, Outcome, TrialRecord, record::SettleRecord};

use super::{
    boot::{MOUNTED_AT, Machinery, boot, order_of},
    kernels::Kernels,
    lane::InGuest,
};
use pickfs_lab::{
    crew::{Around, Limits, run_crew},
    disk::Under,
    doubts,
    engines::{GuestParts, GuestStage},
    machine::{Job, TrialError, blank, both, phase, stands_on_a_device, trial_spec},
    placement::Placement,
    raw_band::RawBand,
    settle::settle,
    stage::{Stage, TrialOrder},
    transcript,
    watch::Watch,
};

pub struct Guests {
    parts: GuestParts,
    kernels: Kernels,
    began: Instant,
    raw: RawBand,
}

impl Guests {
    pub fn new(mut parts: GuestParts, kernels: Kernels) -> Guests {
        parts.image.bring(kernels.tools().words());
        Guests { parts, kernels, began: Instant::now(), raw: RawBand::default() }
    }

    fn trial(
        &mut self,
        order: &TrialOrder<'_>,
        record: &mut TrialRecord,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(), TrialError> {
        let job = Job::of(order)?;
        if stands_on_a_device(&order.cell.candidate.fs) {
            tell(phase(order, "raw device probe"));
            let GuestParts { image, plan, interrupt, .. } = &self.parts;
            let mut probe = |seconds| image.raw_probe(seconds);
            self.raw.probe(plan.timing.raw_probe_s, record, interrupt, &mut probe)?;
        }
        let (engine, kernel) = self.kernels.of(order.cell).ok_or_else(no_engine)?;
        tell(phase(order, "make"));
        let candidate = &order.cell.candidate;
        let image = &mut self.parts.image;
        let inside = image.make(candidate, DISK_INSIDE, MOUNTED_AT, &mut record.steps)?;
        record.backing = inside.backing;
        record.image = Some(self.parts.image.record()?).filter(|_| inside.needs_disk);
        tell(phase(order, &format!("boot {}", engine.name())));
        let GuestParts { image, worker, interrupt, quiet, .. } = &self.parts;
        let stop = || interrupt.is_raised();
        let row = fs::find(&candidate.fs).ok_or_else(no_engine)?;
        let tools = self.kernels.tools();
        let processors = engine::processors();
        let machinery = Machinery { engine, kernel, tools, image, worker, processors };
        let mut guest = boot(&machinery, &[row], &stop).map_err(failed)?;
        guest.calibrate(&stop).map_err(failed)?;
        guest.mount(order_of(row, &inside, kernel), &stop).map_err(failed)?;
        record.environment = self.parts.image.facts();
        record.environment.0.extend(guest.facts().0.clone());
        name_program(&candidate.fs, record);
        let plan = &self.parts.plan;
        if plan.explain_above_ns.is_some() {
            record.notes.push("not explained: it is the guest's kernel that waits, where this machine's probes do not see".into());
        }
        let spec = trial_spec(order, plan, &Placement::default(), &job, Path::new(MOUNTED_AT));
        // A guest's processors run wherever the host lets them.
        let under = Under::of(&order.cell.candidate.fs, None, quiet, &plan.backing);
        let window = Duration::from_nanos(spec.measure_ns);
        let mut watch = Watch::new(order.number, window, None, under);
        let limits = Limits::of(&spec, job.length);
        let around = Around {
            page: None,
            slow_laps: None,
            interrupt,
            observe: &mut |moment| watch.at(moment, tell),
            make_cold: &mut || {
                guest.cool(&|| interrupt.is_raised()).map_err(|error| error.to_string())?;
                self.parts.image.cool().map_err(|error| error.to_string())
            },
        };
        let said = run_crew(&InGuest::new(&guest), &spec, limits, around);
        record.disturbance = watch.finish();
        let said = said.map_err(|error| TrialError::Failed(error.to_string()));
        let measured = said.and_then(|said| transcript::into_record(said, &job, &spec, record));
        doubts::periods(record, &inside.promise.periods, job.measured_s(plan));
        let ended = guest.end(&stop).map_err(failed);
        if let Some(image) = &mut record.image {
            let after = self.parts.image.record()?;
            image.holes_after_bytes = after.holes_before_bytes;
            image.extents_after = after.extents_before;
        }
        both(measured, ended)
    }
}

/// A FUSE type does not tell which program serves it.
fn name_program(name: &str, record: &mut TrialRecord) {
    let fs_type = record.environment.get("mount.type").unwrap_or_default().to_owned();
    if let Some(row) = fs::find(name).filter(|_| fs_type.starts_with("fuse")) {
        record.environment.put("mount.driver", row.driver(&fs_type, ""));
    }
}

fn no_engine() -> TrialError {
    TrialError::Skipped("no engine for guests here".into())
}

fn failed(error: GuestError) -> TrialError {
    TrialError::Failed(error.to_string())
}

impl Stage for Guests {
    fn now_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn settle(&mut self) -> SettleRecord {
        let limit = Duration::from_secs_f64(self.parts.plan.timing.settle_s);
        settle(&self.parts.quiet, limit)
    }

    fn perform(&mut self, order: &TrialOrder<'_>, tell: &mut dyn FnMut(Event)) -> TrialRecord {
        let mut record = blank(order, self.parts.image.kind(), self.now_s());
        if let Err(error) = self.trial(order, &mut record, tell) {
            record.outcome = match self.parts.interrupt.is_raised() {
                true => Outcome::Failed { reason: "interrupted".into() },
                false => error.outcome(),
            };
            record.ops.clear();
        }
        record.elapsed_s = self.now_s() - record.started_s;
        doubts::after(&mut record);
        record
    }
}

impl GuestStage for Guests {
    fn into_image(self: Box<Self>) -> GuestImage {
        self.parts.image
    }
}
