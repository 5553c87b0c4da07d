use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread;
use std::time::Duration;

use pickfs_queue::{Allocation, Queue};
use pickfs_workload::arrival::{self, Schedule};
use pickfs_workload::drive::Span;
use pickfs_workload::fault::Fault;
use pickfs_workload::measurement::{Measured, Measurement};
use pickfs_workload::workload::{Prepared, Session};

use crate::pattern::Pattern;
use crate::queue::appending::{Appending, told};
use crate::queue::channel::{Channel, fault};
use crate::queue::params;
use crate::queue::tailing::Reader;

const RETIRE_EACH: Duration = Duration::from_millis(500);

pub(super) struct Ready {
    directory: PathBuf,
    channel: Channel,
    appending: Appending,
    reader: Reader,
    schedule: Schedule,
    notes: Vec<String>,
}

impl Ready {
    pub(super) fn new(session: &Session) -> Result<Self, Fault> {
        let (params, spec) = (&session.params, &session.spec);
        let recording = arrival::recording(params)?;
        let directory = params::directory(session);
        let channel = Channel::make(&directory, params)?;
        let size = params.integer("size") as usize;
        let appending = Appending::new(channel.sink()?, size, spec.seed);
        Ok(Ready {
            reader: Reader::new(session, &channel, &appending.pattern)?,
            schedule: Schedule::of(params, recording.as_ref()),
            notes: notes(session, &channel),
            directory,
            channel,
            appending,
        })
    }

    fn run(&mut self, session: &Session, span: Span, is_warm_up: bool) -> Result<Measured, Fault> {
        let mut pace = self.schedule.pace(session, is_warm_up);
        let setup = session.measurement(is_warm_up);
        let appender = Measurement { ops: vec![params::APPEND.into()], ..setup.clone() };
        let over = AtomicBool::new(false);
        let (appending, reader) = (&mut self.appending, &mut self.reader);
        let (queue, over) = (self.channel.queue(), &over);
        thread::scope(|scope| {
            let reading = reader.begin(scope, session, &setup, is_warm_up)?;
            let retiring = queue
                .map(|queue| scope.spawn(move || retire(queue, session.spec.helper_cpu, over)));
            let written = appender.run(appending, &mut pace, span);
            let read = reading.end(appending.sent());
            over.store(true, Release);
            if let Some(retiring) = retiring {
                retiring.thread().unpark();
                joined(retiring)?;
            }
            let mut measured = written?;
            measured.ops.extend(read?);
            Ok(measured)
        })
    }

    fn count(&self, before: [u64; 3], measured: &mut Measured) {
        let [sent, rolls, late] = before;
        let arrivals = (self.appending.sent() - sent).max(1);
        let late = self.appending.arrivals_late - late;
        let counts = [
            ("messages", self.appending.sent() - sent),
            ("rolls", self.appending.sink.rolls() - rolls),
            ("sent_late", late),
        ];
        self.schedule.count(&counts, measured);
        measured.notes.extend(arrival::doubt(measured, "messages", late as f64 / arrivals as f64));
    }
}

fn notes(session: &Session, channel: &Channel) -> Vec<String> {
    let asked = params::options(&session.params).allocation;
    let zeros = channel.queue().and_then(|queue| allocation_note(queue, asked));
    [Some(roles(session)), zeros].into_iter().flatten().collect()
}

/// That segments are filled with zeros, if that was left to the file system.
pub(crate) fn allocation_note(queue: &Queue, asked: Allocation) -> Option<String> {
    (asked == Allocation::Either && queue.allocation() == Allocation::ZeroFill)
        .then(|| "fallocate not supported on this file system: zero-filled instead".to_owned())
}

fn roles(session: &Session) -> String {
    let appender = crate::cpu(session.spec.cpu);
    match session.params.text("tailer") {
        "none" => format!("one thread: the appender on {appender}"),
        _ => {
            let what = match params::reads_in_process(&session.params) {
                true => "two processes",
                false => "two threads of one process with a mapping each",
            };
            let tailer = crate::cpu(session.spec.helper_cpu);
            format!("{what}: appender on {appender}, tailer on {tailer}")
        }
    }
}

fn retire(queue: &Queue, cpu: Option<u32>, over: &AtomicBool) -> Result<(), Fault> {
    pickfs_workload::placement::pin(cpu)?;
    loop {
        let is_last = over.load(Acquire);
        queue.retire().map_err(fault)?;
        if is_last {
            return Ok(());
        }
        thread::park_timeout(RETIRE_EACH);
    }
}

pub(super) fn joined<T>(
    thread: thread::ScopedJoinHandle<'_, Result<T, Fault>>,
) -> Result<T, Fault> {
    let died = || Fault::Failed { reason: "a thread beside the appender died".into() };
    thread.join().unwrap_or_else(|_| Err(died()))
}

impl Prepared for Ready {
    fn warm_up(&mut self, session: &Session) -> Result<u64, Fault> {
        let span = self.schedule.warm_up(session)?;
        Ok(self.run(session, span, true)?.load.measured_ns)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        let appending = &self.appending;
        let before = [appending.sent(), appending.sink.rolls(), appending.arrivals_late];
        let mut measured = self.run(session, Span::time(session.spec.measure_ns), false)?;
        self.count(before, &mut measured);
        Ok(measured)
    }

    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        match self.channel.queue() {
            Some(_) => verify(&self.directory, &self.appending.pattern, self.appending.sent()),
            // Each was compared when it was read.
            None => Ok(self.appending.sent()),
        }
    }
}

pub(super) fn verify(directory: &Path, pattern: &Pattern, sent: u64) -> Result<u64, Fault> {
    let queue = Queue::open_read_only(directory).map_err(fault)?;
    let mut tailer = queue.tailer().map_err(fault)?;
    let (mut checked, mut last) = (0, 0);
    while let Some(message) = tailer.poll().map_err(fault)? {
        let number = told(message.payload).map_or(0, |told| told.number);
        let is_next = last == 0 || number == last + 1;
        if !is_next || number != message.sequence || !pattern.is_of(message.payload, number) {
            let what =
                format!("message {} behind message {last} is not what was sent", message.sequence);
            return Err(Fault::Wrong { what });
        }
        last = number;
        checked += 1;
    }
    if last != sent {
        return Err(Fault::Wrong {
            what: format!("the last message is {last}, and {sent} were sent"),
        });
    }
    Ok(checked)
}
