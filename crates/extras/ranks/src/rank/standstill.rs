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

/// What a worker's threads do, and how often each had a processor and lost it: lines of proc(5).
#[derive(PartialEq, Eq)]
struct Seen(Vec<String>);

pub(super) struct Standstill {
    patience: Duration,
    /// A worker that waits for a program need not run itself.
    counts_only_stopped: bool,
    looked: Instant,
    seen: Option<Seen>,
}

impl Standstill {
    pub(super) fn new(patience: Duration, counts_only_stopped: bool) -> Standstill {
        Standstill { patience, counts_only_stopped, looked: Instant::now(), seen: None }
    }

    /// It has something to do from now on.
    pub(super) fn begin(&mut self) {
        (self.looked, self.seen) = (Instant::now(), None);
    }

    pub(super) fn reason(&self) -> String {
        format!(
            "the worker has done nothing for {:.0} s: it is stopped, or waits for a server that is gone; look at \
             that host, or wait longer with --ranks-patience",
            self.patience.as_secs_f64()
        )
    }

    /// Between two looks, which are as far apart as the patience, it has not run.
    pub(super) fn is_one(&mut self, process: u32) -> bool {
        if self.looked.elapsed() < self.patience {
            return false;
        }
        let seen = Seen::now(process);
        let is_asleep = match self.counts_only_stopped {
            true => seen.is_any(&STOPPED),
            false => !seen.is_any(&[RUNS]),
        };
        let stands = is_asleep && self.seen.as_ref() == Some(&seen);
        (self.looked, self.seen) = (Instant::now(), Some(seen));
        stands
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

    #[test]
    fn one_that_waits_stands_still_until_it_runs_again() {
        let mut shell = shell("while read line; do :; done");
        let mut standstill = Standstill::new(Duration::ZERO, false);
        let mut input = shell.0.stdin.take().unwrap();
        let mut is_one = || standstill.is_one(shell.0.id());
        assert!(!is_one(), "it was looked at once");
        until("a shell that waits", || is_one().then_some(()));
        until("a shell that has run", || {
            input.write_all(b"x\n").unwrap();
            (!is_one()).then_some(())
        });
        let mut patient = Standstill::new(Duration::from_secs(3600), false);
        assert!(!patient.is_one(shell.0.id()) && patient.seen.is_none(), "not looked at");
    }

    #[test]
    fn one_that_waits_for_a_program_stands_still_only_when_it_is_stopped() {
        let shell = shell("while read line; do :; done");
        let mut standstill = Standstill::new(Duration::ZERO, true);
        let mut waits = Standstill::new(Duration::ZERO, false);
        until("a shell that waits", || waits.is_one(shell.0.id()).then_some(()));
        assert!(!standstill.is_one(shell.0.id()) && !standstill.is_one(shell.0.id()));
        kill_process(Pid::from_child(&shell.0), Signal::STOP).unwrap();
        until("a shell that is stopped", || standstill.is_one(shell.0.id()).then_some(()));
    }
}
