//! Ctrl-C, SIGTERM and SIGHUP as a flag that the run looks at between and within trials.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use pickfs_model::{Outcome, TrialRecord};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Why a trial failed that somebody asked to end.
pub const INTERRUPTED: &str = "interrupted";

/// The exit code of a program that a second signal ended at once.
const ENDED_BY_SIGNAL: i32 = 130;

/// Whether a trial was cut short by a request to stop: it says nothing about its candidate, and its
/// block is not complete.
pub fn is_interrupted(trial: &TrialRecord) -> bool {
    matches!(&trial.outcome, Outcome::Failed { reason } if reason == INTERRUPTED)
}

/// Whether somebody asked the run to end.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that the three signals raise from now on. A second signal ends the program at once:
    /// what takes long before the first trial (a device is filled) does not look at the flag.
    pub fn on_signals() -> std::io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first signal finds the flag down and raises it.
            let flag = || Arc::clone(&interrupt.0);
            signal_hook::flag::register_conditional_shutdown(signal, ENDED_BY_SIGNAL, flag())?;
            signal_hook::flag::register(signal, flag())?;
        }
        Ok(interrupt)
    }

    /// Raises the flag.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is raised.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
