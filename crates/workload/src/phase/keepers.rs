//! The thread that empties the recorders of a phase while it runs.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use pickfs_measure::IntervalKeeper;

use crate::fault::Fault;

/// How often full seconds are taken from the measuring threads.
const DRAIN_EACH: Duration = Duration::from_millis(200);

/// Keepers of all recorders of a phase, by their number.
pub(crate) struct Keepers {
    all: Arc<Mutex<Vec<IntervalKeeper>>>,
    stopped: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Keepers {
    pub(crate) fn start(helper_cpu: Option<u32>) -> Result<Keepers, Fault> {
        let all: Arc<Mutex<Vec<IntervalKeeper>>> = Arc::default();
        let stopped = Arc::new(AtomicBool::new(false));
        let (drained, told) = (Arc::clone(&all), Arc::clone(&stopped));
        let body = move || {
            let _ = crate::placement::pin(helper_cpu);
            while !told.load(Ordering::Acquire) {
                thread::park_timeout(DRAIN_EACH);
                let mut keepers = drained.lock().unwrap_or_else(PoisonError::into_inner);
                keepers.iter_mut().for_each(IntervalKeeper::drain);
            }
        };
        let thread = thread::Builder::new().name("keeper".into()).spawn(body);
        let thread = thread.map_err(Fault::io("start a thread for", "the keeper"))?;
        Ok(Keepers { all, stopped, thread: Some(thread) })
    }

    /// One keeper more; gives its number.
    pub(crate) fn add(&self, keeper: IntervalKeeper) -> usize {
        let mut keepers = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.push(keeper);
        keepers.len() - 1
    }

    /// Ends the thread and gives the keepers back, in their order.
    pub(crate) fn stop(mut self) -> Vec<IntervalKeeper> {
        self.end_thread();
        std::mem::take(&mut *self.all.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn end_thread(&mut self) {
        self.stopped.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Drop for Keepers {
    fn drop(&mut self) {
        self.end_thread();
    }
}
