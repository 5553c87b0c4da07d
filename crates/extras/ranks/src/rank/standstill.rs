//! A worker that does nothing any more: it was stopped, or waits for a server that is gone. In a workload of phases nobody else
//! can tell it from one whose phase is long.

use std::{
    fs,
    time::{Duration, Instant},
};

use pickfs_workload::KEEPER;

/// proc(5): by signals, or by a debugger.
const STOPPED: [&str; 2] = ["State:\tT", "State:\tt"];
const RUNS: &str = "State:\tR";

/// One call may take minutes in which no thread runs: an fsync or a close of a large file on a slow server.
const ASLEEP: Duration = Duration::from_secs(600);
const ASLEEP_PER_PATIENCE: u32 = 5;

/// What a worker's threads do, and how often each had a processor and lost it: lines of proc(5).
#[derive(PartialEq, Eq)]
struct Seen(Vec<String>);

pub(super) struct Standstill {
    patience: Duration,
    /// For one that sleeps; for none that waits for a program, which need not run itself.
    asleep: Option<Duration>,
    looked: Instant,
    /// And since when it is so.
    seen: Option<(Seen, Instant)>,
}

impl Standstill {
    pub(super) fn new(patience: Duration, waits_for_program: bool) -> Standstill {
        let asleep = (patience * ASLEEP_PER_PATIENCE).max(ASLEEP);
        let asleep = (!waits_for_program).then_some(asleep);
        Standstill { patience, asleep, looked: Instant::now(), seen: None }
    }

    /// It has something to do from now on.
    pub(super) fn begin(&mut self) {
        (self.looked, self.seen) = (Instant::now(), None);
    }

    /// Why it does nothing any more. Looks are as far apart as the patience, and from one to the next it has not run.
    pub(super) fn why(&mut self, process: u32) -> Option<String> {
        if self.looked.elapsed() < self.patience {
            return None;
        }
        self.looked = Instant::now();
        let seen = Seen::now(process);
        let before = self.seen.take().filter(|(before, _)| *before == seen);
        let since = before.as_ref().map_or(self.looked, |(_, since)| *since);
        let (is_stopped, runs) = (seen.is_any(&STOPPED), seen.is_any(&[RUNS]));
        self.seen = Some((seen, since));
        before?;
        let stood = self.looked - since;
        let stood_s = stood.as_secs_f64();
        let has_slept = !runs && self.asleep.is_some_and(|asleep| stood >= asleep);
        match (is_stopped, has_slept) {
            (true, _) => Some(format!(
                "the worker is stopped, by a signal or a debugger, and has done nothing for {stood_s:.0} s; look at that host, \
                 or wait longer with --ranks-patience"
            )),
            (false, true) => Some(format!(
                "no thread of the worker has run for {stood_s:.0} s: it waits for a server that is gone or very slow; look at \
                 that host, or wait longer with --ranks-patience"
            )),
            (false, false) => None,
        }
    }
}

impl Seen {
    fn now(process: u32) -> Seen {
        let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        let texts = threads.flat_map(|thread| fs::read_to_string(thread.path().join("status")));
        // Which wakes up by itself.
        let texts = texts.filter(|text| !text.starts_with(&format!("Name:\t{KEEPER}\n")));
        let is_of_runs =
            |line: &&str| line.starts_with("State:") || line.contains("ctxt_switches:");
        let lines =
            |text: String| text.lines().filter(is_of_runs).map(str::to_owned).collect::<Vec<_>>();
        Seen(texts.flat_map(lines).collect())
    }

    fn is_any(&self, states: &[&str]) -> bool {
        self.0.iter().any(|line| states.iter().any(|state| line.starts_with(state)))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        process::{Child, Command, Stdio},
    };

    use pickfs_testkit::until;
    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    struct Shell(Child);

    impl Drop for Shell {
        fn drop(&mut self) {
            self.0.kill().and_then(|()| self.0.wait()).unwrap();
        }
    }

    fn shell(script: &str) -> Shell {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null());
        Shell(shell.spawn().unwrap())
    }

    fn impatient(asleep: Option<Duration>) -> Standstill {
        Standstill { asleep, ..Standstill::new(Duration::ZERO, false) }
    }

    fn assert_says(why: &Option<String>, words: &str) {
        assert!(why.as_ref().is_some_and(|why| why.starts_with(words)), "{why:?}");
    }

    #[test]
    fn one_that_sleeps_too_long_stands_still_until_it_runs_again() {
        let mut shell = shell("while read line; do :; done");
        let mut standstill = impatient(Some(Duration::ZERO));
        let mut input = shell.0.stdin.take().unwrap();
        let mut why = || standstill.why(shell.0.id());
        assert_eq!(why(), None, "it was looked at once");
        let slept = until("a shell that waits", || why().map(Some));
        assert_says(&slept, "no thread of the worker has run for 0 s: it waits for a server");
        until("a shell that has run", || {
            input.write_all(b"x\n").unwrap();
            why().is_none().then_some(())
        });
        let mut patient = Standstill::new(Duration::from_secs(3600), false);
        assert!(patient.why(shell.0.id()).is_none() && patient.seen.is_none(), "not looked at");
    }

    #[test]
    fn one_call_may_take_ten_minutes_or_five_times_the_patience_and_a_program_any_time() {
        let asleep_s = |patience_s, waits_for_program| {
            let patience = Duration::from_secs(patience_s);
            Standstill::new(patience, waits_for_program).asleep.map(|asleep| asleep.as_secs())
        };
        assert_eq!([asleep_s(3, false), asleep_s(120, false)], [Some(600); 2]);
        assert_eq!([asleep_s(300, false), asleep_s(300, true)], [Some(1500), None]);
    }

    #[test]
    fn one_that_may_sleep_stands_still_as_soon_as_it_is_stopped() {
        let shell = shell("while read line; do :; done");
        for asleep in [None, Some(ASLEEP)] {
            let mut standstill = impatient(asleep);
            let mut why = || standstill.why(shell.0.id());
            let mut sleeps = impatient(Some(Duration::ZERO));
            until("a shell that waits", || sleeps.why(shell.0.id()));
            assert_eq!([why(), why(), why()], [None, None, None], "it may sleep");
            kill_process(Pid::from_child(&shell.0), Signal::STOP).unwrap();
            assert_says(&until("a stopped shell", || why().map(Some)), "the worker is stopped");
            kill_process(Pid::from_child(&shell.0), Signal::CONT).unwrap();
        }
    }
}
