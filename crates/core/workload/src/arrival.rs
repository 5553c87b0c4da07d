use std::path::Path;

use pickfs_record::Arrival;

use crate::{
    drive::{Pace, Span},
    fault::Fault,
    measurement::Measured,
    null::without_io,
    param::{Param, ParamError, Resolved},
    recording::Recording,
    workload::Session,
};

pub const ARRIVAL: Param = param! { "arrival" = Text("fixed"),
Words(|| vec!["fixed", "poisson", "bursts", "recorded", "closed"]);
"when operations are due: evenly, at random with the same mean, in bursts, as recorded, or each \
 after the one before" };

pub const RATE: Param = param! { "rate" = Integer(1000), Rate;
"operations per second (outside bursts); not used by recorded and closed" };

pub const BURST_FACTOR: Param = param! { "burst_factor" = Number(4.0), Number(1.0, 1e6);
"rate within a burst, as a multiple of the rate outside" };

pub const BURST_PERIOD: Param = param! { "burst_period" = Text("1s"), Duration(3_600_000_000_000);
"from the start of a burst to the start of the next" };

pub const BURST_LENGTH: Param = param! { "burst_length" = Text("250ms"),
Duration(3_600_000_000_000);
"how long a burst lasts, shorter than the period" };

pub const RECORDING: Param = param! { "recording" = Text(""), Text;
"what arrival or size recorded replays: a CSV of time and bytes, a pcap, or the directory of \
a journal written by this program" };

pub const SPEED: Param = param! { "speed" = Number(1.0), Number(1e-6, 1e6);
"how many times faster than recorded" };

pub const PAUSE: Param = param! { "pause" = Text("50us"), Duration(60_000_000_000);
"closed arrival: from the end of an operation to the start of the next" };

pub const WAIT: Param = param! { "wait" = Text("sleep"), Words(|| vec!["sleep", "spin"]);
"how the time to the next operation passes: asleep until just before it, or spinning throughout" };

pub fn check(params: &Resolved) -> Result<(), ParamError> {
    let recorded = ["arrival", "size"].iter().any(|name| params.text(name) == "recorded");
    if recorded && params.text("recording").is_empty() {
        return Err(params.together("recording", "recorded needs a file; give its path"));
    }
    let is_burst = params.text("arrival") == "bursts";
    if is_burst && params.integer("burst_length") >= params.integer("burst_period") {
        return Err(params.together("burst_length", "must be shorter than burst_period"));
    }
    Ok(())
}

pub fn recording(params: &Resolved) -> Result<Option<Recording>, Fault> {
    match params.text("recording") {
        "" => Ok(None),
        path => Recording::read(Path::new(path)).map(Some),
    }
}

fn arrival(params: &Resolved, recording: Option<&Recording>) -> Arrival {
    let rate_per_s = params.number("rate");
    match params.text("arrival") {
        "poisson" => Arrival::Poisson { rate_per_s },
        "bursts" => Arrival::Bursts {
            rate_per_s,
            factor: params.number("burst_factor"),
            period_ns: params.integer("burst_period"),
            burst_ns: params.integer("burst_length"),
        },
        "recorded" => Arrival::Recorded {
            offsets_ns: recording.map(|r| r.offsets_ns.clone()).unwrap_or_default(),
            speed: params.number("speed"),
        },
        "closed" => Arrival::Closed { pause_ns: params.integer("pause") },
        _ => Arrival::Fixed { rate_per_s },
    }
}

/// A warm-up that does not reach its bytes ends this long after twice its shortest length.
const WARM_UP_GRACE_NS: u64 = 60_000_000_000;

/// When the arrivals of a trial come, and what clock and machine add to each of them.
pub struct Schedule {
    arrival: Arrival,
    spin_below_ns: u64,
    no_io: Vec<(&'static str, f64)>,
}

impl Schedule {
    /// By the parameters of this module.
    pub fn of(params: &Resolved, recording: Option<&Recording>) -> Schedule {
        let spin_below_ns = if params.text("wait") == "spin" { u64::MAX } else { 0 };
        Schedule::new(arrival(params, recording), spin_below_ns)
    }

    pub fn new(arrival: Arrival, spin_below_ns: u64) -> Schedule {
        Schedule { arrival, spin_below_ns, no_io: Vec::new() }
    }

    pub fn pace(&self, session: &Session, is_warm_up: bool) -> Pace {
        let seed = session.spec.seed ^ u64::from(is_warm_up);
        Pace::new(self.arrival.clone(), seed, self.spin_below_ns)
    }

    /// Measures the loop with nothing to do; gives the span of the warm-up.
    pub fn warm_up(&mut self, session: &Session) -> Result<Span, Fault> {
        self.no_io = without_io(session, self.pace(session, true))?;
        let length_ns = session.spec.warmup_ns;
        let length_ns_max = 2 * length_ns + WARM_UP_GRACE_NS;
        Ok(Span { length_ns, bytes: session.spec.warmup_bytes, length_ns_max, drain_ns: 0 })
    }

    pub fn count(&self, counts: &[(&str, u64)], measured: &mut Measured) {
        let counts = counts.iter().map(|(name, count)| (*name, *count as f64));
        let all = counts.chain(self.no_io.iter().copied());
        measured.counts.extend(all.map(|(name, value)| (name.to_string(), value)));
    }
}

/// A cell off its rate by more than one in a hundred says so, and one that sends as many late.
pub fn doubt(measured: &Measured, what: &str, late_share: f64) -> Option<String> {
    let asked_per_s = measured.load.asked_per_s?;
    let achieved_per_s = measured.load.achieved_per_s;
    if achieved_per_s < 0.99 * asked_per_s {
        return Some(format!("off its rate: {achieved_per_s:.0} of {asked_per_s:.0} a second"));
    }
    let percent = 100.0 * late_share;
    (late_share > 0.01)
        .then(|| format!("{percent:.1} % of the {what} were sent over 1 us after they were due"))
}
