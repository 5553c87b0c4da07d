//! A guest that runs: started, spoken to, watched by deadlines, and ended whole.
//!
//! ```text
//! lab thread ── ToGuest ─► stdin of the engine ─► agent
//!            ◄─ FromGuest ──┐
//! lanes      ◄─ lines ──────┴─ reader ◄─ stdout of the engine
//! errors     ◄─ last lines ── console ◄─ stderr of the engine
//! ```

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant},
};

use pickfs_lab::worker_process::Heard;
use pickfs_record::{Environment, trial::WORKER};
use pickfs_sys::{
    ended::{KILLED_WITHIN, ended_within, how},
    last_words::LastWords,
};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::{
    BECOME_GUEST,
    deadline::GuestPhase,
    engine::{self, Boot, Engine, Kernel},
    error::GuestError,
    message::{ENDED_WELL, FromGuest, Order, ToGuest, receive, send},
};

const CONSOLE_LINES: usize = 200;
const CONSOLE_LINES_TOLD: usize = 6;
/// Of the console; a longer one is several.
const LINE_BYTES_MAX: u64 = 4 << 10;
const POLL: Duration = Duration::from_millis(50);

/// Of this program's first guest that was killed and went on.
static LEFT: OnceLock<String> = OnceLock::new();

/// A guest that cannot be ended writes on what it was given: nobody else may have that.
pub(crate) fn left() -> Option<String> {
    LEFT.get().cloned()
}

pub struct Start<'a> {
    pub engine: Engine,
    pub kernel: &'a Kernel,
    pub boot: &'a Boot,
    /// The worker program of the host, which becomes the engine.
    pub worker: &'a Path,
    /// By so much longer than its deadlines a phase may take.
    pub stretched_by: f64,
    pub stop: &'a dyn Fn() -> bool,
}

pub struct Guest {
    engine: Child,
    to: Arc<Mutex<ChildStdin>>,
    heard: Receiver<FromGuest>,
    shared: Arc<Shared>,
    stretched_by: f64,
    facts: Environment,
}

#[derive(Default)]
struct Shared {
    console: Mutex<Vec<String>>,
    /// Who hears them; a crew that is gone hears nothing more.
    lanes: Mutex<HashMap<u16, Sender<Heard>>>,
    ends: Mutex<HashMap<u16, String>>,
    /// Of each lane.
    last_words: Mutex<Vec<LastWords>>,
    /// How the engine ended.
    end: Mutex<Option<String>>,
}

impl Guest {
    /// After an error the guest has ended, or `left` tells that it has not.
    pub fn boot(start: &Start<'_>) -> Result<Guest, GuestError> {
        let mut guest = Guest::spawn(start)?;
        let (build, kernel) = guest.expect(GuestPhase::Boot, start.stop, |event| match event {
            FromGuest::Booted { build, kernel } => Some((build, kernel)),
            _ => None,
        })?;
        guest.facts.put("guest.kernel", kernel);
        guest.facts.put("guest.build", build);
        Ok(guest)
    }

    pub fn calibrate(&mut self, stop: &dyn Fn() -> bool) -> Result<(), GuestError> {
        self.tell(&ToGuest::Calibrate);
        self.expect_facts(GuestPhase::Calibrate, stop)
    }

    pub fn mount(&mut self, order: Order, stop: &dyn Fn() -> bool) -> Result<(), GuestError> {
        self.tell(&ToGuest::Mount(Box::new(order)));
        self.expect_word(GuestPhase::Modules, stop, FromGuest::ModulesLoaded)?;
        self.expect_facts(GuestPhase::Mount, stop)
    }

    fn expect_facts(
        &mut self,
        phase: GuestPhase,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), GuestError> {
        let found = self.expect(phase, stop, |event| match event {
            FromGuest::Calibrated { facts } | FromGuest::Mounted { facts } => Some(facts),
            _ => None,
        })?;
        self.facts.0.extend(found.0);
        Ok(())
    }

    fn spawn(start: &Start<'_>) -> Result<Guest, GuestError> {
        let mut command = Command::new(start.worker);
        command.args([WORKER, BECOME_GUEST]).arg(std::process::id().to_string());
        command.args(start.engine.command(start.kernel, start.boot)).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut engine = command
            .spawn()
            .map_err(|cause| GuestError::NotStarted { program: start.worker.to_owned(), cause })?;
        let to = engine.stdin.take().expect("standard input is piped");
        let from = engine.stdout.take().expect("standard output is piped");
        let console = engine.stderr.take().expect("standard error is piped");
        let shared = Arc::new(Shared::default());
        let (sender, heard) = channel();
        watch_console(console, shared.clone());
        read_messages(from, Pid::from_child(&engine), sender, shared.clone());
        let mut facts = Environment::default();
        facts.put("guest.engine", start.engine.name());
        facts.put("guest.package", &start.kernel.package);
        facts.0.extend(engine::facts(start.boot).0);
        let (to, stretched_by) = (Arc::new(Mutex::new(to)), start.stretched_by);
        Ok(Guest { engine, to, heard, shared, stretched_by, facts })
    }

    /// `guest.*` and `mount.*`, as told from inside.
    pub fn facts(&self) -> &Environment {
        &self.facts
    }

    /// `words` stand behind `worker`: none for a trial.
    pub fn start_lanes(&self, count: u16, inbox: &Sender<Heard>, words: &[&str]) {
        let words = words.iter().map(|&word| word.into()).collect();
        lock(&self.shared.ends).clear();
        *lock(&self.shared.last_words) = (0..count).map(|_| LastWords::default()).collect();
        *lock(&self.shared.lanes) = (0..count).map(|lane| (lane, inbox.clone())).collect();
        self.tell(&ToGuest::StartLanes { count, words });
        // A guest that is dead already has told its end to the lanes before these.
        if lock(&self.shared.end).is_some() {
            end_all_lanes(&self.shared);
        }
    }

    /// This program in the guest as `pickfs worker WORDS`, for something that is no trial: it is given one line, and each
    /// line that it says is heard, until `hear` refuses one: only silence has a limit here.
    ///
    /// # Errors
    /// It was silent for too long, said what is refused, ended otherwise than well, or the guest did.
    pub fn task(
        &self,
        words: &[&str],
        given: &str,
        hear: &mut dyn FnMut(&str) -> Result<(), String>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), GuestError> {
        let talk = self.talk(words);
        talk.say(given);
        while let Some(line) = self.hear(&talk, stop)? {
            let (phase, told) = (GuestPhase::Task, hear(&line));
            told.map_err(|reason| GuestError::Told { phase, reason, console: self.console() })?;
        }
        Ok(())
    }

    /// The same, where what it is given depends on what it says.
    pub fn talk(&self, words: &[&str]) -> Talk {
        let (inbox, said) = channel();
        self.start_lanes(1, &inbox, words);
        Talk { line: self.line_to(0), said }
    }

    /// Its next line; `None` where it has ended well.
    pub fn hear(&self, talk: &Talk, stop: &dyn Fn() -> bool) -> Result<Option<String>, GuestError> {
        let (phase, since) = (GuestPhase::Task, Instant::now());
        let limit = phase.limit(self.stretched_by);
        loop {
            let heard = talk.said.recv_timeout(POLL);
            if stop() {
                return Err(GuestError::Interrupted);
            }
            match heard {
                Ok(Heard { line: Some(line), .. }) => return Ok(Some(line)),
                Err(RecvTimeoutError::Timeout) if since.elapsed() > limit => {
                    let (limit_s, console) = (limit.as_secs_f64(), self.console());
                    return Err(GuestError::Missed { phase, limit_s, console });
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Heard { line: None, .. }) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let console = self.console();
        match lock(&self.shared.ends).remove(&0) {
            Some(how) if how == ENDED_WELL => Ok(None),
            Some(how) => {
                let reason = self.shared.with_last_words(0, how, ": ");
                Err(GuestError::Told { phase, reason, console })
            }
            None => {
                let how = lock(&self.shared.end).clone().unwrap_or_default();
                Err(GuestError::Died { phase, how, console })
            }
        }
    }

    pub fn line_to(&self, lane: u16) -> LaneLine {
        LaneLine { lane, to: self.to.clone(), shared: self.shared.clone() }
    }

    pub fn cool(&self, stop: &dyn Fn() -> bool) -> Result<(), GuestError> {
        self.tell(&ToGuest::Cool);
        self.expect_word(GuestPhase::Cool, stop, FromGuest::Cooled)
    }

    pub fn unmount(&self, stop: &dyn Fn() -> bool) -> Result<(), GuestError> {
        self.tell(&ToGuest::Unmount);
        self.expect_word(GuestPhase::Unmount, stop, FromGuest::Unmounted)
    }

    /// Waits until nothing of the guest is left.
    pub fn end(self, stop: &dyn Fn() -> bool) -> Result<(), GuestError> {
        self.unmount(stop)?;
        self.tell(&ToGuest::End);
        self.expect_word(GuestPhase::PowerOff, stop, FromGuest::Ended)?;
        match self.expect(GuestPhase::PowerOff, stop, |_| None) {
            Err(GuestError::Died { .. }) => Ok(()),
            other => other,
        }
    }

    /// A guest that is gone shows as the end of its stream.
    fn tell(&self, what: &ToGuest) {
        let _ = send(what, &mut *lock(&self.to));
    }

    fn expect_word(
        &self,
        phase: GuestPhase,
        stop: &dyn Fn() -> bool,
        word: FromGuest,
    ) -> Result<(), GuestError> {
        self.expect(phase, stop, |event| (event == word).then_some(()))
    }

    /// Lanes that end meanwhile are noted.
    fn expect<T>(
        &self,
        phase: GuestPhase,
        stop: &dyn Fn() -> bool,
        wanted: impl Fn(FromGuest) -> Option<T>,
    ) -> Result<T, GuestError> {
        let (began, limit) = (Instant::now(), phase.limit(self.stretched_by));
        loop {
            match self.heard.recv_timeout(POLL) {
                Ok(FromGuest::Failed { reason }) => {
                    return Err(GuestError::Told { phase, reason, console: self.console() });
                }
                Ok(event) => {
                    if let Some(found) = wanted(event) {
                        return Ok(found);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let how = lock(&self.shared.end).clone().unwrap_or_default();
                    return Err(GuestError::Died { phase, how, console: self.console() });
                }
            }
            if stop() {
                return Err(GuestError::Interrupted);
            }
            if began.elapsed() > limit {
                let (limit_s, console) = (limit.as_secs_f64(), self.console());
                return Err(GuestError::Missed { phase, limit_s, console });
            }
        }
    }

    fn console(&self) -> String {
        console_end(&self.shared)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.engine.kill();
        // One that waits for a dead disk cannot be killed.
        if ended_within(&self.engine, KILLED_WITHIN).is_none() {
            let number = self.engine.id();
            let _ = LEFT.set(format!(
                "the guest's engine, process {number}, was killed and goes on: it waits for the disk under its image"
            ));
        }
        let _ = self.engine.try_wait();
    }
}

/// With a program in a guest.
pub struct Talk {
    line: LaneLine,
    said: Receiver<Heard>,
}

impl Talk {
    pub fn say(&self, line: &str) {
        self.line.say(line);
    }
}

pub struct LaneLine {
    lane: u16,
    to: Arc<Mutex<ChildStdin>>,
    shared: Arc<Shared>,
}

impl LaneLine {
    /// Without its end. A guest that is gone shows as the end of the lane's words.
    pub fn say(&self, line: &str) {
        let say = ToGuest::Say { lane: self.lane, line: line.to_owned() };
        let _ = send(&say, &mut *lock(&self.to));
    }

    /// How the lane ended: its own code or signal, or the end of the whole guest; with the console and its last words.
    pub fn how_it_ended(&self) -> String {
        let told = lock(&self.shared.ends).get(&self.lane).cloned();
        let console = console_end(&self.shared);
        let end = lock(&self.shared.end).clone().unwrap_or_default();
        let how = told.unwrap_or_else(|| format!("the end of its guest ({end})"));
        let how = if console.is_empty() { how } else { format!("{how}; console: {console}") };
        // Last, as a published run leaves it out, and only it.
        self.shared.with_last_words(self.lane, how, "; it said: ")
    }
}

impl Shared {
    fn with_last_words(&self, lane: u16, how: String, joint: &str) -> String {
        match lock(&self.last_words).get(usize::from(lane)) {
            Some(words) => words.behind(&how, joint, Duration::ZERO),
            None => how,
        }
    }
}

fn console_end(shared: &Shared) -> String {
    let lines = lock(&shared.console);
    lines[lines.len().saturating_sub(CONSOLE_LINES_TOLD)..].join(" | ")
}

fn watch_console(stream: impl Read + Send + 'static, shared: Arc<Shared>) {
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while let Ok(1..) = stream.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            line.clear();
            let mut lines = lock(&shared.console);
            if lines.len() >= CONSOLE_LINES {
                lines.remove(0);
            }
            if !text.is_empty() {
                lines.push(text);
            }
        }
    });
}

/// Until the engine has ended, which is not reaped here.
fn read_messages(
    stream: impl Read + Send + 'static,
    engine: Pid,
    to: Sender<FromGuest>,
    shared: Arc<Shared>,
) {
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        while let Some(message) = receive(&mut stream) {
            hear(message.unwrap_or_else(|reason| FromGuest::Failed { reason }), &to, &shared);
        }
        let ended = waitid(WaitId::Pid(engine), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let how = ended.ok().flatten().map_or_else(|| "an unknown cause".into(), how);
        *lock(&shared.end) = Some(how);
        end_all_lanes(&shared);
    });
}

fn end_all_lanes(shared: &Shared) {
    let lanes: Vec<u16> = lock(&shared.lanes).keys().copied().collect();
    lanes.into_iter().for_each(|lane| end_lane(shared, lane));
}

fn hear(message: FromGuest, to: &Sender<FromGuest>, shared: &Shared) {
    match message {
        FromGuest::Said { lane, line } => {
            if let Some(inbox) = lock(&shared.lanes).get(&lane) {
                let _ = inbox.send(Heard { lane: lane.into(), line: Some(line) });
            }
        }
        FromGuest::Complained { lane, line } => {
            if let Some(words) = lock(&shared.last_words).get(usize::from(lane)) {
                words.add(&line);
            }
        }
        FromGuest::LaneEnded { lane, how } => {
            lock(&shared.ends).insert(lane, how);
            end_lane(shared, lane);
        }
        event => drop(to.send(event)),
    }
}

fn end_lane(shared: &Shared, lane: u16) {
    if let Some(inbox) = lock(&shared.lanes).remove(&lane) {
        let _ = inbox.send(Heard { lane: lane.into(), line: None });
    }
}

/// Data behind a lock stays whole when a thread panics: each change is one call.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
