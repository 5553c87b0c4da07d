//! Source: signal(7). The first of SIGTERM, SIGINT and SIGHUP raises a flag; the next one ends the
//! process as if nobody listened. One that was ignored when the process began stays ignored.

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use pickfs_sys::signal_wait::is_ignored;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use pickfs_record::INTERRUPTED;

use crate::fault::Fault;

static RAISED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

pub(super) fn listen() -> Result<(), Fault> {
    if RAISED.get().is_some() {
        return Ok(());
    }
    let raised = RAISED.get_or_init(Arc::default);
    register(raised).map_err(Fault::io("listen to signals in", "/proc/self"))
}

fn register(raised: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [SIGTERM, SIGINT, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)) {
        // First the action that looks at the flag, then the one that raises it.
        flag::register_conditional_default(signal, Arc::clone(raised))?;
        flag::register(signal, Arc::clone(raised))?;
    }
    Ok(())
}

#[inline]
pub(super) fn check() -> Result<(), Fault> {
    if RAISED.get().is_some_and(|raised| raised.load(Relaxed)) {
        return Err(Fault::Failed { reason: INTERRUPTED.into() });
    }
    Ok(())
}
