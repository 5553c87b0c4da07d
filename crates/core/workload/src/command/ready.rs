//! All of it happens after the word to begin, as setup may take as long as the command itself.

use std::path::PathBuf;

use pickfs_record::record::{LoadRecord, OpRecord, Operation};
use pickfs_sys::program::Stream;

use super::{
    metric::MetricAsk,
    needs::missing,
    params,
    place::Place,
    run::{Ran, ready, run, run_watched},
    stray,
    times::Kept,
    watched,
};
use crate::{
    command::TIMES,
    fault::Fault,
    measurement::Measured,
    phase::cold::write_out,
    workload::{Prepared, Session},
};

pub(super) struct Ready {
    place: Place,
    words: Vec<String>,
    metrics: Vec<MetricAsk>,
    kept: Vec<Kept>,
    runs: Vec<Ran>,
    announced: u32,
    /// One of several.
    is_lane: bool,
}

type OfRan = fn(&Ran) -> u64;

/// What the lab is told that begins; runs before these warm up.
const MEASURED: &str = "command";

impl Ready {
    pub(super) fn new(session: &Session) -> Result<Ready, Fault> {
        let params = &session.params;
        if let Some(reason) = missing(params).into_iter().next() {
            return Err(Fault::Skipped { reason });
        }
        ready()?;
        let variables = params::texts(params, "environment");
        let place = Place::make(&session.spec, params.text("user"), &variables)?;
        let metrics = params::metrics(params);
        let kept = |metric: &MetricAsk| Some(Kept::new(&metric.name, metric.source()?.clone()));
        Ok(Ready {
            place,
            words: params::command(params),
            kept: metrics.iter().filter_map(kept).collect(),
            metrics: metrics.into_iter().filter(|metric| metric.source().is_none()).collect(),
            runs: Vec::new(),
            announced: 0,
            is_lane: session.spec.lanes > 1,
        })
    }

    /// Tells the lab what begins, so that it shows it and does not think us stuck.
    fn announce(&mut self, session: &Session, what: &str) -> Result<(), Fault> {
        self.announced += 1;
        match &session.lab {
            Some(lab) => lab.phase_begins(what, self.announced),
            None => Ok(()),
        }
    }

    fn aside(&mut self, session: &Session, name: &'static str) -> Result<(), Fault> {
        let text = session.params.text(name);
        if text.is_empty() {
            return Ok(());
        }
        self.announce(session, name)?;
        run(&params::shell(text), &self.place, Stream::Null)?.succeeded(name)
    }

    fn once(&mut self, session: &Session, what: &str) -> Result<Ran, Fault> {
        self.aside(session, "prepare")?;
        if session.params.text("write_out") == "yes" {
            write_out(&session.spec.directory)?;
        }
        self.announce(session, what)?;
        let watching = params::watching(&session.params);
        let ran = run_watched(&self.words, &self.place, Stream::Null, watching)?;
        if session.params.text("accept_failure") == "no" {
            ran.succeeded("the command")?;
        }
        let is_measured = what == MEASURED;
        self.kept.iter_mut().try_for_each(|kept| kept.take(&ran, &self.place, is_measured))?;
        self.aside(session, "cleanup")?;
        Ok(ran)
    }

    fn all(&mut self, session: &Session) -> Result<(), Fault> {
        self.aside(session, "setup")?;
        for _ in 0..session.params.integer("warmup_runs") {
            self.once(session, "warm-up")?;
        }
        for _ in 0..session.params.integer("repeat") {
            let ran = self.once(session, MEASURED)?;
            self.runs.push(ran);
        }
        Ok(())
    }

    fn measured(&mut self) -> Result<Measured, Fault> {
        let times: [OfRan; 3] = [|r| r.wall_ns, |r| r.ended.user_ns, |r| r.ended.system_ns];
        let record = |(name, time): (&str, OfRan)| -> OpRecord {
            let times_ns: Vec<u64> = self.runs.iter().map(time).collect();
            OpRecord { spikes: self.operations(time), ..OpRecord::exact(name, &times_ns) }
        };
        let mut measured = Measured {
            ops: TIMES.into_iter().zip(times).map(record).collect(),
            load: self.load(),
            ..Measured::default()
        };
        self.tell(&mut measured)?;
        self.tell_kept(&mut measured)?;
        watched::add(&mut self.runs, &mut measured)?;
        Ok(measured)
    }

    /// From which lanes are merged; one alone has its times.
    fn operations(&self, time: OfRan) -> Vec<Operation> {
        let operation = |ran: &Ran| {
            let (began_ns, end_ns) = (ran.began_ns, ran.began_ns + time(ran));
            Operation { due_ns: began_ns, start_ns: began_ns, end_ns, ..Operation::default() }
        };
        self.runs.iter().filter(|_| self.is_lane).map(operation).collect()
    }

    fn load(&self) -> LoadRecord {
        let sum = |of: OfRan| self.runs.iter().map(of).sum::<u64>();
        let measured_ns = sum(|ran| ran.wall_ns);
        LoadRecord {
            achieved_per_s: self.runs.len() as f64 * 1e9 / measured_ns.max(1) as f64,
            arrivals: self.runs.len() as u64,
            measured_ns,
            began_ns: self.runs.first().map_or(0, |ran| ran.began_ns),
            cpu_user_ns: sum(|ran| ran.ended.user_ns),
            cpu_system_ns: sum(|ran| ran.ended.system_ns),
            ..LoadRecord::default()
        }
    }

    /// Figures of the program and of its processes, and what must be said.
    fn tell(&self, measured: &mut Measured) -> Result<(), Fault> {
        for metric in &self.metrics {
            let values = self.runs.iter().map(|ran| told(metric, ran));
            let values: Vec<f64> = values.collect::<Result<_, _>>()?;
            measured.figures.insert(metric.name.clone(), mean(&values));
        }
        let of =
            |value: OfRan| mean(&self.runs.iter().map(|ran| value(ran) as f64).collect::<Vec<_>>());
        let figures: [(&str, OfRan); 7] = [
            ("read bytes", |ran| ran.ended.input_output.read_bytes),
            ("read calls", |ran| ran.ended.input_output.read_calls),
            ("written bytes", |ran| ran.ended.input_output.written_bytes),
            ("write calls", |ran| ran.ended.input_output.write_calls),
            ("bytes from device", |ran| ran.ended.input_output.device_read_bytes),
            ("bytes for device", |ran| ran.ended.input_output.device_written_bytes),
            ("resident bytes", |ran| ran.ended.resident_bytes_max),
        ];
        measured.figures.extend(figures.map(|(name, value)| (name.to_owned(), of(value))));
        self.tell_oddities(measured);
        Ok(())
    }

    fn tell_kept(&mut self, measured: &mut Measured) -> Result<(), Fault> {
        for kept in &mut self.kept {
            let record = kept.record()?;
            measured.notes.push(format!(
                "times of {} are the program's own; a log or table keeps no order within its intervals or runs, so its \
                 episodes are a lower bound",
                record.op
            ));
            measured.ops.push(record);
        }
        // What the program held in the middle one of its seconds; else runs a second, which say nothing of it.
        let own = measured.ops.get(TIMES.len()).map(|op| &op.intervals).into_iter().flatten();
        let mut counts: Vec<u64> = own.map(|second| second.count).collect();
        counts.sort_unstable();
        if let Some(count) = counts.get(counts.len() / 2) {
            measured.load.achieved_per_s = *count as f64 / self.runs.len().max(1) as f64;
        }
        Ok(())
    }

    fn tell_oddities(&self, measured: &mut Measured) {
        if let Some(account) = &self.place.account {
            measured.notes.push(format!("the command ran as {}", account.name));
        }
        let left: Vec<&Ran> = self.runs.iter().filter(|ran| !ran.left.is_empty()).collect();
        if let Some(first) = left.first() {
            measured.counts.insert("runs_with_processes_left".into(), left.len() as f64);
            measured.notes.push(format!(
                "the command left processes behind, which were ended when the trial was over: {}; \
                 their time and bytes are in no figure",
                first.left
            ));
        }
        let outside: Vec<&PathBuf> = self.runs.iter().flat_map(|ran| &ran.outside).collect();
        if let Some(first) = outside.first() {
            let more = match outside.len() {
                1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            measured.counts.insert("files_written_outside".into(), outside.len() as f64);
            measured.notes.push(format!(
                "the command wrote outside of the mount: {}{more}; that time is in its own",
                without_long_numbers(&first.display().to_string())
            ));
        }
        let failed = self.runs.iter().find(|ran| ran.ended.code != Some(0));
        if let Some(ran) = failed {
            measured.notes.push(format!("the command ended with {}", ran.ended.how()));
        }
        if self.runs.iter().any(|ran| ran.output.left_out_bytes() > 0) {
            measured.notes.push("the middle of a very long output was not kept".into());
        }
    }
}

/// A name of which long numbers are left out: they differ from run to run, and the note shall not.
fn without_long_numbers(name: &str) -> String {
    let mut out = String::new();
    for part in name.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let digits = part.trim_end_matches(|c: char| !c.is_ascii_digit());
        out.push_str(if digits.len() >= 4 { "*" } else { digits });
        out.push_str(&part[digits.len()..]);
    }
    out
}

/// A metric from what a run said: on standard output, else on standard error.
fn told(metric: &MetricAsk, ran: &Ran) -> Result<f64, Fault> {
    let output = ran.output.text();
    metric.read(&output).or_else(|error| {
        metric.read(&ran.errors.text()).map_err(|_| Fault::Failed {
            reason: format!(
                "{error} in the command's output; it said: {}",
                super::end_of(&[&ran.output, &ran.errors])
            ),
        })
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

impl Prepared for Ready {
    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        let all = self.all(session);
        let torn_down = self.aside(session, "teardown");
        let ended = stray::end_strays();
        all.and(torn_down).and(ended)?;
        self.measured()
    }

    /// A program is its own judge: each run that ended as it should is counted.
    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        Ok(self.runs.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_two_runs_are_one_note() {
        assert_eq!(without_long_numbers("/dev/shm/PostgreSQL.2467810140"), "/dev/shm/PostgreSQL.*");
        assert_eq!(without_long_numbers("/tmp/12345/a1-99999.b"), "/tmp/*/a1-*.b");
        assert_eq!(without_long_numbers("/var/log/syslog.1"), "/var/log/syslog.1");
    }
}
