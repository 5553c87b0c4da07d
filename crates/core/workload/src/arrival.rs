use std::path::Path;

use pickfs_record::Arrival;

use crate::{
    fault::Fault,
    param::{Param, ParamError, Resolved},
    recording::Recording,
};

pub const ARRIVAL: Param = param! { "arrival" = Text("fixed"),
Words(|| vec!["fixed", "poisson", "bursts", "recorded", "closed"]);
"when turns come: evenly, at random with the same mean, in bursts, as recorded, or each \
 after the one before" };

pub const RATE: Param = param! { "rate" = Integer(1000), Rate;
"turns per second (outside bursts); not used by recorded and closed" };

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
"closed arrival: from the end of a turn to the start of the next" };

pub const WAIT: Param = param! { "wait" = Text("sleep"), Words(|| vec!["sleep", "spin"]);
"how the time to the next turn passes: asleep until just before it, or spinning throughout" };

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

pub fn arrival(params: &Resolved, recording: Option<&Recording>) -> Arrival {
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

pub fn spin_below_ns(params: &Resolved) -> u64 {
    if params.text("wait") == "spin" { u64::MAX } else { 0 }
}
