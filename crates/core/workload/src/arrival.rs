use std::path::Path;

use pickfs_record::Arrival;

use crate::{
    fault::Fault,
    param::{Check, Literal, Param, ParamError, Resolved},
    recording::Recording,
};

pub const ARRIVAL: Param = Param {
    name: "arrival",
    doc: "when turns come: evenly, at random with the same mean, in bursts, as recorded, or each \
          after the one before",
    default: Literal::Text("fixed"),
    check: Check::Words(|| vec!["fixed", "poisson", "bursts", "recorded", "closed"]),
};

pub const RATE: Param = Param {
    name: "rate",
    doc: "turns per second (outside bursts); not used by recorded and closed",
    default: Literal::Integer(1000),
    check: Check::Rate,
};

pub const BURST_FACTOR: Param = Param {
    name: "burst_factor",
    doc: "rate within a burst, as a multiple of the rate outside",
    default: Literal::Number(4.0),
    check: Check::Number(1.0, 1e6),
};

pub const BURST_PERIOD: Param = Param {
    name: "burst_period",
    doc: "from the start of a burst to the start of the next",
    default: Literal::Text("1s"),
    check: Check::Duration(3_600_000_000_000),
};

pub const BURST_LENGTH: Param = Param {
    name: "burst_length",
    doc: "how long a burst lasts, shorter than the period",
    default: Literal::Text("250ms"),
    check: Check::Duration(3_600_000_000_000),
};

pub const RECORDING: Param = Param {
    name: "recording",
    doc: "what arrival or size recorded replays: a CSV of time and bytes, a pcap, or the directory \
          of a journal written by this program",
    default: Literal::Text(""),
    check: Check::Text,
};

pub const SPEED: Param = Param {
    name: "speed",
    doc: "how many times faster than recorded",
    default: Literal::Number(1.0),
    check: Check::Number(1e-6, 1e6),
};

pub const PAUSE: Param = Param {
    name: "pause",
    doc: "closed arrival: from the end of a turn to the start of the next",
    default: Literal::Text("50us"),
    check: Check::Duration(60_000_000_000),
};

pub const WAIT: Param = Param {
    name: "wait",
    doc: "how the time to the next turn passes: asleep until just before it, or spinning throughout",
    default: Literal::Text("sleep"),
    check: Check::Words(|| vec!["sleep", "spin"]),
};

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
