//! How much this machine lets us see, found by trying. What cannot be seen is said, with the way to
//! get it.
//!
//! | tier | needs | sees |
//! |---|---|---|
//! | scheduler | root or CAP_PERFMON, tracefs | why a thread slept, both stacks, who had the processor |
//! | switches | nothing | when a thread left and took a processor, and the function it slept in |

use std::time::Duration;

use pickfs_measure::{Clock, MonotonicClock};
use pickfs_model::stall::ProbeTier;
use pickfs_sys::{kernel_symbols::KernelSymbols, proc_root::ProcRoot};

use crate::{
    recorder::Recorder,
    sched::{Names, SchedEvent, What},
    switches::Switches,
};

/// Pages of a ring for each processor: a megabyte holds some 4,000 events.
const RING_PAGES: usize = 256;

/// How often rings are emptied.
const LOOK_EACH: Duration = Duration::from_millis(20);
/// How often threads are looked at where nothing else tells what they sleep in.
const WCHAN_EACH: Duration = Duration::from_millis(3);

/// What events come from.
pub enum Eyes {
    /// Scheduler trace points.
    Scheduler(Box<Recorder>),
    /// Switches and looks.
    Switches(Box<Switches>),
}

impl Eyes {
    /// The best that this machine has. What it does not have is added to `missing`.
    pub fn open(missing: &mut Vec<String>) -> Eyes {
        match tried() {
            Ok(recorder) => Eyes::Scheduler(Box::new(recorder)),
            Err(reason) => {
                missing.push(format!(
                    "stacks, wakers and who had the processor, and what a short wait was for: \
                     {reason}"
                ));
                Eyes::without_privilege()
            }
        }
    }

    /// What needs no privilege.
    pub fn without_privilege() -> Eyes {
        Eyes::Switches(Box::default())
    }

    /// Which tier it is.
    pub fn tier(&self) -> ProbeTier {
        match self {
            Eyes::Scheduler(_) => ProbeTier::Scheduler,
            Eyes::Switches(_) => ProbeTier::Switches,
        }
    }

    /// How often it wants to be drained.
    pub fn look_each(&self) -> Duration {
        match self {
            Eyes::Scheduler(_) => LOOK_EACH,
            Eyes::Switches(_) => WCHAN_EACH,
        }
    }

    /// Names and stacks that events refer to.
    pub fn names(&self) -> &Names {
        match self {
            Eyes::Scheduler(recorder) => &recorder.names,
            Eyes::Switches(switches) => &switches.names,
        }
    }

    /// Names of the kernel's functions; empty where it hides them.
    pub fn symbols(&self, missing: &mut Vec<String>) -> KernelSymbols {
        let symbols = KernelSymbols::read().unwrap_or_default();
        if symbols.is_empty() && self.tier() == ProbeTier::Scheduler {
            let way_out = "names of kernel functions: /proc/kallsyms hides its addresses; needs root \
                           and kernel.kptr_restrict below 2";
            missing.push(way_out.into());
        }
        symbols
    }

    /// From now on events of these threads come: each by the machine's number, and by the one that we
    /// know.
    pub fn follow(&mut self, threads: &[(u32, u32)]) -> Result<(), String> {
        match self {
            Eyes::Scheduler(_) => self.follow_with(threads, None),
            Eyes::Switches(switches) => {
                switches.follow(threads).map_err(|error| format!("switches of threads: {error}"))
            }
        }
    }

    /// The same, and of threads that will be started: those with this number of the machine or a greater
    /// one. Without trace points only those that are given.
    pub fn follow_with(
        &mut self,
        threads: &[(u32, u32)],
        newer_than: Option<u32>,
    ) -> Result<(), String> {
        match self {
            Eyes::Scheduler(recorder) => {
                let ids: Vec<u32> = threads.iter().map(|(id, _)| *id).collect();
                recorder.follow_with(&ids, newer_than).map_err(|error| error.to_string())
            }
            Eyes::Switches(_) => self.follow(threads),
        }
    }

    /// The events up to `until_ns`, in the order of their times.
    pub fn drain(&mut self, until_ns: u64, events: &mut Vec<SchedEvent>) {
        match self {
            Eyes::Scheduler(recorder) => recorder.drain(until_ns, events),
            Eyes::Switches(switches) => {
                switches.drain(MonotonicClock.now_ns(), until_ns, events);
            }
        }
    }
}

/// A recorder that has shown that it sees: our own sleep must arrive under our own number.
fn tried() -> Result<Recorder, String> {
    let mut recorder = Recorder::open(RING_PAGES).map_err(|error| error.to_string())?;
    let own = std::fs::read_link(ProcRoot::host().path().join("thread-self"));
    let own = own.map_err(|error| error.to_string())?;
    let own: u32 = own
        .file_name()
        .and_then(|name| name.to_str()?.parse().ok())
        .ok_or("the number of our own thread is not known")?;
    recorder.follow(&[own]).map_err(|error| error.to_string())?;
    std::thread::sleep(Duration::from_millis(1));
    let mut events = Vec::new();
    recorder.drain(u64::MAX, &mut events);
    recorder.follow(&[]).map_err(|error| error.to_string())?;
    let is_seen =
        |event: &SchedEvent| event.thread == own && matches!(event.what, What::Out { .. });
    match events.iter().any(is_seen) {
        true => Ok(recorder),
        false => Err("the kernel's events name threads by numbers of another pid namespace; run \
                      pickfs outside the container"
            .into()),
    }
}
