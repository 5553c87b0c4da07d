//! The launcher as the lab sees it: a process with two ends, whose ranks are elsewhere. It ends with its job, and is made to
//! where it does not.

use std::{
    io::{BufRead, BufReader},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc, Once, OnceLock,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use pickfs_lab::{interrupt::Interrupt, worker_process::Heard};
use pickfs_record::{WorkerMessage, trial::WORKER, visible::visible};
use pickfs_sys::{
    ended::{ended_within, how},
    last_words::LastWords,
};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::{
    error::RanksError,
    launch_words::{UNBOUND, added},
    message::{FromRanks, Line, ToRanks, receive, send},
    rank::RANK,
};

/// A launcher that was asked to end has so long: it tells the hosts.
const GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

pub(crate) struct Launched {
    pub(crate) launcher: String,
    child: Child,
    asked: Once,
    to: ChildStdin,
    heard: Arc<Ears>,
}

/// Where what comes is put.
struct Ears {
    last_words: LastWords,
    /// The number of lanes, and who hears them.
    lanes: OnceLock<(usize, Sender<Heard>)>,
}

impl Launched {
    pub(crate) fn start(
        words: &[String],
    ) -> Result<(Arc<Launched>, Receiver<FromRanks>), RanksError> {
        let Some((program, own)) = words.split_first() else {
            return Err(RanksError::Told("--ranks names no launcher".into()));
        };
        let failed = |source| RanksError::NotStarted { program: program.clone(), source };
        let ours = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command.args(own).args(added(program)).arg(ours).args([WORKER, RANK]);
        let unset = UNBOUND.iter().filter(|(name, _)| std::env::var_os(name).is_none());
        command.envs(unset.copied()).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let to = child.stdin.take().expect("standard input is piped");
        let from = child.stdout.take().expect("standard output is piped");
        let last_words = LastWords::of(child.stderr.take());
        let heard = Arc::new(Ears { last_words, lanes: OnceLock::new() });
        let (ears, (sender, events)) = (Arc::clone(&heard), channel());
        thread::spawn(move || ears.listen(BufReader::new(from), &sender));
        let launcher = program.rsplit('/').next().unwrap_or(program).to_owned();
        Ok((Arc::new(Launched { launcher, child, asked: Once::new(), to, heard }), events))
    }

    pub(crate) fn tell(&self, word: &ToRanks) {
        // One that is gone shows as the end of what it says.
        let _ = send(word, false, &mut &self.to);
    }

    /// From now on somebody hears what the lanes say.
    pub(crate) fn hear_lanes(&self, count: usize, inbox: Sender<Heard>) {
        let _ = self.heard.lanes.set((count, inbox));
    }

    /// The first event that is wanted, within a limit.
    pub(crate) fn expect<T>(
        &self,
        events: &Receiver<FromRanks>,
        (limit, what): (Duration, &str),
        interrupt: &Interrupt,
        mut wanted: impl FnMut(FromRanks) -> Option<T>,
    ) -> Result<T, RanksError> {
        let began = Instant::now();
        loop {
            match events.recv_timeout(POLL) {
                Ok(FromRanks::Failed { reason }) => return Err(RanksError::Told(reason)),
                Ok(event) => {
                    if let Some(found) = wanted(event) {
                        return Ok(found);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let ended = format!("{} ended ({})", self.launcher, self.how());
                    return Err(RanksError::Told(self.with_last_words(&ended)));
                }
            }
            if interrupt.is_raised() {
                return Err(RanksError::Interrupted);
            }
            if began.elapsed() > limit {
                let who = format!("the ranks of {}", self.launcher);
                let limit_s = limit.as_secs_f64();
                return Err(RanksError::Missing { who, what: what.into(), limit_s });
            }
        }
    }

    /// How it ended, after the end of its standard output; it is not waited for longer than one that is asked to end.
    pub(crate) fn how(&self) -> String {
        let ended = ended_within(&self.child, GRACE);
        ended.map_or_else(|| "it closed its output and went on".into(), how)
    }

    pub(crate) fn with_last_words(&self, how: &str) -> String {
        visible(&self.heard.last_words.behind(how, "; it said: ", GRACE))
    }

    /// Once: Open MPI takes a second word as one to go at once.
    pub(crate) fn ask_to_end(&self) {
        self.asked.call_once(|| {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::TERM);
        });
    }
}

impl Drop for Launched {
    /// Asked where it has not ended by itself, and made to where that does not help, with all that it started.
    fn drop(&mut self) {
        if ended_within(&self.child, Duration::ZERO).is_none() {
            self.ask_to_end();
        }
        ended_within(&self.child, GRACE);
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        ended_within(&self.child, GRACE);
        let _ = self.child.try_wait();
    }
}

impl Ears {
    fn listen(&self, mut from: impl BufRead, events: &Sender<FromRanks>) {
        while let Some(line) = receive(&mut from) {
            match line {
                Line::Other(text) => self.last_words.add(&text),
                Line::Message(FromRanks::Said { lane, line }) => {
                    self.tell_lane(lane as usize, Some(line));
                }
                Line::Message(event) => {
                    // Each lane ends with the reason of all.
                    if let FromRanks::Failed { reason } = &event {
                        let failed = WorkerMessage::Failed { reason: reason.clone() };
                        self.tell_all(serde_json::to_string(&failed).ok().as_deref());
                    }
                    let _ = events.send(event);
                }
            }
        }
        self.tell_all(None);
    }

    fn tell_all(&self, line: Option<&str>) {
        let count = self.lanes.get().map_or(0, |(count, _)| *count);
        (0..count).for_each(|lane| self.tell_lane(lane, line.map(str::to_owned)));
    }

    fn tell_lane(&self, lane: usize, line: Option<String>) {
        if let Some((_, inbox)) = self.lanes.get().filter(|(count, _)| lane < *count) {
            // A crew that is gone hears nothing more.
            let _ = inbox.send(Heard { lane, line });
        }
    }
}

#[cfg(test)]
mod tests {
    use pickfs_testkit::install;

    use super::*;

    /// A launcher of one rank that is a script: it says these lines.
    fn launched(script: &str) -> (Arc<Launched>, Receiver<FromRanks>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mpirun");
        install(&path, format!("#!/bin/sh\n{script}\n").as_bytes());
        let words = [path.to_str().unwrap().to_owned()];
        let (launched, events) = Launched::start(&words).unwrap();
        (launched, events, folder)
    }

    const LIMIT: (Duration, &str) = (Duration::from_secs(60), "the end");

    fn is_ended(event: FromRanks) -> Option<()> {
        (event == FromRanks::Ended).then_some(())
    }

    #[test]
    fn words_of_lanes_go_to_the_crew_and_all_others_to_who_asks() {
        let (launched, events, _kept) = launched(
            "read order\necho 'pickfs-rank {\"event\":\"said\",\"lane\":1,\"line\":\"ready\"}'\n\
             echo 'pickfs-rank {\"event\":\"said\",\"lane\":7,\"line\":\"unknown\"}'\n\
             echo 'pickfs-rank {\"event\":\"failed\",\"reason\":\"h2 is gone\"}'; read more",
        );
        let (inbox, said) = channel();
        launched.hear_lanes(2, inbox);
        launched.tell(&ToRanks::Go);
        let failed = launched.expect(&events, LIMIT, &Interrupt::default(), is_ended);
        assert_eq!(failed.unwrap_err().to_string(), "h2 is gone");
        drop(launched);
        let heard: Vec<_> = said.iter().take(5).map(|heard| (heard.lane, heard.line)).collect();
        assert_eq!(heard[0], (1, Some("ready".into())));
        let failed = r#"{"event":"failed","reason":"h2 is gone"}"#.to_owned();
        assert_eq!(heard[1..3], [(0, Some(failed.clone())), (1, Some(failed))], "all fail by it");
        assert_eq!(heard[3..], [(0, None), (1, None)]);
    }

    #[test]
    fn a_launcher_that_ends_is_told_with_its_last_words_and_no_frames() {
        let (launched, events, _kept) =
            launched("echo ------; exec >&-; sleep 0.2; echo 'no such host h9' >&2; kill -9 $$");
        let end = launched.expect(&events, LIMIT, &Interrupt::default(), is_ended);
        let text = end.unwrap_err().to_string();
        assert_eq!(text, "mpirun ended (signal 9); it said: no such host h9");
    }

    #[test]
    fn one_that_does_not_end_is_made_to_with_all_that_it_started() {
        let (launched, events, _kept) = launched(
            "trap '' TERM; sleep 100 & echo \"pickfs-rank {\\\"event\\\":\\\"failed\\\",\\\"reason\\\":\\\"$!\\\"}\"; wait",
        );
        let child = launched.expect(&events, LIMIT, &Interrupt::default(), is_ended);
        let child = child.unwrap_err().to_string();
        drop(launched);
        pickfs_testkit::until("the end of what it started", || {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z ")).then_some(())
        });
    }

    #[test]
    fn nobody_waits_for_ranks_that_do_not_come() {
        let (launched, events, _kept) = launched("sleep 100");
        let short = (Duration::from_millis(100), "be there");
        let error = launched.expect(&events, short, &Interrupt::default(), is_ended).unwrap_err();
        assert!(error.to_string().contains("did not come to be there"), "{error}");
        let interrupt = Interrupt::default();
        interrupt.raise();
        let error = launched.expect(&events, LIMIT, &interrupt, is_ended).unwrap_err();
        assert_eq!(error.to_string(), "interrupted");
    }
}
