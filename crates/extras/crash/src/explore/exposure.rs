//! How much a crash takes where nobody syncs: not "not durable" but so many seconds.

use serde::Serialize;

use super::state::{Kept, State, StateError};
use crate::check::Found;
use crate::log::{Position, Remains};
use crate::model::Windows;
use crate::oracle::Due;

/// From the first lost record to the crash, over instants of the recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Exposure {
    pub instants: u64,
    pub median_ns: u64,
    pub worst_ns: u64,
}

/// Instants lie evenly between the first acknowledgement and the last one. At each the disk loses all that it may. `None`
/// where a recording has no times.
pub fn exposure<E>(
    windows: &Windows<'_>,
    due: &Due,
    instants: u64,
    look: &mut dyn FnMut(&Remains) -> Result<Found, E>,
) -> Result<Option<Exposure>, E>
where
    E: From<StateError>,
{
    let entries = &windows.log().entries;
    let (first, last) = (due.0.first(), due.0.last());
    let [first_ns, last_ns] = [first, last].map(|one| one.map_or(0, |one| one.at_ns));
    if first_ns == 0 || last_ns <= first_ns || instants == 0 {
        return Ok(None);
    }
    let mut lags = Vec::new();
    for instant in 1..=instants {
        let at_ns = first_ns + (last_ns - first_ns) / instants * instant;
        let at = entries.partition_point(|entry| entry.at_ns <= at_ns);
        let at = Position(at.max(windows.start().0));
        let remains = State::new(windows.crash(), at, Kept::Nothing).remains(windows)?;
        let survived = look(&remains)?.survived;
        let lost = due.0.get(survived as usize).filter(|_| survived < due.until(at_ns));
        lags.push(lost.map_or(0, |first| at_ns - first.at_ns));
    }
    lags.sort_unstable();
    let (median_ns, worst_ns) = (lags[lags.len() / 2], lags[lags.len() - 1]);
    Ok(Some(Exposure { instants, median_ns, worst_ns }))
}
