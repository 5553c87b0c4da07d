//! The warm-up is the same, and its result is thrown away.

use std::{collections::BTreeMap, sync::Arc};

use pickfs_record::{
    IntervalKeeper, MonotonicClock, OpRecord, PhaseRecord, RecorderOptions, StallRecord,
    record::LoadRecord, recorder,
};
use pickfs_sys::own_usage::OwnUsage;

use crate::{
    bench::{Bench, LiveOperations},
    drive::{Driven, Pace, Span, Work, drive},
    fault::Fault,
    keepers::Keepers,
    phase::LabLine,
};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    pub ops: Vec<OpRecord>,
    pub phases: Vec<PhaseRecord>,
    pub load: LoadRecord,
    pub counts: BTreeMap<String, f64>,
    /// Numbers in units of their own, by name.
    pub figures: BTreeMap<String, f64>,
    /// Why calls of a program were slow, where that was asked for.
    pub stalls: Option<StallRecord>,
    /// What should be told, beside the notes of the preparation.
    pub notes: Vec<String>,
}

#[derive(Clone)]
pub struct Measurement {
    pub ops: Vec<String>,
    pub spikes_max: usize,
    pub helper_cpu: Option<u32>,
    pub live: Option<Arc<dyn LiveOperations>>,
    /// Says when a measurement begins; a warm-up begins by itself.
    pub lab: Option<Arc<dyn LabLine>>,
}

impl Measurement {
    pub fn run<W: Work>(
        &self,
        work: &mut W,
        pace: &mut Pace,
        span: Span,
    ) -> Result<Measured, Fault> {
        let responses = pace.is_open();
        self.run_when(work, (pace, responses), span, || self.begin())
    }

    /// The same, for work that knows the response times of its operations although it has no schedule itself.
    pub fn run_with_responses<W: Work>(
        &self,
        work: &mut W,
        pace: &mut Pace,
        span: Span,
        responses: bool,
    ) -> Result<Measured, Fault> {
        self.run_when(work, (pace, responses), span, || self.begin())
    }

    /// Waits for the lab's word, where it has one.
    pub(crate) fn begin(&self) -> Result<(), Fault> {
        self.lab.iter().try_for_each(|lab| lab.begin())
    }

    /// The same; `begin` waits until it may, once all that the loop needs is there.
    pub(crate) fn run_when<W: Work>(
        &self,
        work: &mut W,
        (pace, responses): (&mut Pace, bool),
        span: Span,
        begin: impl FnOnce() -> Result<(), Fault>,
    ) -> Result<Measured, Fault> {
        let (operations, keeper) = recorder(&RecorderOptions {
            ops: self.ops.clone(),
            responses,
            spikes_max: self.spikes_max,
        });
        let bench = Bench::new(operations, pace.is_open(), self.live.clone());
        let keepers = Keepers::start(self.helper_cpu, || {})?;
        keepers.add(keeper);
        begin()?;
        let mut bench = bench.telling_slow(&self.ops);
        let before = OwnUsage::now();
        let driven = drive(&MonotonicClock, work, pace, &mut bench, span);
        let used = OwnUsage::now().since(&before);
        let keeper = keepers.stop()?.remove(0);
        Ok(measured(driven?, bench, keeper, pace, used))
    }
}

fn measured(
    driven: Driven,
    bench: Bench,
    keeper: IntervalKeeper,
    pace: &Pace,
    used: OwnUsage,
) -> Measured {
    let (lateness, timing_error) = (bench.lateness(), bench.timing_error());
    let tail = bench.into_recorder().finish();
    let merged_seconds = tail.merged_seconds;
    let load = LoadRecord {
        asked_per_s: pace.asked_per_s(),
        achieved_per_s: driven.in_time as f64 * 1e9 / driven.span_ns.max(1) as f64,
        arrivals: driven.arrivals,
        drained: driven.arrivals - driven.in_time,
        missed: driven.missed,
        late_driver: lateness.by_driver,
        late_queue: lateness.by_queue,
        driver_stall_ns_max: lateness.driver_stall_ns_max,
        driver_stall_ns_sum: lateness.driver_stall_ns_sum,
        measured_ns: driven.measured_ns,
        began_ns: driven.began_ns,
        cpu_user_ns: used.user_ns,
        cpu_system_ns: used.system_ns,
        preemptions: used.preemptions,
    };
    let ops = keeper.finish(tail);
    let mut counts = BTreeMap::from([("slot_merges".to_string(), merged_seconds as f64)]);
    if pace.is_open() {
        let mean_ns = timing_error.sum_ns as f64 / driven.arrivals.max(1) as f64;
        counts.insert("timing_error_mean_ns".into(), mean_ns);
        counts.insert("timing_error_max_ns".into(), timing_error.max_ns as f64);
    }
    Measured { ops, load, counts, ..Measured::default() }
}
