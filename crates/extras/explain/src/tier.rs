//! How much this machine lets us see, found by trying. What cannot be seen is said, with the way to
//! get it.
//!
//! | tier | needs | sees |
//! |---|---|---|
//! | scheduler | root or CAP_PERFMON, tracefs | why a thread slept, both stacks, who had the processor, samples |
//! | switches | nothing | when a thread left and took a processor, the function it slept in, its run delay |

use std::time::Duration;

use crate::kernel::kernel_symbols::KernelSymbols;
use pickfs_record::stall::ProbeTier;
use pickfs_record::{Clock, MonotonicClock};
use pickfs_sys::proc_root::ProcRoot;

use crate::{
    own_records::OwnRecords,
    recorder::Recorder,
    sched::{Names, SchedEvent, What},
    switches::Switches,
};

const LOOK_EACH: Duration = Duration::from_millis(20);
const WCHAN_EACH: Duration = Duration::from_millis(3);

const NEEDS: &str = "they need root or CAP_PERFMON";

pub enum Eyes {
    Scheduler(Box<Recorder>, OwnRecords),
    Switches(Box<Switches>),
}

impl Eyes {
    /// Samples of so many a second where that is asked for. What this machine does not have is
    /// added to `missing`.
    pub fn open(samples_hz: Option<u32>, missing: &mut Vec<String>) -> Eyes {
        match tried() {
            Ok(recorder) => Eyes::Scheduler(Box::new(recorder), OwnRecords::new(samples_hz)),
            Err(reason) => {
                missing.push(format!(
                    "stacks, wakers and who had the processor, and what a short wait was for: \
                     {reason}"
                ));
                if samples_hz.is_some() {
                    missing.push(format!("samples of where threads are on a processor: {NEEDS}"));
                }
                Eyes::without_privilege()
            }
        }
    }

    pub fn without_privilege() -> Eyes {
        Eyes::Switches(Box::default())
    }

    pub fn tier(&self) -> ProbeTier {
        match self {
            Eyes::Scheduler(..) => ProbeTier::Scheduler,
            Eyes::Switches(_) => ProbeTier::Switches,
        }
    }

    pub fn look_each(&self) -> Duration {
        match self {
            Eyes::Scheduler(..) => LOOK_EACH,
            Eyes::Switches(_) => WCHAN_EACH,
        }
    }

    pub fn names(&self) -> &Names {
        match self {
            Eyes::Scheduler(recorder, _) => &recorder.names,
            Eyes::Switches(switches) => &switches.names,
        }
    }

    pub fn names_mut(&mut self) -> &mut Names {
        match self {
            Eyes::Scheduler(recorder, _) => &mut recorder.names,
            Eyes::Switches(switches) => &mut switches.names,
        }
    }

    pub fn channels(&self) -> Vec<String> {
        match self {
            Eyes::Scheduler(_, own) => {
                let mut read = vec!["switches and wakings of threads with kernel stacks".into()];
                read.extend(
                    own.samples_hz.map(|hz| format!("{hz} samples a second on a processor")),
                );
                read
            }
            Eyes::Switches(switches) if switches.refused.is_some() => {
                vec![format!(
                    "the function that threads sleep in, every {} ms",
                    WCHAN_EACH.as_millis()
                )]
            }
            Eyes::Switches(_) => vec![
                "switches of threads".into(),
                "their delays by schedstat".into(),
                format!("the function that they sleep in, every {} ms", WCHAN_EACH.as_millis()),
            ],
        }
    }

    /// With the way to get it.
    pub fn missing(&self) -> Option<String> {
        match self {
            Eyes::Scheduler(_, own) => own.missing(),
            Eyes::Switches(switches) => {
                let refused = switches.refused.as_ref()?;
                let each = WCHAN_EACH.as_millis();
                Some(format!(
                    "sleeps of less than some {each} ms, and moments more exact than that: {refused}"
                ))
            }
        }
    }

    /// How long the threads waited for a processor in all, by the scheduler's own sums; 0 where they
    /// are not read.
    pub fn run_delay_ns(&self) -> u64 {
        match self {
            Eyes::Scheduler(..) => 0,
            Eyes::Switches(switches) => switches.run_delay_ns(),
        }
    }

    /// Empty where the kernel hides them.
    pub fn symbols(&self, missing: &mut Vec<String>) -> KernelSymbols {
        let symbols = KernelSymbols::read().unwrap_or_default();
        if symbols.is_empty() && self.tier() == ProbeTier::Scheduler {
            let way_out = "names of kernel functions: /proc/kallsyms hides its addresses; needs root \
                           and kernel.kptr_restrict below 2";
            missing.push(way_out.into());
        }
        symbols
    }

    /// By the machine's number, and by the one that we know.
    pub fn follow(&mut self, threads: &[(u32, u32)]) -> Result<(), String> {
        match self {
            Eyes::Scheduler(_, own) => {
                own.follow(threads);
                self.follow_with(threads, None)
            }
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
            Eyes::Scheduler(recorder, _) => {
                let ids: Vec<u32> = threads.iter().map(|(id, _)| *id).collect();
                recorder.follow_with(&ids, newer_than).map_err(|error| error.to_string())
            }
            Eyes::Switches(_) => self.follow(threads),
        }
    }

    /// Up to `until_ns`, in the order of their times.
    pub fn drain(&mut self, until_ns: u64, events: &mut Vec<SchedEvent>) {
        match self {
            Eyes::Scheduler(recorder, own) => {
                recorder.drain(until_ns, events);
                own.drain(until_ns, &mut recorder.names, events);
                events.sort_by_key(|event| event.time_ns);
            }
            Eyes::Switches(switches) => {
                switches.drain(MonotonicClock.now_ns(), until_ns, events);
            }
        }
    }
}

/// A recorder that has shown that it sees: our own sleep must arrive under our own number.
fn tried() -> Result<Recorder, String> {
    let mut recorder = Recorder::open().map_err(|error| error.to_string())?;
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
