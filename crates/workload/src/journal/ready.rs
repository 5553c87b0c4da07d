//! A prepared journal: warm-up, measurement, and what they counted.

use std::path::PathBuf;

use pickfs_journal::Journal;
use pickfs_measure::Arrival;

use crate::{
    arrival,
    drive::{Pace, Span},
    fault::Fault,
    journal::{
        appending::{Appending, Done},
        content::Content,
        params,
        record_size::RecordSize,
        verify,
    },
    measurement::Measured,
    param::Resolved,
    workload::{Prepared, Session},
};

/// A warm-up that does not reach its bytes ends after this many times its shortest length.
const WARM_UP_TIMES_MAX: u64 = 20;

/// A journal that was made and waits for its first record.
pub(super) struct Ready {
    directory: PathBuf,
    appending: Appending,
    arrival: Arrival,
    notes: Vec<String>,
    warm_up: Done,
}

impl Ready {
    pub(super) fn new(session: &Session) -> Result<Self, Fault> {
        let (params, spec) = (&session.params, &session.spec);
        if let Some(reason) = params::incompatible(params) {
            return Err(Fault::Skipped { reason });
        }
        let recording = arrival::recording(params)?;
        let size = match params::size(params) {
            RecordSize::Recorded(_) => {
                RecordSize::Recorded(recording.as_ref().map(sizes).unwrap_or_default())
            }
            size => size,
        };
        let directory = spec.directory.join(format!("journal-{}", spec.lane));
        let options = params::options(params, &size);
        let journal = Journal::create(&directory, options)?;
        let notes = notes(&journal, params);
        let content = Content::new(params::content_kind(params), size.largest_bytes(), spec.seed);
        let batch = params::batch(params);
        let appending = Appending::new(journal, content, size, spec.seed, batch);
        let arrival = arrival::arrival(params, recording.as_ref());
        Ok(Ready { directory, appending, arrival, notes, warm_up: Done::default() })
    }

    fn run(&mut self, session: &Session, span: Span, is_warm_up: bool) -> Result<Measured, Fault> {
        let seed = session.spec.seed ^ u64::from(is_warm_up);
        let spin_below_ns = arrival::spin_below_ns(&session.params);
        let mut pace = Pace::new(self.arrival.clone(), seed, spin_below_ns);
        session.measurement(is_warm_up).run(&mut self.appending, &mut pace, span)
    }
}

fn sizes(recording: &crate::recording::Recording) -> Vec<u32> {
    let longest = super::record_size::SIZE_BYTES_MAX as u32;
    recording.sizes_bytes.iter().map(|bytes| (*bytes).clamp(1, longest)).collect()
}

fn notes(journal: &Journal, params: &Resolved) -> Vec<String> {
    let mut notes = journal.notes().to_vec();
    if params.text("framing") == "raw" {
        notes.push("bare records: no recovery, content compared by place".into());
    }
    notes
}

impl Prepared for Ready {
    fn warm_up(&mut self, session: &Session) -> Result<u64, Fault> {
        let length_ns = session.spec.warmup_ns;
        let length_ns_max = length_ns.max(1_000_000_000).saturating_mul(WARM_UP_TIMES_MAX);
        let span = Span { length_ns, bytes: session.spec.warmup_bytes, length_ns_max };
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
        Ok(measured.load.measured_ns)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        let before = self.appending.done;
        let span = Span::time(session.spec.measure_ns);
        let mut measured = self.run(session, span, false)?;
        let done = self.appending.done;
        let counts = [
            ("bytes_written", done.bytes_written - before.bytes_written),
            ("syncs", done.syncs - before.syncs),
            ("rolls", done.rolls - before.rolls),
            ("roll_waits", self.appending.journal.roll_waits()),
            ("warmup_bytes", self.warm_up.bytes_written),
        ];
        let counts = counts.map(|(name, value)| (name.to_string(), value as f64));
        measured.counts.extend(counts);
        Ok(measured)
    }

    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        verify::verify(&self.directory, &self.appending)
    }
}
