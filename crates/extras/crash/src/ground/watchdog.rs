//! Who waits in a mount for a disk that does not answer cannot be asked to stop: the disk is taken away then.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant},
};

use super::recorder::Breaker;

#[derive(Debug)]
pub(super) struct Watchdog {
    due: Sender<Option<Instant>>,
    has_bitten: Arc<AtomicBool>,
}

impl Watchdog {
    pub(super) fn over(breaker: Breaker) -> Self {
        let (due, heard) = channel();
        let has_bitten = Arc::new(AtomicBool::new(false));
        let bites = Arc::clone(&has_bitten);
        std::thread::spawn(move || watch(&heard, &bites, &breaker));
        Self { due, has_bitten }
    }

    /// From now on it waits so long. One that has bitten does not hear it.
    pub(super) fn arm(&self, limit: Duration) {
        let _ = self.due.send(Some(Instant::now() + limit));
    }

    /// Whether the disk is there still.
    pub(super) fn disarm(&self) -> bool {
        let _ = self.due.send(None);
        !self.has_bitten.load(SeqCst)
    }
}

/// Ends with the watchdog.
fn watch(heard: &Receiver<Option<Instant>>, bites: &AtomicBool, breaker: &Breaker) {
    let mut due: Option<Instant> = None;
    loop {
        let next = match due {
            Some(at) => heard.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(next) => due = next,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                bites.store(true, SeqCst);
                return breaker.free();
            }
        }
    }
}
