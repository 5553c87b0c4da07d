use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use pickfs_sys::signal_wait::is_ignored;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

/// The exit code of a program that somebody asked twice to end.
const ENDED_BY_SIGNAL: i32 = 130;
/// Signals within this time are one request: timeout(1) sends one to the program and one to its
/// group.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// The signals that end a run: under nohup(1) a hang-up does not, nor does the Ctrl-C of a terminal
/// for what a shell started in its background.
fn heeded() -> Vec<i32> {
    let may_end_us = |signal: &i32| *signal == SIGTERM || !is_ignored(*signal);
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(may_end_us).collect()
}

#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that the three signals raise from now on, but not one that was ignored when the program
    /// began. Asked a second time, the program ends at once: what takes long before the first trial
    /// (a device is filled) does not look at the flag.
    pub fn on_signals() -> std::io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let raised = interrupt.clone();
        let mut signals = Signals::new(heeded())?;
        let body = move || {
            let mut first: Option<Instant> = None;
            for _ in signals.forever() {
                raised.raise();
                if first.get_or_insert_with(Instant::now).elapsed() > ONE_REQUEST {
                    std::process::exit(ENDED_BY_SIGNAL);
                }
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(body)?;
        Ok(interrupt)
    }

    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
