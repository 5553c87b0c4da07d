use std::{fs::File, path::PathBuf, sync::RwLock, thread};

use pickfs_journal::Preallocation;
use pickfs_record::{Arrival, MonotonicClock, RecorderOptions, recorder};
use pickfs_sys::{
    residency::{self, ResidentPages, resident_pages},
    sigbus::Registration,
};

use crate::{
    arrival::{self, Schedule},
    bench::Bench,
    drive::{Driven, Pace, Span, Work, drive},
    fault::Fault,
    journal::{
        appending::{Appending, Done},
        neighbour::Neighbour,
        params,
        reading::{Found, How, Reading},
        stamp::file_path,
        verify, wear,
    },
    measurement::{Measured, Measurement},
    param::Resolved,
    workload::{Prepared, Session},
};

/// The closed loop at the end of a trial writes no more: what follows reads it back.
const SUSTAINED_BYTES_MAX: u64 = 128 << 20;

pub(super) struct Ready {
    directory: PathBuf,
    appending: Appending,
    readers: Vec<Reading>,
    neighbour: Option<Neighbour>,
    schedule: Schedule,
    notes: Vec<String>,
    warm_up: Done,
    _guard: Option<Registration>,
}

impl Ready {
    pub(super) fn new(session: &Session) -> Result<Self, Fault> {
        let (params, spec) = (&session.params, &session.spec);
        let recording = arrival::recording(params)?;
        let mut notes = Vec::new();
        if params.text("state") == "worn" {
            notes.push(wear::wear(&spec.directory, params.integer("worn_bytes"))?);
        }
        let directory = spec.directory.join(format!("journal-{}", spec.lane));
        let appending = Appending::create(&directory, params, recording.as_ref(), spec.seed)?;
        notes.extend_from_slice(appending.journal.notes());
        if appending.is_raw() {
            notes.push("bare records: no recovery, content compared by place".into());
        }
        Ok(Ready {
            readers: readers(&appending, &directory, session),
            neighbour: neighbour(&appending, session)?,
            schedule: Schedule::of(params, recording.as_ref()),
            _guard: guard(params, &directory),
            directory,
            appending,
            notes,
            warm_up: Done::default(),
        })
    }

    fn run(&mut self, session: &Session, span: Span, is_warm_up: bool) -> Result<Measured, Fault> {
        let mut pace = self.schedule.pace(session, is_warm_up);
        let setup = session.measurement(is_warm_up);
        let writer_ops = params::writer_ops(&session.params);
        let writer = Measurement {
            ops: writer_ops.into_iter().map(String::from).collect(),
            ..setup.clone()
        };
        let published = self.appending.published.clone();
        published.stop(false);
        let (appending, readers, neighbour) =
            (&mut self.appending, &mut self.readers, &mut self.neighbour);
        let beside = Measurement { live: None, ..setup };
        // What runs beside the writer begins with it, or when it cannot.
        let start = RwLock::new(());
        let not_yet = start.write();
        let start = &start;
        thread::scope(|scope| {
            let readers = readers.iter_mut().zip(0..).map(|(reader, number)| {
                reader.found = Found::default();
                let setup = Measurement { ops: vec![params::reader_op(number)], ..beside.clone() };
                let pace = (reader.how.rate_per_s, reader.seed);
                scope.spawn(move || run_beside(c"reader", (session, start), &setup, pace, reader))
            });
            let neighbours = neighbour.iter_mut().map(|one| {
                one.files = 0;
                let setup = Measurement { ops: Vec::new(), spikes_max: 0, ..beside.clone() };
                let pace = (one.rate_per_s, 0);
                scope.spawn(move || run_beside(c"neighbour", (session, start), &setup, pace, one))
            });
            let threads: Vec<_> = readers.chain(neighbours).collect();
            let responses = pace.is_open();
            let written = writer.run_when(appending, (&mut pace, responses), span, || {
                writer.begin()?;
                drop(not_yet);
                Ok(())
            });
            published.stop(true);
            let read: Vec<_> = threads.into_iter().map(joined).collect();
            let mut measured = written?;
            for read in read {
                measured.ops.extend(read?.ops);
            }
            Ok(measured)
        })
    }

    /// What is in memory of the file behind the current one, where the preallocation keeps it hot: something else on the
    /// machine may have cooled it.
    fn next_file(&self) -> Option<ResidentPages> {
        if self.appending.journal.options().preallocation != Preallocation::ZeroFilledHot {
            return None;
        }
        let path = file_path(&self.directory, self.appending.files.last()?.0 + 1);
        resident_pages(&File::options().read(true).write(true).open(path).ok()?).ok()
    }

    fn count(&self, before: Done, measured: &mut Measured) {
        let done = self.appending.done;
        let mut counts = vec![
            ("bytes_written", done.bytes_written - before.bytes_written),
            ("syncs", done.syncs - before.syncs),
            ("rolls", done.rolls - before.rolls),
            ("roll_waits", self.appending.journal.roll_waits()),
            ("warmup_bytes", self.warm_up.bytes_written),
        ];
        if !self.readers.is_empty() {
            let sum = |count: fn(&Reading) -> u64| self.readers.iter().map(count).sum();
            counts.extend([
                ("reads", sum(|reader| reader.found.reads)),
                ("reads_of_rewritten", sum(|reader| reader.found.reads_of_rewritten)),
                ("reads_mixed", sum(|reader| reader.found.mixed)),
                ("reads_not_cold", sum(|reader| reader.found.not_cold)),
                ("rewrites", done.rewrites - before.rewrites),
            ]);
        }
        if let Some(neighbour) = &self.neighbour {
            counts.push(("neighbour_files", neighbour.files));
        }
        self.schedule.count(&counts, measured);
    }
}

/// At its own rate, until the writer stops it.
fn run_beside(
    name: &std::ffi::CStr,
    (session, start): (&Session, &RwLock<()>),
    setup: &Measurement,
    (rate_per_s, seed): (f64, u64),
    work: &mut impl Work,
) -> Result<Measured, Fault> {
    let _ = rustix::thread::set_name(name);
    crate::placement::pin(session.spec.helper_cpu)?;
    let mut pace = Pace::new(Arrival::Fixed { rate_per_s }, seed, 0);
    setup.run_when(work, (&mut pace, true), Span::time(u64::MAX / 4), || {
        drop(start.read());
        Ok(())
    })
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, Result<T, Fault>>) -> Result<T, Fault> {
    let died = || Fault::Failed { reason: "a thread beside the writer died".into() };
    thread.join().unwrap_or_else(|_| Err(died()))
}

fn readers(appending: &Appending, directory: &std::path::Path, session: &Session) -> Vec<Reading> {
    let params = &session.params;
    let options = appending.journal.options();
    let record_bytes = options.record_bytes(appending.size.largest_bytes() as usize);
    let how = How::of(params, (record_bytes * params::batch(params)) as u64);
    let reader = |number| {
        let seed = session.spec.seed ^ (0x0EAD << 32) ^ number;
        Reading::new(directory, how, appending.published.clone(), seed)
    };
    (0..params.integer("readers")).map(reader).collect()
}

fn neighbour(appending: &Appending, session: &Session) -> Result<Option<Neighbour>, Fault> {
    let rate_per_s = session.params.number("neighbour_rate");
    if rate_per_s <= 0.0 {
        return Ok(None);
    }
    let directory = session.spec.directory.join(format!("neighbour-{}", session.spec.lane));
    Neighbour::new(&directory, rate_per_s, appending.published.clone()).map(Some)
}

/// A full disk under a mapping is told by a signal, wherever the mapping lies: all addresses are
/// named after the journal, so that the worker ends with a line instead of a bare signal.
fn guard(params: &Resolved, directory: &std::path::Path) -> Option<Registration> {
    if params.text("write_path") != "mmap" {
        return None;
    }
    let name = directory.join("* (the number is an address)");
    Registration::new(4096, usize::MAX / 2, &name).ok()
}

impl Prepared for Ready {
    fn warm_up(&mut self, session: &Session) -> Result<u64, Fault> {
        let span = self.schedule.warm_up(session)?;
        let measured = self.run(session, span, true)?;
        self.warm_up = self.appending.done;
        if self.warm_up.bytes_written < span.bytes {
            self.notes.push(format!(
                "warm-up wrote {} of {} bytes in {:.0} s and was ended",
                self.warm_up.bytes_written,
                span.bytes,
                measured.load.measured_ns as f64 / 1e9
            ));
        }
        if let Some(ResidentPages { resident_count, page_count }) = self.next_file() {
            self.notes.push(format!(
                "the next file is hot: {resident_count} of {page_count} pages in the page cache"
            ));
        }
        Ok(measured.load.measured_ns)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        let is_cold = session.params.text("reader_cache") == "cold";
        if is_cold && session.spec.drop_caches {
            let dropped = residency::drop_caches(residency::Caches::Pages);
            dropped.map_err(|error| Fault::Failed { reason: error.to_string() })?;
        }
        let before_pages = self.next_file();
        let before = self.appending.done;
        let span = Span::time(session.spec.measure_ns);
        let mut measured = self.run(session, span, false)?;
        let after_pages = self.next_file();
        self.count(before, &mut measured);
        for (name, pages) in [("hot_share_before", before_pages), ("hot_share_after", after_pages)]
        {
            measured.counts.extend(pages.map(|pages| (name.to_string(), pages.share())));
        }
        Ok(measured)
    }

    /// Appends alone, without what runs beside them and without an operation that is kept.
    fn sustain(&mut self, session: &Session) -> Result<Option<Driven>, Fault> {
        let ops = params::writer_ops(&session.params);
        let ops = ops.into_iter().map(String::from).collect();
        let (operations, _keeper) =
            recorder(&RecorderOptions { ops, responses: false, spikes_max: 0 });
        let mut bench = Bench::new(operations, false, None);
        let mut pace = Pace::new(Arrival::Closed { pause_ns: 0 }, session.spec.seed, u64::MAX);
        // By the first of the two: the time, or bytes that leave room on a small scratch.
        let bytes = session.spec.scratch_bytes.map_or(SUSTAINED_BYTES_MAX, |all| all / 8);
        let span = Span {
            length_ns: 0,
            bytes: bytes.min(SUSTAINED_BYTES_MAX),
            length_ns_max: session.spec.sustain_ns,
            drain_ns: 0,
        };
        drive(&MonotonicClock, &mut self.appending, &mut pace, &mut bench, span).map(Some)
    }

    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        verify::verify(&self.directory, &self.appending)
    }
}
