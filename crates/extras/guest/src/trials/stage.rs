//! The stage inside guests: each trial in a kernel of its own, on an image that the host makes.
//!
//! ```text
//! host    raw probe, make the candidate on the image, boot ............ extents, image
//! guest   modules, calibration, mount, worker: prepare ... verify, unmount, power-off
//! ```
//!
//! What a guest does wrong - it dies, hangs, cannot mount - is a failed row with the end of its console. One
//! that cannot be ended with its trial has the image still, and ends the run.

use std::{path::Path, time::Duration};

use crate::{
    GuestError,
    engine::{self, DISK_INSIDE},
    guest::left,
};
use pickfs_candidate::{GuestImage, fs, knob::MEMORY};
use pickfs_record::{Event, TrialRecord};

use super::{
    boot::{MOUNTED_AT, Machinery, boot, order_of},
    kernels::Kernels,
    lane::InGuest,
};
use pickfs_lab::{
    crew::{Around, Limits, run_crew},
    disk::Under,
    doubts,
    engines::GuestStage,
    machine::{Job, Means, TrialError, both, performed, phase, stands_on_a_device, trial_spec},
    placement::Placement,
    raw_band::RawBand,
    stage::TrialOrder,
    transcript,
    watch::Watch,
};

pub struct Guests {
    means: Means,
    image: GuestImage,
    kernels: Kernels,
    raw: RawBand,
}

impl Guests {
    pub fn new(means: Means, mut image: GuestImage, kernels: Kernels) -> Guests {
        image.bring(kernels.tools().words());
        Guests { means, image, kernels, raw: RawBand::default() }
    }

    fn trial(
        &mut self,
        order: &TrialOrder<'_>,
        record: &mut TrialRecord,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(), TrialError> {
        let job = Job::of(order)?;
        let Guests { means: Means { plan, worker, quiet, interrupt }, image, kernels, raw } = self;
        if stands_on_a_device(&order.cell.candidate.fs) {
            tell(phase(order, "raw device probe"));
            let mut probe = |seconds| image.raw_probe(seconds);
            raw.probe(plan.timing.raw_probe_s, record, interrupt, &mut probe)?;
        }
        let (engine, kernel) = kernels.of(order.cell).ok_or_else(no_engine)?;
        tell(phase(order, "make"));
        let candidate = &order.cell.candidate;
        let inside = image.make(candidate, DISK_INSIDE, MOUNTED_AT, &mut record.steps)?;
        record.backing = inside.backing;
        let image = &*image;
        record.image = Some(image.record()?).filter(|_| inside.needs_disk);
        tell(phase(order, &format!("boot {}", engine.name())));
        let stop = || interrupt.is_raised();
        let row = fs::find(&candidate.fs).ok_or_else(no_engine)?;
        let (tools, programs, processors) = (kernels.tools(), &[], engine::processors());
        let memory = order.cell.knobs.get(MEMORY).and_then(|mib| mib.parse::<u64>().ok());
        let memory_bytes = memory.map(|mib| mib << 20);
        let disk = image.path();
        let machinery =
            Machinery { engine, kernel, tools, disk, worker, programs, processors, memory_bytes };
        let mut guest = boot(&machinery, &[row], &stop).map_err(failed)?;
        guest.calibrate(&stop).map_err(failed)?;
        guest.mount(order_of(row, &inside, kernel), &stop).map_err(failed)?;
        record.environment = image.facts();
        record.environment.0.extend(guest.facts().0.clone());
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
            slow_operations: None,
            interrupt,
            observe: &mut |moment| watch.at(moment, tell),
            make_cold: &mut || {
                guest.cool(&|| interrupt.is_raised()).map_err(|error| error.to_string())?;
                image.cool().map_err(|error| error.to_string())
            },
        };
        let said = run_crew(&InGuest(&guest), &spec, limits, around);
        record.disturbance = watch.finish();
        let said = said.map_err(|error| TrialError::Failed(error.to_string()));
        let measured = said.and_then(|said| transcript::into_record(said, &job, &spec, record));
        doubts::periods(record, &inside.promise.periods, job.measured_s(plan));
        let ended = guest.end(&stop).map_err(failed);
        if let Some(before) = &mut record.image {
            *before = before.ended_as(image.record()?);
        }
        both(measured, ended)
    }
}

fn no_engine() -> TrialError {
    TrialError::Skipped("no engine for guests here".into())
}

fn failed(error: GuestError) -> TrialError {
    TrialError::Failed(error.to_string())
}

impl GuestStage for Guests {
    fn perform(&mut self, order: &TrialOrder<'_>, tell: &mut dyn FnMut(Event)) -> TrialRecord {
        let (kind, interrupt) = (self.image.kind(), self.means.interrupt.clone());
        performed(order, kind, &interrupt, |record| self.trial(order, record, tell))
    }

    fn stuck(&self) -> Option<String> {
        left()
    }

    fn into_image(self: Box<Self>) -> GuestImage {
        self.image
    }
}
