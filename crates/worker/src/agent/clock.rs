//! The clock of a guest: the TSC where it is a clock, as the kernel's own is a slow call there.
//! All lanes read the same line, which the agent hands to them.

use std::{process::Command, time::Duration};

use pickfs_measure::{Clock, CounterLine, MonotonicClock};
use pickfs_sys::tsc;

const VARIABLE: &str = "PICKFS_GUEST_CLOCK";
/// How long the rate is measured where the host's is of no use.
const LENGTH: Duration = Duration::from_millis(500);
/// The guest's own short reading of the rate may differ from the host's by this share.
const TRUST: f64 = 0.01;

/// A point of the line and its slope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counter {
    at_count: u64,
    at_ns: u64,
    /// Counts per second.
    pub rate_hz: f64,
}

/// The TSC as a clock; `None` where it is none, and the kernel's clock is used.
pub fn choose(host_hz: Option<f64>) -> Option<Counter> {
    let rate_hz = match host_hz {
        Some(host_hz) => {
            let own_hz = tsc::rate_hz(LENGTH / 5);
            Some(host_hz).filter(|_| (own_hz / host_hz - 1.0).abs() < TRUST)?
        }
        None if tsc::is_a_clock() => tsc::rate_hz(LENGTH),
        None => return None,
    };
    let (at_count, at_ns) = (tsc::read(), MonotonicClock.now_ns());
    Some(Counter { at_count, at_ns, rate_hz })
}

impl Counter {
    /// Lets a lane read the same line.
    pub fn hand_to(self, command: &mut Command) {
        let Counter { at_count, at_ns, rate_hz } = self;
        command.env(VARIABLE, format!("{at_count} {at_ns} {rate_hz}"));
    }
}

/// What a lane does first: take the clock that the agent chose, if it chose one.
pub fn take_clock() {
    let text = std::env::var(VARIABLE).unwrap_or_default();
    let words: Vec<&str> = text.split(' ').collect();
    let [at_count, at_ns, rate_hz] = words.as_slice() else { return };
    if let (Ok(at_count), Ok(at_ns), Ok(rate_hz)) =
        (at_count.parse(), at_ns.parse(), rate_hz.parse())
    {
        CounterLine { read: tsc::read, at_count, at_ns, rate_hz }.set();
    }
}
