use std::{io::Write, thread};

use pickfs_record::record::LoadRecord;
use pickfs_sys::program::Stream;

use super::{doubts, figures, job_file::JobFile};
use crate::{
    command::{Place, Ran, end_of, end_strays, ready, run},
    fault::Fault,
    measurement::Measured,
    phase::cold::write_out,
    workload::{Prepared, Session},
};

pub(super) struct Ready {
    place: Place,
    text: String,
    notes: Vec<String>,
    calls: u64,
}

impl Ready {
    pub(super) fn new(session: &Session) -> Result<Ready, Fault> {
        ready()?;
        let file = JobFile::read(session.params.text("job"));
        let file = file.map_err(|error| Fault::Failed { reason: format!("job file: {error}") })?;
        let place = Place::make(&session.spec, session.params.text("user"), &[])?;
        let (text, mut notes) = file.led_into(&place.directory.display().to_string());
        notes.extend(file.jobs.iter().flat_map(doubts::of_job));
        notes.push(doubts::OF_ALL.into());
        Ok(Ready { place, text, notes, calls: 0 })
    }

    /// fio reads its jobs from standard input: nothing of ours stands in the mount.
    fn fio(&self) -> Result<Ran, Fault> {
        let pipe = pickfs_sys::program::pipe().map_err(Fault::io("make a pipe for", "fio"))?;
        let (reader, mut writer) = pipe;
        let text = self.text.clone();
        let telling = thread::spawn(move || writer.write_all(text.as_bytes()));
        let words = ["fio", "--output-format=json+", "--eta=never", "-"].map(String::from);
        let ran = run(&words, &self.place, Stream::File(reader.into()));
        let _ = telling.join();
        ran.map_err(|fault| match fault.to_string().starts_with("`fio` not found") {
            true => Fault::Skipped {
                reason: "fio not found; install the package fio or leave --fio out".into(),
            },
            false => fault,
        })
    }

    fn measured(&self, ran: &Ran) -> Result<Measured, Fault> {
        let figures = figures::read(&ran.output.text()).map_err(|fault| Fault::Failed {
            reason: format!("{fault}; it said: {}", end_of(&[&ran.errors, &ran.output])),
        })?;
        let measured_ns = figures.runtime_ms * 1_000_000;
        let load = LoadRecord {
            achieved_per_s: figures.calls as f64 * 1e9 / measured_ns.max(1) as f64,
            arrivals: figures.calls,
            measured_ns,
            began_ns: ran.began_ns,
            cpu_user_ns: ran.ended.user_ns,
            cpu_system_ns: ran.ended.system_ns,
            ..LoadRecord::default()
        };
        let (ops, figures) = (figures.ops, figures.figures);
        Ok(Measured { ops, figures, load, notes: self.notes.clone(), ..Measured::default() })
    }
}

impl Prepared for Ready {
    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        if let Some(lab) = &session.lab {
            lab.phase_begins("fio", 1)?;
        }
        write_out(&session.spec.directory)?;
        let ran = self.fio();
        end_strays()?;
        let ran = ran?;
        ran.succeeded("fio")?;
        let measured = self.measured(&ran)?;
        self.calls = measured.load.arrivals;
        Ok(measured)
    }

    /// fio is its own judge: the calls that it says it did, in the jobs that it was given.
    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        Ok(self.calls)
    }
}
