//! A guest that runs: started, spoken to, watched by deadlines, and ended whole.
//!
//! ```text
//! lab thread ── ToGuest, words of lanes ─► stdin of the engine ─► agent
//!            ◄─ FromGuest ──┐
//! lanes      ◄─ lines ──────┴─ reader ◄─ stdout of the engine
//! errors     ◄─ last lines ── console ◄─ stderr of the engine
//! watcher: waits for the end of the keeper, which ends with its guest
//! ```

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, ChildStdin, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant},
};

use pickfs_record::Environment;
use pickfs_sys::{proc_root::ProcRoot, process::tree_of};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use crate::{
    deadline::{Deadlines, GuestPhase},
    engine::{self, Boot, Engine, Kernel},
    error::GuestError,
    frame::{Frame, FrameReader, Stream},
    keeper::keeper,
    message::{FromGuest, Order, ToGuest},
};

const CONSOLE_LINES: usize = 200;
const CONSOLE_LINES_TOLD: usize = 6;
const POLL: Duration = Duration::from_millis(50);

/// What is done with the lines of a lane; `None` when nothing follows.
pub type LineSink = Box<dyn Fn(Option<String>) + Send>;

pub struct LaneSink {
    pub words: LineSink,
    pub errors: LineSink,
}

pub struct Start<'a> {
    pub engine: Engine,
    pub kernel: &'a Kernel,
    pub boot: &'a Boot,
    /// The worker program of the host, which keeps the guest.
    pub worker: &'a Path,
    pub deadlines: Deadlines,
    pub stop: &'a dyn Fn() -> bool,
}

pub struct Guest {
    keeper: Child,
    to: Arc<Mutex<ChildStdin>>,
    heard: Receiver<FromGuest>,
    shared: Arc<Shared>,
    deadlines: Deadlines,
    facts: Environment,
    /// The group of the engine, once it has spoken.
    group: Option<Pid>,
}

#[derive(Default)]
struct Shared {
    console: Mutex<Vec<String>>,
    lanes: Mutex<HashMap<u16, LaneSink>>,
    ends: Mutex<HashMap<u16, String>>,
    /// How the stream broke, or the keeper ended.
    end: Mutex<Option<String>>,
}

impl Guest {
    /// After an error nothing of the guest is left.
    pub fn boot(start: &Start<'_>) -> Result<Guest, GuestError> {
        let mut guest = Guest::spawn(start)?;
        let mut facts = Environment::default();
        guest.expect(GuestPhase::Boot, start.stop, |event| match event {
            FromGuest::Booted { build, kernel } => {
                facts.put("guest.kernel", kernel);
                facts.put("guest.build", build);
                true
            }
            _ => false,
        })?;
        guest.group = guest.below_the_keeper().first().copied();
        take(&mut guest.facts, facts);
        Ok(guest)
    }

    pub fn calibrate(&mut self, stop: &dyn Fn() -> bool) -> Result<(), GuestError> {
        self.tell(&ToGuest::Calibrate);
        self.expect_facts(GuestPhase::Calibrate, stop)
    }

    /// After an error the guest has ended.
    pub fn mount(&mut self, order: Order, stop: &dyn Fn() -> bool) -> Result<(), GuestError> {
        self.tell(&ToGuest::Mount(Box::new(order)));
        self.expect(GuestPhase::Modules, stop, |event| event == FromGuest::ModulesLoaded)?;
        self.expect_facts(GuestPhase::Mount, stop)
    }

    fn expect_facts(
        &mut self,
        phase: GuestPhase,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), GuestError> {
        let mut facts = Environment::default();
        self.expect(phase, stop, |event| match event {
            FromGuest::Calibrated { facts: found } | FromGuest::Mounted { facts: found } => {
                take(&mut facts, found)
            }
            _ => false,
        })?;
        take(&mut self.facts, facts);
        Ok(())
    }

    fn spawn(start: &Start<'_>) -> Result<Guest, GuestError> {
        let mut command = keeper(start.worker, &start.engine.command(start.kernel, start.boot));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut keeper = command
            .process_group(0)
            .spawn()
            .map_err(|cause| GuestError::NotStarted { program: start.worker.to_owned(), cause })?;
        let to = keeper.stdin.take().expect("standard input is piped");
        let from = keeper.stdout.take().expect("standard output is piped");
        let console = keeper.stderr.take().expect("standard error is piped");
        let shared = Arc::new(Shared::default());
        let (sender, heard) = channel();
        watch_console(console, shared.clone());
        read_frames(from, sender, shared.clone());
        watch_keeper(Pid::from_child(&keeper), shared.clone());
        let mut facts = Environment::default();
        facts.put("guest.engine", start.engine.name());
        facts.put("guest.package", &start.kernel.package);
        take(&mut facts, engine::facts(start.boot));
        let to = Arc::new(Mutex::new(to));
        let deadlines = start.deadlines;
        Ok(Guest { keeper, to, heard, shared, deadlines, facts, group: None })
    }

    /// `guest.*` and `mount.*`, as told from inside.
    pub fn facts(&self) -> &Environment {
        &self.facts
    }

    pub fn start_lanes(&self, sinks: Vec<LaneSink>) {
        let count = sinks.len() as u16;
        lock(&self.shared.ends).clear();
        *lock(&self.shared.lanes) = (0..).zip(sinks).collect();
        self.tell(&ToGuest::StartLanes { count });
        // A guest that is dead already has told its end to the lanes before these.
        if lock(&self.shared.end).is_some() {
            end_all_lanes(&self.shared);
        }
    }

    pub fn line_to(&self, lane: u16) -> LaneLine {
        LaneLine { lane, to: self.to.clone(), shared: self.shared.clone() }
    }

    pub fn cool(&self, stop: &dyn Fn() -> bool) -> Result<(), GuestError> {
        self.tell(&ToGuest::Cool);
        self.expect(GuestPhase::Cool, stop, |event| event == FromGuest::Cooled)
    }

    /// Writes, unmounts and mounts again (where `anew`: what is in memory would be gone), and compares; gives
    /// files and bytes.
    pub fn check(&self, anew: bool, stop: &dyn Fn() -> bool) -> Result<(u64, u64), GuestError> {
        self.tell(&ToGuest::Check { anew });
        let mut counted = (0, 0);
        self.expect(GuestPhase::Check, stop, |event| match event {
            FromGuest::Checked { files, bytes } => {
                counted = (files, bytes);
                true
            }
            _ => false,
        })?;
        Ok(counted)
    }

    pub fn unmount(&self, stop: &dyn Fn() -> bool) -> Result<(), GuestError> {
        self.tell(&ToGuest::Unmount);
        self.expect(GuestPhase::Unmount, stop, |event| event == FromGuest::Unmounted)
    }

    /// Waits until nothing of the guest is left.
    pub fn end(self, stop: &dyn Fn() -> bool) -> Result<(), GuestError> {
        self.unmount(stop)?;
        self.tell(&ToGuest::End);
        self.expect(GuestPhase::PowerOff, stop, |event| event == FromGuest::Ended)?;
        let began = Instant::now();
        while began.elapsed() < self.deadlines.limit(GuestPhase::PowerOff) {
            if lock(&self.shared.end).is_some() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(self.missed(GuestPhase::PowerOff))
    }

    fn tell(&self, what: &ToGuest) {
        let payload = serde_json::to_vec(what).expect("messages are plain data");
        // A guest that is gone shows as the end of its stream.
        let _ = Frame::agent(payload).write_to(&mut *lock(&self.to));
    }

    /// Lanes that end meanwhile are noted.
    fn expect(
        &self,
        phase: GuestPhase,
        stop: &dyn Fn() -> bool,
        mut is_it: impl FnMut(FromGuest) -> bool,
    ) -> Result<(), GuestError> {
        let began = Instant::now();
        loop {
            match self.heard.recv_timeout(POLL) {
                Ok(FromGuest::Failed { reason }) => {
                    return Err(GuestError::Told { phase, reason, console: self.console() });
                }
                Ok(event) => {
                    if is_it(event) {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.died(phase)),
            }
            if stop() {
                return Err(GuestError::Interrupted);
            }
            if began.elapsed() > self.deadlines.limit(phase) {
                return Err(self.missed(phase));
            }
        }
    }

    fn missed(&self, phase: GuestPhase) -> GuestError {
        let limit_s = self.deadlines.limit(phase).as_secs_f64();
        GuestError::Missed { phase, limit_s, console: self.console() }
    }

    fn died(&self, phase: GuestPhase) -> GuestError {
        GuestError::Died { phase, how: how_ended(&self.shared), console: self.console() }
    }

    fn console(&self) -> String {
        console_end(&self.shared)
    }

    /// The engine first.
    fn below_the_keeper(&self) -> Vec<Pid> {
        let tree = tree_of(self.keeper.id(), &ProcRoot::own()).unwrap_or_default();
        tree.iter().skip(1).filter_map(|process| Pid::from_raw(process.process_id as i32)).collect()
    }
}

/// How long a keeper may take to end its guest.
const KEEPER_ENDS: Duration = Duration::from_secs(10);

impl Drop for Guest {
    /// Whatever is left of the guest ends here: by its keeper, and when that does not end, by us.
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.keeper), Signal::TERM);
        let began = Instant::now();
        while matches!(self.keeper.try_wait(), Ok(None)) && began.elapsed() < KEEPER_ENDS {
            std::thread::sleep(Duration::from_millis(5));
        }
        let ended = self.keeper.try_wait().ok().flatten();
        if ended.is_none() {
            for process in self.below_the_keeper() {
                let _ = kill_process(process, Signal::KILL);
            }
            let _ = kill_process(Pid::from_child(&self.keeper), Signal::KILL);
            let _ = self.keeper.wait();
        }
        // A keeper that was killed itself has ended nothing.
        let was_killed = ended.is_some_and(|status| status.signal().is_some());
        if let Some(group) = self.group.filter(|_| was_killed) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

fn take(facts: &mut Environment, found: Environment) -> bool {
    facts.0.extend(found.0);
    true
}

pub struct LaneLine {
    lane: u16,
    to: Arc<Mutex<ChildStdin>>,
    shared: Arc<Shared>,
}

impl LaneLine {
    /// Without its end. A guest that is gone shows as the end of the lane's words.
    pub fn say(&self, line: &str) {
        let frame =
            Frame { stream: Stream::Words, lane: self.lane, payload: line.as_bytes().to_vec() };
        let _ = frame.write_to(&mut *lock(&self.to));
    }

    /// How the lane ended: its own code or signal, or the end of the whole guest with its console.
    pub fn how_it_ended(&self) -> String {
        let told = lock(&self.shared.ends).get(&self.lane).cloned();
        let console = console_end(&self.shared);
        let how =
            told.unwrap_or_else(|| format!("the end of its guest ({})", how_ended(&self.shared)));
        if console.is_empty() { how } else { format!("{how}; console: {console}") }
    }
}

fn how_ended(shared: &Shared) -> String {
    // The stream ends a moment before the watcher has seen why.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        if let Some(how) = lock(&shared.end).clone() {
            return how;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    "its stream ended".into()
}

fn console_end(shared: &Shared) -> String {
    let lines = lock(&shared.console);
    lines[lines.len().saturating_sub(CONSOLE_LINES_TOLD)..].join(" | ")
}

fn watch_console(stream: impl Read + Send + 'static, shared: Arc<Shared>) {
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while matches!(stream.read_until(b'\n', &mut line), Ok(1..)) {
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

fn read_frames(stream: impl Read + Send + 'static, to: Sender<FromGuest>, shared: Arc<Shared>) {
    std::thread::spawn(move || {
        let mut reader = FrameReader::new(stream);
        loop {
            match reader.next_frame() {
                Ok(Some(frame)) => hear(frame, &to, &shared),
                Ok(None) => break,
                Err(error) => {
                    lock(&shared.end).get_or_insert(error.to_string());
                    break;
                }
            }
        }
        // What an engine prints before the kernel has a console: why it did not start.
        let stray = reader.stray();
        lock(&shared.console).extend(stray.lines().map(str::to_owned));
        end_all_lanes(&shared);
    });
}

fn hear(frame: Frame, to: &Sender<FromGuest>, shared: &Shared) {
    let text = String::from_utf8_lossy(&frame.payload).into_owned();
    match frame.stream {
        Stream::Agent => match serde_json::from_str(&text) {
            Ok(FromGuest::LaneEnded { lane, how }) => {
                lock(&shared.ends).insert(lane, how);
                end_lane(shared, lane);
            }
            Ok(event) => drop(to.send(event)),
            Err(error) => {
                drop(
                    to.send(FromGuest::Failed { reason: format!("`{text}` is no event: {error}") }),
                );
            }
        },
        Stream::Words => with_lane(shared, frame.lane, |sink| (sink.words)(Some(text))),
        Stream::Errors => with_lane(shared, frame.lane, |sink| (sink.errors)(Some(text))),
    }
}

fn with_lane(shared: &Shared, lane: u16, work: impl FnOnce(&LaneSink)) {
    if let Some(sink) = lock(&shared.lanes).get(&lane) {
        work(sink);
    }
}

fn end_lane(shared: &Shared, lane: u16) {
    if let Some(sink) = lock(&shared.lanes).remove(&lane) {
        (sink.errors)(None);
        (sink.words)(None);
    }
}

fn end_all_lanes(shared: &Shared) {
    let lanes: Vec<u16> = lock(&shared.lanes).keys().copied().collect();
    lanes.into_iter().for_each(|lane| end_lane(shared, lane));
}

/// Waits for the keeper without reaping it: with it all of the guest has ended.
fn watch_keeper(keeper: Pid, shared: Arc<Shared>) {
    std::thread::spawn(move || {
        let how = match waitid(WaitId::Pid(keeper), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) if code > 128 => format!("signal {}", code - 128),
                (Some(code), _) => format!("exit code {code}"),
                (_, Some(signal)) => format!("signal {signal}"),
                _ => "an unknown cause".into(),
            },
            // Reaped by the guest's own end.
            _ => return,
        };
        lock(&shared.end).get_or_insert(how);
    });
}

/// Data behind a lock stays whole when a thread panics: each change is one call.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
