//! All of them prepare; when all are ready they are told to go; between two phases the
//! first one may ask for cold caches. A crew of one is the ordinary case. When one fails,
//! the others find their gate broken and end too; when one dies, all are ended.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use pickfs_record::{TrialSpec, WorkerMessage};
use pickfs_sys::{
    live_page::LivePage, slow_operations::SlowOperations, starting_gate::StartingGate,
};
use pickfs_workload::Length;

use crate::{
    interrupt::Interrupt,
    worker_process::{Heard, Inheritance, Worker, WorkerError, Workplace},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// It prepares and warms up; called several times a second.
    Preparing,
    Going {
        processes: Vec<u32>,
    },
    Measuring,
    Phase(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub prepare: Duration,
    /// From the word to the end, or from one phase to the next.
    pub measure: Duration,
}

/// Longest time for preparation beyond the warm-up itself (zero-filling files, heating), and for
/// verification and hand-over beyond the measured time.
const MARGIN: Duration = Duration::from_secs(180);
/// Longest time for a sync of all that a worker was let put off, half of all memory at a few MB/s: in the warm-up and in
/// the measurement.
const SYNC_LIMIT: Duration = Duration::from_secs(3600);
/// Longest time for one phase: six hours, as half a million synced creates take as long as they take.
const PHASE_LIMIT: Duration = Duration::from_secs(6 * 3600);
const POLL: Duration = Duration::from_millis(200);

impl Limits {
    pub fn of(spec: &TrialSpec, length: Length) -> Limits {
        let measure = match length {
            Length::Work(_) => PHASE_LIMIT,
            Length::Clock => MARGIN + 2 * Duration::from_nanos(spec.measure_ns),
        };
        let lanes = Duration::from_secs(u64::from(spec.lanes));
        let prepare = MARGIN + lanes + 3 * Duration::from_nanos(spec.warmup_ns);
        let sync = if spec.final_sync.is_empty() { Duration::ZERO } else { SYNC_LIMIT };
        Limits { prepare: prepare + sync, measure: measure + sync }
    }
}

pub struct Around<'a> {
    pub page: Option<&'a LivePage>,
    pub slow_operations: Option<&'a SlowOperations>,
    pub interrupt: &'a Interrupt,
    pub observe: &'a mut dyn FnMut(Moment),
    pub make_cold: &'a mut dyn FnMut() -> Result<(), String>,
}

pub fn run_crew(
    place: &(impl Workplace + ?Sized),
    spec: &TrialSpec,
    limits: Limits,
    around: Around<'_>,
) -> Result<Vec<Vec<WorkerMessage>>, WorkerError> {
    let gate = match spec.lanes {
        2.. if place.shares_memory() => {
            let made = StartingGate::create(spec.lanes);
            Some(made.map_err(|source| WorkerError::NoGate { source })?)
        }
        _ => None,
    };
    let (page, slow_operations) = (around.page, around.slow_operations);
    let inherits = Inheritance { page, slow_operations, gate: gate.as_ref() };
    let (sender, inbox) = channel();
    let mut lanes = Vec::new();
    for lane in 0..spec.lanes.max(1) {
        let spec = TrialSpec { lane, ..spec.clone() };
        lanes.push(place.start(&spec, &inherits, &sender)?);
    }
    drop(sender);
    let messages = vec![Vec::new(); lanes.len()];
    let mut crew = Crew { lanes, inbox, messages, ended: 0, around };
    crew.listen("prepare", limits.prepare, Moment::Preparing)?;
    if crew.are_ready() {
        let processes = crew.lanes.iter().filter_map(Worker::process_id).collect();
        (crew.around.observe)(Moment::Going { processes });
        crew.ended = 0;
        crew.lanes.iter_mut().for_each(Worker::say_go);
        crew.listen("measure", limits.measure, Moment::Measuring)?;
    }
    Ok(std::mem::take(&mut crew.messages))
}

struct Crew<'a> {
    lanes: Vec<Worker>,
    inbox: Receiver<Heard>,
    messages: Vec<Vec<WorkerMessage>>,
    /// Lanes that have said the last word of this part.
    ended: usize,
    around: Around<'a>,
}

impl Drop for Crew<'_> {
    /// A crew that did not come to its end is asked as one, so that all take away their files at once, and none that cannot
    /// be ended spares the others.
    fn drop(&mut self) {
        let is_over = |said: &Vec<WorkerMessage>| said.last().is_some_and(is_last);
        if !self.messages.iter().all(is_over) {
            for lane in &mut self.lanes {
                lane.ask_to_end();
            }
        }
        self.lanes.iter_mut().for_each(Worker::kill);
    }
}

impl Crew<'_> {
    fn are_ready(&self) -> bool {
        let ready =
            |said: &Vec<WorkerMessage>| matches!(said.last(), Some(WorkerMessage::Ready { .. }));
        self.messages.iter().all(ready)
    }

    fn listen(
        &mut self,
        part: &'static str,
        limit: Duration,
        meanwhile: Moment,
    ) -> Result<(), WorkerError> {
        let mut began = Instant::now();
        while self.ended < self.lanes.len() {
            match self.inbox.recv_timeout(POLL) {
                Ok(heard) => {
                    if self.hear(heard, part)? {
                        began = Instant::now();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.lanes[0].died(part)),
                Err(RecvTimeoutError::Timeout) => (self.around.observe)(meanwhile.clone()),
            }
            if self.around.interrupt.is_raised() {
                return Err(WorkerError::Interrupted);
            }
            if began.elapsed() > limit {
                return Err(WorkerError::Hung { phase: part, limit_s: limit.as_secs_f64() });
            }
        }
        Ok(())
    }

    /// One line of one lane; true when a new phase begins.
    fn hear(&mut self, heard: Heard, part: &'static str) -> Result<bool, WorkerError> {
        let lane = heard.lane;
        let Some(line) = heard.line else {
            // The end of its output after its last word is the ordinary end.
            return match self.messages[lane].last().is_some_and(is_last) {
                true => Ok(false),
                false => Err(self.lanes[lane].died(part)),
            };
        };
        let message = self.lanes[lane].understand(&line)?;
        match message {
            WorkerMessage::PhaseBegins { phase, .. } => {
                (self.around.observe)(Moment::Phase(phase));
                return Ok(true);
            }
            WorkerMessage::ColdAsked => {
                (self.around.make_cold)().map_err(|reason| WorkerError::NotCold { reason })?;
                self.lanes[lane].say_go();
                return Ok(true);
            }
            message => {
                self.ended += usize::from(ends_part(&message));
                self.messages[lane].push(message);
            }
        }
        Ok(false)
    }
}

fn ends_part(message: &WorkerMessage) -> bool {
    matches!(message, WorkerMessage::Ready { .. }) || is_last(message)
}

pub fn is_last(message: &WorkerMessage) -> bool {
    matches!(
        message,
        WorkerMessage::Failed { .. } | WorkerMessage::Skipped { .. } | WorkerMessage::Finished
    )
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use pickfs_testkit::{fake_spec, install};

    use super::*;

    fn spec() -> TrialSpec {
        let spec = fake_spec("null", Path::new("/tmp"), serde_json::Map::new());
        TrialSpec { build: "b".into(), ..spec }
    }

    fn run(
        program: &Path,
        lanes: u32,
        interrupt: &Interrupt,
        observe: &mut dyn FnMut(Moment),
    ) -> Result<Vec<Vec<WorkerMessage>>, WorkerError> {
        let spec = TrialSpec { lanes, ..spec() };
        let make_cold = &mut || Ok(());
        let around = Around { page: None, slow_operations: None, interrupt, observe, make_cold };
        run_crew(program, &spec, Limits::of(&spec, Length::Clock), around)
    }

    fn script_file(folder: &Path, script: &str) -> PathBuf {
        let path = folder.join("worker");
        install(&path, format!("#!/bin/sh\nread spec\n{script}\n").as_bytes());
        path
    }

    fn played(script: &str) -> Result<Vec<WorkerMessage>, WorkerError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = script_file(folder.path(), script);
        run(&path, 1, &Interrupt::default(), &mut |_| {}).map(|mut said| said.remove(0))
    }

    const HELLO: &str = r#"echo '{"event":"hello","format":1,"build":"b"}'"#;
    const READY: &str = r#"echo '{"event":"ready","notes":[],"warmup_ns":5}'"#;

    #[test]
    fn a_worker_that_keeps_the_protocol_is_heard_to_its_end() {
        let script = format!(
            "{HELLO}; {READY}; read go; [ $go = go ] || exit 9\n\
             echo '{{\"event\":\"verified\",\"checked\":3}}'; echo '{{\"event\":\"finished\"}}'"
        );
        let messages = played(&script).expect("a good worker");
        assert_eq!(messages.len(), 4);
        assert_eq!(messages[2], WorkerMessage::Verified { checked: 3 });
    }

    #[test]
    fn a_sync_at_the_end_has_its_time() {
        let limits = |paid: &[&str]| {
            let final_sync = paid.iter().map(|op| (*op).to_owned()).collect();
            Limits::of(&TrialSpec { final_sync, ..spec() }, Length::Clock)
        };
        let (without, with) = (limits(&[]), limits(&["append"]));
        assert_eq!(with.measure - without.measure, SYNC_LIMIT);
        assert_eq!(with.prepare - without.prepare, SYNC_LIMIT);
    }

    #[test]
    fn a_worker_killed_by_a_signal_is_told_with_its_last_words() {
        let error = played(&format!("{HELLO}; echo no space >&2; kill -9 $$")).expect_err("died");
        assert_eq!(
            error.to_string(),
            "worker ended in its prepare phase by signal 9; it said: no space"
        );
        let error = played(&format!("{HELLO}; {READY}; read go; exit 3")).expect_err("died");
        assert_eq!(error.to_string(), "worker ended in its measure phase by exit code 3");
    }

    #[test]
    fn nonsense_and_other_builds_are_refused() {
        let error = played("echo hello").expect_err("nonsense");
        assert!(error.to_string().starts_with("worker said `hello`"), "{error}");
        let other = HELLO.replace("\"b\"", "\"old\"");
        let error = played(&format!("{other}; sleep 60")).expect_err("another build");
        assert!(error.to_string().contains("worker is build old (format 1)"), "{error}");
    }

    #[test]
    fn a_worker_that_is_not_there_is_named() {
        let none = Path::new("/nowhere/pickfs");
        let error = run(none, 1, &Interrupt::default(), &mut |_| {}).expect_err("no");
        assert!(error.to_string().starts_with("worker /nowhere/pickfs not started"));
    }

    #[test]
    fn an_interrupt_ends_the_whole_group() {
        let folder = tempfile::tempdir().expect("a folder");
        let pid_file = folder.path().join("pid");
        let script = format!("sleep 100 & echo $! > {}\nwait", pid_file.display());
        let path = script_file(folder.path(), &script);
        let interrupt = Interrupt::default();
        let error = run(&path, 1, &interrupt, &mut |_| {
            if pid_file.exists() {
                interrupt.raise();
            }
        })
        .expect_err("interrupted");
        assert_eq!(error.to_string(), "interrupted");
        assert_ends(&pid_file);
    }

    fn assert_ends(pid_file: &Path) {
        let pid = std::fs::read_to_string(pid_file).expect("a pid");
        pickfs_testkit::until("the end of the worker's child", || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            stat.map_or(true, |stat| stat.contains(") Z ")).then_some(())
        });
    }

    #[test]
    fn what_a_worker_leaves_in_its_group_ends_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let pid_file = folder.path().join("pid");
        let finished = "echo '{\"event\":\"finished\"}'";
        let left = format!("sleep 600 & echo $! > {}", pid_file.display());
        played(&format!("{HELLO}; {READY}; read go; {left}; {finished}")).expect("a good worker");
        assert_ends(&pid_file);
    }

    #[test]
    fn a_worker_that_closes_its_output_and_goes_on_is_killed() {
        let error = played(&format!("{HELLO}; exec >&- 2>&-; sleep 600")).expect_err("closed");
        let said = "worker ended in its prepare phase by closing its output; it was killed";
        assert_eq!(error.to_string(), said);
    }

    #[test]
    fn lanes_are_told_to_go_when_all_are_ready_and_each_is_heard() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = format!(
            "{HELLO}; {READY}; read go; [ $go = go ] || exit 9\n\
             [ -n \"$PICKFS_STARTING_GATE_FD\" ] || exit 8\n\
             echo \"$spec\" | grep -q '\"lane\":2' && n=2 || n=7\n\
             echo '{{\"event\":\"verified\",\"checked\":'$n'}}'; echo '{{\"event\":\"finished\"}}'"
        );
        let path = script_file(folder.path(), &script);
        let said = run(&path, 3, &Interrupt::default(), &mut |_| {}).expect("a good crew");
        let checked: Vec<_> = said.iter().map(|lane| lane[2].clone()).collect();
        assert_eq!(checked[2], WorkerMessage::Verified { checked: 2 });
        assert_eq!(checked[1], WorkerMessage::Verified { checked: 7 });
    }

    #[test]
    fn phases_are_told_and_a_request_for_cold_caches_is_served() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = format!(
            "{HELLO}; {READY}; read go\n\
             echo '{{\"event\":\"phase-begins\",\"phase\":\"write\",\"number\":1}}'\n\
             echo '{{\"event\":\"cold-asked\"}}'; read go; [ $go = go ] || exit 9\n\
             echo '{{\"event\":\"finished\"}}'"
        );
        let path = script_file(folder.path(), &script);
        let (mut phases, mut asked) = (Vec::new(), 0);
        let interrupt = Interrupt::default();
        let around = Around {
            page: None,
            slow_operations: None,
            interrupt: &interrupt,
            observe: &mut |moment| phases.push(moment),
            make_cold: &mut || {
                asked += 1;
                Ok(())
            },
        };
        let said =
            run_crew(path.as_path(), &spec(), Limits::of(&spec(), Length::Work(None)), around)
                .expect("a crew");
        assert_eq!(said[0].len(), 3);
        assert!(phases.contains(&Moment::Phase("write".into())));
        assert_eq!(asked, 1);
    }

    #[test]
    fn a_lane_that_dies_ends_the_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let script =
            format!("{HELLO}\necho \"$spec\" | grep -q '\"lane\":1' && exit 5\n{READY}; sleep 100");
        let path = script_file(folder.path(), &script);
        let began = Instant::now();
        let error = run(&path, 3, &Interrupt::default(), &mut |_| {}).expect_err("died");
        assert_eq!(error.to_string(), "worker ended in its prepare phase by exit code 5");
        assert!(began.elapsed() < Duration::from_secs(50), "the others were not waited for");
    }
}
