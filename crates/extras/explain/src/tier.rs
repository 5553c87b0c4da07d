//! How much this machine lets us see, found by trying. What cannot be seen is said, with the way to
//! get it.
//!
//! | tier | needs | sees |
//! |---|---|---|
//! | scheduler | root or CAP_PERFMON, tracefs | why a thread slept, both stacks, who had the processor, samples |
//! | switches | nothing | when a thread left and took a processor, the function it slept in, its run delay |

use std::time::Duration;

use crate::kernel::kernel_symbols::KernelSymbols;
use pickfs_record::{Clock, ExplainAlso, MonotonicClock, stall::ProbeTier};
use pickfs_sys::proc_root::ProcRoot;

use crate::{
    context::ContextRecorder,
    own_records::OwnRecords,
    recorder::Recorder,
    sched::{Names, SchedEvent, What},
    switches::Switches,
};

const LOOK_EACH: Duration = Duration::from_millis(20);
const WCHAN_EACH: Duration = Duration::from_millis(3);

const MISSING_MAX: usize = 12;
const NEEDS: &str = "they need root or CAP_PERFMON";

pub struct Eyes {
    pub names: Names,
    sight: Sight,
    context: Option<Box<ContextRecorder>>,
    missing: Vec<String>,
}

enum Sight {
    Scheduler(Box<Recorder>, OwnRecords),
    Switches(Box<Switches>),
}

impl Eyes {
    pub fn open(also: &ExplainAlso) -> Eyes {
        let mut eyes = match tried() {
            Ok(recorder) => {
                let own = OwnRecords::new(also.samples_hz);
                let sight = Sight::Scheduler(Box::new(recorder), own);
                Eyes { names: Names::default(), sight, context: None, missing: Vec::new() }
            }
            Err(reason) => Eyes::without_privilege(format!(
                "stacks, wakers and who had the processor, and what a short wait was for: {reason}"
            )),
        };
        if also.samples_hz.is_some() && eyes.tier() == ProbeTier::Switches {
            eyes.miss(format!("samples of where threads are on a processor: {NEEDS}"));
        }
        if also.context {
            match ContextRecorder::open() {
                Ok(recorder) => eyes.context = Some(Box::new(recorder)),
                Err(error) => {
                    eyes.miss(format!("commits, write-back and requests of devices: {error}"));
                }
            }
        }
        eyes
    }

    pub fn without_privilege(missing: String) -> Eyes {
        let sight = Sight::Switches(Box::default());
        Eyes { names: Names::default(), sight, context: None, missing: vec![missing] }
    }

    /// What cannot be seen, with the way to get it.
    pub fn miss(&mut self, what: String) {
        if !self.missing.contains(&what) && self.missing.len() < MISSING_MAX {
            self.missing.push(what);
        }
    }

    pub fn tier(&self) -> ProbeTier {
        match &self.sight {
            Sight::Scheduler(..) => ProbeTier::Scheduler,
            Sight::Switches(_) => ProbeTier::Switches,
        }
    }

    pub fn look_each(&self) -> Duration {
        match &self.sight {
            Sight::Scheduler(..) => LOOK_EACH,
            Sight::Switches(_) => WCHAN_EACH,
        }
    }

    /// What was read, and what could not be seen.
    pub fn told(mut self) -> (Vec<String>, Vec<String>) {
        let each = WCHAN_EACH.as_millis();
        let asleep_in = |who: &str| format!("the function that {who} sleep in, every {each} ms");
        let (mut read, missing) = match &self.sight {
            Sight::Scheduler(_, own) => {
                let samples = |hz| format!("{hz} samples a second on a processor");
                let switches = "switches and wakings of threads with kernel stacks".to_owned();
                let read = [switches].into_iter().chain(own.samples_hz.map(samples));
                (read.collect(), own.missing())
            }
            Sight::Switches(switches) => match &switches.refused {
                Some(refused) => {
                    let missing = format!(
                        "sleeps of less than some {each} ms, and moments more exact than that: \
                         {refused}"
                    );
                    (vec![asleep_in("threads")], Some(missing))
                }
                None => {
                    let delays = "their delays by schedstat".into();
                    (vec!["switches of threads".into(), delays, asleep_in("they")], None)
                }
            },
        };
        if let Some(context) = &self.context {
            read.push(format!("context of {}", context.groups.join(", ")));
        }
        self.missing.extend(missing);
        (read, self.missing)
    }

    /// How long the threads waited for a processor in all, by the scheduler's own sums; 0 where they
    /// are not read.
    pub fn run_delay_ns(&self) -> u64 {
        match &self.sight {
            Sight::Scheduler(..) => 0,
            Sight::Switches(switches) => switches.run_delay_ns(),
        }
    }

    /// Empty where the kernel hides them.
    pub fn symbols(&mut self) -> KernelSymbols {
        let symbols = KernelSymbols::read().unwrap_or_default();
        if symbols.is_empty() && self.tier() == ProbeTier::Scheduler {
            let way_out = "names of kernel functions: /proc/kallsyms hides its addresses; needs root \
                           and kernel.kptr_restrict below 2";
            self.miss(way_out.into());
        }
        symbols
    }

    /// By the machine's number, and by the one that we know; and with trace points those that will be
    /// started: with the number `newer_than` of the machine or a greater one.
    pub fn follow(
        &mut self,
        threads: &[(u32, u32)],
        newer_than: Option<u32>,
    ) -> Result<(), String> {
        match &mut self.sight {
            Sight::Scheduler(recorder, own) => {
                // Whoever follows threads before they start has records of their own from elsewhere.
                if newer_than.is_none() {
                    own.follow(threads);
                }
                let ids: Vec<u32> = threads.iter().map(|(id, _)| *id).collect();
                recorder.follow(&ids, newer_than).map_err(|error| error.to_string())
            }
            Sight::Switches(switches) => {
                switches.follow(threads).map_err(|error| format!("switches of threads: {error}"))
            }
        }
    }

    /// Of the whole machine, where that is read.
    pub fn context(&mut self) -> Option<&mut ContextRecorder> {
        self.context.as_deref_mut()
    }

    /// Up to `until_ns`, in no order.
    pub fn drain(&mut self, until_ns: u64, events: &mut Vec<SchedEvent>) {
        match &mut self.sight {
            Sight::Scheduler(recorder, own) => {
                recorder.drain(until_ns, &mut self.names, events);
                own.drain(until_ns, &mut self.names, events);
            }
            Sight::Switches(switches) => {
                switches.drain(MonotonicClock.now_ns(), until_ns, &mut self.names, events);
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
    recorder.follow(&[own], None).map_err(|error| error.to_string())?;
    std::thread::sleep(Duration::from_millis(1));
    let mut events = Vec::new();
    recorder.drain(u64::MAX, &mut Names::default(), &mut events);
    recorder.follow(&[], None).map_err(|error| error.to_string())?;
    let is_seen =
        |event: &SchedEvent| event.thread == own && matches!(event.what, What::Out { .. });
    match events.iter().any(is_seen) {
        true => Ok(recorder),
        false => Err("the kernel's events name threads by numbers of another pid namespace; run \
                      pickfs outside the container"
            .into()),
    }
}
