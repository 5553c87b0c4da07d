//! How much this machine lets us see, found by trying. What cannot be seen is said, with the way to
//! get it.
//!
//! | tier | needs | sees |
//! |---|---|---|
//! | scheduler | root or CAP_PERFMON, tracefs | why a thread slept, both stacks, who had the processor |
//! | switches | nothing | when a thread left and took a processor, and the function it slept in |

use std::time::Duration;

use pickfs_model::stall::ProbeTier;
use pickfs_sys::{kernel_symbols::KernelSymbols, proc_root::ProcRoot};

use crate::{
    recorder::Recorder,
    sched::{Names, SchedEvent, What},
};

/// Pages of a ring for each processor: a megabyte holds some 4,000 events.
const RING_PAGES: usize = 256;

/// What events come from.
pub struct Eyes {
    recorder: Option<Recorder>,
    none: Names,
}

impl Eyes {
    /// The best that this machine has. What it does not have is added to `missing`.
    pub fn open(missing: &mut Vec<String>) -> Eyes {
        let recorder = match tried() {
            Ok(recorder) => Some(recorder),
            Err(reason) => {
                missing.push(format!("causes, wakers and who had the processor: {reason}"));
                None
            }
        };
        Eyes { recorder, none: Names::default() }
    }

    /// Which tier it is.
    pub fn tier(&self) -> ProbeTier {
        match self.recorder {
            Some(_) => ProbeTier::Scheduler,
            None => ProbeTier::Switches,
        }
    }

    /// Names and stacks that events refer to.
    pub fn names(&self) -> &Names {
        self.recorder.as_ref().map_or(&self.none, |recorder| &recorder.names)
    }

    /// Names of the kernel's functions; empty where it hides them.
    pub fn symbols(&self, missing: &mut Vec<String>) -> KernelSymbols {
        let symbols = KernelSymbols::read().unwrap_or_default();
        if symbols.is_empty() {
            let way_out = "names of kernel functions: /proc/kallsyms hides its addresses; needs root \
                           and kernel.kptr_restrict below 2";
            missing.push(way_out.into());
        }
        symbols
    }

    /// From now on events of these threads come, by the machine's numbers and by ours.
    pub fn follow(&mut self, ids: &[u32], _own_ids: &[u32]) -> Result<(), String> {
        match &mut self.recorder {
            Some(recorder) => recorder.follow(ids).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    /// The events up to `until_ns`, in the order of their times.
    pub fn drain(&mut self, until_ns: u64, events: &mut Vec<SchedEvent>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.drain(until_ns, events);
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
