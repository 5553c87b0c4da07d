use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use pickfs_record::IntervalKeeper;

use crate::fault::Fault;

const DRAIN_EACH: Duration = Duration::from_millis(200);
/// The thread's name; the kernel shows fifteen characters.
pub const KEEPER: &str = "keeper";

pub(crate) struct Keepers {
    all: Arc<Mutex<Vec<IntervalKeeper>>>,
    stopped: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Keepers {
    /// `begin` is what the thread does first, once it is on its CPU.
    pub(crate) fn start(helper_cpu: Option<u32>, begin: fn()) -> Result<Keepers, Fault> {
        let all: Arc<Mutex<Vec<IntervalKeeper>>> = Arc::default();
        let stopped = Arc::new(AtomicBool::new(false));
        let (drained, told) = (Arc::clone(&all), Arc::clone(&stopped));
        let body = move || {
            let _ = crate::placement::pin(helper_cpu);
            begin();
            while !told.load(Ordering::Acquire) {
                thread::park_timeout(DRAIN_EACH);
                let mut keepers = drained.lock().unwrap_or_else(PoisonError::into_inner);
                keepers.iter_mut().for_each(IntervalKeeper::drain);
            }
        };
        let thread = thread::Builder::new().name(KEEPER.into()).spawn(body);
        let thread = thread.map_err(Fault::io("start a thread for", "the keeper"))?;
        Ok(Keepers { all, stopped, thread: Some(thread) })
    }

    pub(crate) fn add(&self, keeper: IntervalKeeper) -> usize {
        let mut keepers = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.push(keeper);
        keepers.len() - 1
    }

    pub(crate) fn stop(mut self) -> Result<Vec<IntervalKeeper>, Fault> {
        let died = |_| Fault::Failed { reason: "the keeper thread died".into() };
        self.end_thread().map_err(died)?;
        Ok(std::mem::take(&mut *self.all.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn end_thread(&mut self) -> thread::Result<()> {
        self.stopped.store(true, Ordering::Release);
        self.thread.take().map_or(Ok(()), |thread| {
            thread.thread().unpark();
            thread.join()
        })
    }
}

impl Drop for Keepers {
    fn drop(&mut self) {
        let _ = self.end_thread();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pickfs_sys::own_descriptors::leave_shared_table;

    use super::*;

    fn descriptors() -> Vec<usize> {
        let tasks = fs::read_dir("/proc/self/task").unwrap().flatten().map(|task| task.path());
        let keepers = tasks.filter(|task| {
            fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim_end() == KEEPER)
        });
        keepers.flat_map(|task| fs::read_dir(task.join("fd"))).map(Iterator::count).collect()
    }

    #[test]
    fn a_keeper_does_not_share_the_descriptors_of_those_who_measure() {
        if !thread::spawn(leave_shared_table).join().unwrap() {
            println!("SKIPPED: this kernel has no CLOSE_RANGE_UNSHARE");
            return;
        }
        let _file = tempfile::tempfile().unwrap();
        let keepers = Keepers::start(None, || _ = leave_shared_table()).unwrap();
        let is_apart = || {
            let seen = descriptors();
            !seen.is_empty() && seen.iter().all(|count| *count <= 3)
        };
        pickfs_testkit::until("keepers with descriptors of their own", || is_apart().then_some(()));
        drop(keepers);
    }
}
