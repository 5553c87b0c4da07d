use std::{
    path::PathBuf,
    sync::atomic::{
        AtomicBool,
        Ordering::{Acquire, Release},
    },
    thread,
    time::Duration,
};

use pickfs_queue::{Allocation, Queue};
use pickfs_record::Arrival;
use pickfs_workload::{
    arrival,
    drive::{Pace, Span},
    fault::Fault,
    measurement::{Measured, Measurement},
    null,
    workload::{Prepared, Session},
};

use crate::queue::{
    appending::Appending,
    channel::{Channel, fault},
    params,
    reader::Reader,
    verify,
};

const WARM_UP_GRACE_NS: u64 = 60_000_000_000;
const RETIRE_EACH: Duration = Duration::from_millis(500);

pub(super) struct Ready {
    directory: PathBuf,
    channel: Channel,
    appending: Appending,
    reader: Reader,
    arrival: Arrival,
    notes: Vec<String>,
    no_io: Vec<(&'static str, f64)>,
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
            arrival: arrival::arrival(params, recording.as_ref()),
            notes: notes(session, &channel),
            directory,
            channel,
            appending,
            no_io: Vec::new(),
        })
    }

    fn pace(&self, session: &Session, is_warm_up: bool) -> Pace {
        let seed = session.spec.seed ^ u64::from(is_warm_up);
        Pace::new(self.arrival.clone(), seed, arrival::spin_below_ns(&session.params))
    }

    fn run(&mut self, session: &Session, span: Span, is_warm_up: bool) -> Result<Measured, Fault> {
        let mut pace = self.pace(session, is_warm_up);
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
        let turns = (self.appending.sent() - sent).max(1);
        let late = self.appending.turns_late - late;
        let counts = [
            ("messages", self.appending.sent() - sent),
            ("rolls", self.appending.sink.rolls() - rolls),
            ("sent_late", late),
        ];
        measured.counts.extend(counts.into_iter().map(|(name, n)| (name.to_string(), n as f64)));
        let no_io = self.no_io.iter().map(|(name, value)| (name.to_string(), *value));
        measured.counts.extend(no_io);
        measured.notes.extend(doubt(measured, late as f64 / turns as f64));
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
    let cpu = |cpu: Option<u32>| cpu.map_or("any CPU".into(), |cpu| format!("CPU {cpu}"));
    let appender = cpu(session.spec.cpu);
    match session.params.text("tailer") {
        "none" => format!("one thread: the appender on {appender}"),
        _ => {
            let what = match params::reads_in_process(&session.params) {
                true => "two processes",
                false => "two threads of one process with a mapping each",
            };
            let tailer = cpu(session.spec.helper_cpu);
            format!("{what}: appender on {appender}, tailer on {tailer}")
        }
    }
}

/// A cell off its rate by more than one in a hundred says so.
fn doubt(measured: &Measured, late_share: f64) -> Option<String> {
    let asked_per_s = measured.load.asked_per_s?;
    let achieved_per_s = measured.load.achieved_per_s;
    if achieved_per_s < 0.99 * asked_per_s {
        return Some(format!("off its rate: {achieved_per_s:.0} of {asked_per_s:.0} a second"));
    }
    (late_share > 0.01).then(|| {
        format!(
            "{:.1} % of the messages were sent over 1 us after they were due",
            late_share * 100.0
        )
    })
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
        let length_ns = session.spec.warmup_ns;
        let length_ns_max = 2 * length_ns + WARM_UP_GRACE_NS;
        let span = Span { length_ns, bytes: session.spec.warmup_bytes, length_ns_max, drain_ns: 0 };
        self.no_io = null::without_io(session, self.pace(session, true))?;
        Ok(self.run(session, span, true)?.load.measured_ns)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        let appending = &self.appending;
        let before = [appending.sent(), appending.sink.rolls(), appending.turns_late];
        let mut measured = self.run(session, Span::time(session.spec.measure_ns), false)?;
        self.count(before, &mut measured);
        Ok(measured)
    }

    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        match self.channel.queue() {
            Some(_) => {
                verify::verify(&self.directory, &self.appending.pattern, self.appending.sent())
            }
            // Each was compared when it was read.
            None => Ok(self.appending.sent()),
        }
    }
}
