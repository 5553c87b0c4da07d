//! A journal that this workload wrote earlier, as a recording: its payloads begin with their time.

use std::{ops::ControlFlow, path::Path};

use pickfs_journal::replay;

use crate::{fault::Fault, journal::content::time_ns, recording::Recording};

pub(crate) fn recording(directory: &Path) -> Result<Recording, Fault> {
    let mut messages = Vec::new();
    let mut is_timed = true;
    replay(directory, 1, |record| {
        match time_ns(record.payload) {
            Some(time_ns) => messages.push((time_ns, record.payload.len() as u32)),
            None => is_timed = false,
        }
        if is_timed { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let failed = |what: String| Fault::Failed {
        reason: format!("recording {}: {what}", directory.display()),
    };
    if !is_timed {
        let what = "a record is too short to begin with its time (8 bytes, nanoseconds)";
        return Err(failed(what.into()));
    }
    Recording::from_messages(messages).map_err(failed)
}
