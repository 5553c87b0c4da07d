//! What can be seen of another program without privilege: its sleeps. Each one over a threshold counts
//! as a slow operation of the call that the thread was found in. Calls that did not sleep are not seen, and
//! nothing is counted.
//! Source: perf_event_open(2), PERF_RECORD_SWITCH; proc_pid_syscall(5), proc_pid_wchan(5).

use std::{
    collections::HashMap,
    fs,
    io::{self, ErrorKind},
    sync::mpsc::Receiver,
};

use crate::kernel::{
    file_calls::FileCall, kernel_symbols::KernelSymbols, perf_event::PerfEventError,
};
use pickfs_record::{CallsRecord, Clock, MonotonicClock, StallRecord};
use pickfs_sys::{proc_root::ProcRoot, process, slow_operations::SlowOperation};
use thiserror::Error;

use super::watch::CallsSeen;
use crate::{
    observer::{Joiner, Watcher, Whose, goes_on, stand_back},
    sched::{Left, SchedEvent, What},
    switches::{may_look_at, may_record},
    threads::Threads,
    tier::Eyes,
};

#[derive(Debug, Error)]
#[error(
    "nothing of {whose} can be seen: {calls}; when it sleeps: {records}; where it sleeps: {looks}{}",
    looks_remedy(looks)
)]
pub struct SleepsRefused {
    whose: String,
    calls: String,
    records: PerfEventError,
    looks: io::Error,
}

fn looks_remedy(looks: &io::Error) -> &'static str {
    match looks.kind() {
        ErrorKind::PermissionDenied => "; needs root, CAP_SYS_PTRACE, or to be the same user",
        ErrorKind::NotFound => "; needs a kernel with /proc/PID/syscall and /proc/PID/wchan",
        _ => "",
    }
}

/// The operation of a sleep that was over before its call was looked up.
const NOT_SEEN: &str = "a call that was not looked up";
/// Looks for new processes: one in so many looks at threads.
const LOOKS_FOR_PROCESSES: u32 = 8;

pub struct SleepWatch {
    watcher: Watcher<StallRecord>,
    began_ns: u64,
}

impl SleepWatch {
    /// And all below it; `because` is why calls themselves cannot be seen.
    pub fn of_process(process_id: u32, above_ns: u64, because: &str) -> SleepWatch {
        let began_ns = MonotonicClock.now_ns();
        let lost = format!(
            "calls that did not sleep, counts, bytes and errors, who woke a sleeper, and who had the \
             processor: {because}"
        );
        let mut watching = Watching::new(process_id, above_ns, lost);
        watching.look_for_threads();
        let watcher = Watcher::start(move |stop| watching.run(stop));
        SleepWatch { watcher: watcher.expect("a thread can be started"), began_ns }
    }

    /// Without a number, of whatever we start ourselves. `because` is why calls themselves cannot
    /// be seen.
    pub fn is_possible(process_id: Option<u32>, because: &str) -> Result<(), SleepsRefused> {
        let looks = may_look_at(process_id.unwrap_or_else(std::process::id));
        let whose = process_id.map_or("the command".into(), |id| format!("process {id}"));
        any_of(whose, because, may_record(process_id), looks)
    }

    pub fn finish(self) -> CallsSeen {
        let stalls = self.watcher.finish();
        let watched_ns = MonotonicClock.now_ns() - self.began_ns;
        let calls = CallsRecord { began_ns: self.began_ns, watched_ns, ..CallsRecord::default() };
        CallsSeen { calls, stalls: Some(stalls), missing: Vec::new() }
    }
}

fn any_of(
    whose: String,
    because: &str,
    records: Result<(), PerfEventError>,
    looks: io::Result<()>,
) -> Result<(), SleepsRefused> {
    match (records, looks) {
        (Err(records), Err(looks)) => {
            Err(SleepsRefused { whose, calls: because.into(), records, looks })
        }
        _ => Ok(()),
    }
}

struct Sleep {
    since_ns: u64,
    call: Call,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    NotSeen,
    /// Not one of files: it waits for a lock, a timer, a child.
    Other,
    File(&'static str),
}

struct Watching {
    process_id: u32,
    above_ns: u64,
    calls: Vec<FileCall>,
    threads: Threads,
    eyes: Eyes,
    joiner: Joiner,
    asleep: HashMap<u32, Sleep>,
}

impl Watching {
    fn new(process_id: u32, above_ns: u64, lost: String) -> Watching {
        Watching {
            process_id,
            above_ns,
            calls: FileCall::all(),
            threads: Threads::of(vec![process_id], ProcRoot::own()),
            eyes: Eyes::without_privilege(lost),
            joiner: Joiner::new(KernelSymbols::default()),
            asleep: HashMap::new(),
        }
    }

    fn run(mut self, stop: &Receiver<()>) -> StallRecord {
        stand_back();
        let mut looks = 0;
        while goes_on(stop, self.eyes.look_each()) {
            if looks % LOOKS_FOR_PROCESSES == 0 {
                let tree = process::tree_of(self.process_id, &ProcRoot::own()).unwrap_or_default();
                self.threads.add_processes(tree.iter().map(|process| process.process_id));
            }
            looks += 1;
            self.look_for_threads();
            self.look();
        }
        self.end_all();
        self.joiner.finish_with(self.eyes, self.above_ns, self.threads.count() as u64)
    }

    fn look_for_threads(&mut self) {
        if !self.threads.look() {
            return;
        }
        let now_ns = MonotonicClock.now_ns();
        for id in self.threads.ids() {
            match self.eyes.follow(&[(id, id)], None) {
                Ok(()) => self.joiner.timeline.watch(id, now_ns),
                // Of one that has ended meanwhile nothing is to be seen.
                Err(_) if !ProcRoot::own().process(id).exists() => {}
                Err(reason) => self.eyes.miss(reason),
            }
        }
    }

    fn look(&mut self) {
        let mut events = Vec::new();
        self.joiner.look(&mut self.eyes, u64::MAX, &mut events);
        events.iter().for_each(|event| self.take(event));
        for (thread, sleep) in &mut self.asleep {
            if sleep.call == Call::NotSeen {
                sleep.call = call_of(*thread, &self.calls);
            }
        }
        let now_ns = MonotonicClock.now_ns();
        for thread in self.threads.ids() {
            let since_ns = self.asleep.get(&thread).map_or(now_ns, |sleep| sleep.since_ns);
            self.joiner.timeline.trim(thread, since_ns);
        }
    }

    fn take(&mut self, event: &SchedEvent) {
        match event.what {
            What::Out { left: Left::Asleep, .. } => {
                let sleep = Sleep { since_ns: event.time_ns, call: Call::NotSeen };
                self.asleep.insert(event.thread, sleep);
            }
            What::In { .. } => {
                if let Some(sleep) = self.asleep.remove(&event.thread) {
                    self.slept(event.thread, &sleep, event.time_ns);
                }
            }
            _ => {}
        }
    }

    fn slept(&mut self, thread: u32, sleep: &Sleep, end_ns: u64) {
        let op = match sleep.call {
            Call::Other => return,
            Call::NotSeen => NOT_SEEN,
            Call::File(name) => name,
        };
        let start_ns = sleep.since_ns;
        if end_ns.saturating_sub(start_ns) > self.above_ns {
            let operation =
                SlowOperation { op: 0, thread_id: thread, start_ns, end_ns, offset_bytes: 0 };
            let name = self.threads.get(thread).map_or("", |thread| &thread.name);
            let whose = Whose { thread, name, workers: &Vec::new };
            self.joiner.join(op, &operation, &whose, &self.eyes.names);
        }
    }

    /// Sleeps in calls on files that go on.
    fn end_all(&mut self) {
        self.look();
        let now_ns = MonotonicClock.now_ns();
        for (thread, sleep) in std::mem::take(&mut self.asleep) {
            if matches!(sleep.call, Call::File(_)) {
                self.slept(thread, &sleep, now_ns);
            }
        }
    }
}

/// The call that a thread is in. Where the kernel does not tell it, or it runs, it was not seen.
fn call_of(thread: u32, calls: &[FileCall]) -> Call {
    let text = fs::read_to_string(format!("/proc/{thread}/syscall")).unwrap_or_default();
    let number: Option<i64> = text.split_whitespace().next().and_then(|word| word.parse().ok());
    match number.map(|number| calls.iter().find(|call| call.number == number)) {
        None => Call::NotSeen,
        Some(None) => Call::Other,
        Some(Some(call)) => Call::File(call.name),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use pickfs_testkit::until;

    use super::*;
    use crate::observer::OUR_THREADS;

    #[test]
    fn what_shows_nothing_is_refused_with_each_way_out() {
        let refused = || PerfEventError::Open { cause: io::Error::from_raw_os_error(13) };
        let denied = || Err(io::ErrorKind::PermissionDenied.into());
        let answer = any_of("process 7".into(), "no tracefs", Err(refused()), denied());
        let words = answer.expect_err("nothing is seen").to_string();
        for part in ["nothing of process 7", "no tracefs", "CAP_PERFMON", "CAP_SYS_PTRACE"] {
            assert!(words.contains(part), "{words}");
        }
        assert!(any_of(String::new(), "", Err(refused()), Ok(())).is_ok());
        assert!(any_of(String::new(), "", Ok(()), denied()).is_ok());
    }

    fn nice_of_ours() -> Vec<i32> {
        let nice = |path: std::path::PathBuf| {
            let line = fs::read_to_string(path.join("stat")).ok()?;
            let (before, after) = line.rsplit_once(") ")?;
            let is_ours = before.ends_with(OUR_THREADS);
            is_ours.then(|| after.split(' ').nth(16)?.parse().ok())?
        };
        let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
        tasks.filter_map(|task| nice(task.path())).collect()
    }

    /// What was seen of a program that waited so long for each of four words.
    fn of_cat(wait_ms: u64) -> StallRecord {
        let mut cat = Command::new("cat");
        let mut cat = cat.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let is_asleep = |process: process::Process| process.state == 'S';
        let cats = || process::Process::read(cat.id(), &ProcRoot::own());
        until("cat to wait", || cats().is_ok_and(is_asleep).then_some(()));
        let watch = SleepWatch::of_process(cat.id(), 1_000_000, "a test");
        let mut input = cat.stdin.take().unwrap();
        until("the watch", || nice_of_ours().iter().any(|nice| *nice >= 10).then_some(()));
        for _ in 0..4 {
            // SLEEP: what cat is seen to wait for.
            std::thread::sleep(std::time::Duration::from_millis(wait_ms));
            std::io::Write::write_all(&mut input, b"word\n").unwrap();
        }
        let record = watch.finish().stalls.unwrap();
        drop(input);
        cat.wait().unwrap();
        record
    }

    /// The watch has a low priority: where others take the processors it looks late, and then longer sleeps are tried.
    #[test]
    fn a_program_that_waits_for_its_input_sleeps_in_a_read() {
        let mut seen = Vec::new();
        for wait_ms in [40, 160, 640, 2_560] {
            let record = of_cat(wait_ms);
            assert!(record.missing[0].ends_with("a test"), "{:?}", record.missing);
            if record.missing.len() > 1 {
                println!("SKIPPED: {:?}", record.missing);
                return;
            }
            let mut reads = record.ops.iter().filter(|op| op.op == "read");
            if reads.any(|op| op.operations >= 2 && op.blocked_ns > 0) {
                return;
            }
            seen = record.ops;
        }
        panic!("{seen:?}");
    }
}
