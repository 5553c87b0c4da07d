//! How much a crash takes where nobody syncs: not "not durable" but so many seconds.

use serde::Serialize;

use super::state::{Kept, State, StateError};
use crate::check::Found;
use crate::log::Remains;
use crate::model::Windows;
use crate::oracle::Due;

pub const INSTANTS: usize = 61;

/// From the first lost record to the last one before the crash, over instants of the recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Exposure {
    pub median_ns: u64,
    pub worst_ns: u64,
}

/// Instants lie evenly between the records, of which each has its time. At each the disk loses all that it may.
pub fn exposure<E: From<StateError>>(
    windows: &Windows<'_>,
    due: &Due,
    times_ns: &[u64],
    look: &mut dyn FnMut(&State, &Remains) -> Result<Found, E>,
) -> Result<Exposure, E> {
    let mut lags = Vec::new();
    for instant in 1..=INSTANTS {
        let last = (times_ns.len() - 1) * instant / INSTANTS;
        let state = State::new(windows.crash(), due.0[last], Kept::Nothing);
        let survived = look(&state, &state.remains(windows)?)?.survived as usize;
        let first = times_ns.get(survived);
        lags.push(first.map_or(0, |first| times_ns[last].saturating_sub(*first)));
    }
    lags.sort_unstable();
    Ok(Exposure { median_ns: lags[INSTANTS / 2], worst_ns: lags[INSTANTS - 1] })
}
