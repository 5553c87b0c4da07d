mod doubts;
mod figures;
mod job_file;
mod options;
mod ready;

pub use job_file::{Job, JobFile, JobFileError};

use pickfs_record::{
    Durability,
    plan::{Better, Metric, Statistic, View},
    typed::program,
};
use serde_json::{Map, Value};

use crate::{
    fault::Fault,
    param::{Param, ParamError, Resolved},
    workload::{Length, Prepared, Session, Workload},
};

pub struct Fio;

const PARAMS: &[Param] = &[
    param! { "job" = Text(""), Text;
    "the text of a fio job file; `directory` and `filename` are led into the mount" },
    param! { "user" = Text(""), Text; "who runs it; empty: who called sudo, else who runs pickfs" },
];

impl Workload for Fio {
    fn name(&self) -> &'static str {
        "fio"
    }

    fn version(&self) -> u32 {
        1
    }

    fn about(&self) -> &'static str {
        "a fio job file, run by fio itself"
    }

    fn params(&self) -> &'static [Param] {
        PARAMS
    }

    fn validate(&self, asked: &Map<String, Value>) -> Result<Resolved, ParamError> {
        let resolved = Resolved::new(self.name(), PARAMS, asked)?;
        if resolved.text("job").is_empty() {
            return Ok(resolved);
        }
        match JobFile::read(resolved.text("job")) {
            Ok(_) => Ok(resolved),
            Err(error) => Err(resolved.together("job", error.to_string())),
        }
    }

    fn ops(&self, params: &Resolved) -> Vec<String> {
        let Ok(file) = JobFile::read(params.text("job")) else { return Vec::new() };
        let jobs = file.jobs.iter();
        jobs.flat_map(|job| figures::NAMES.map(|name| format!("{} {name}", job.name))).collect()
    }

    fn durability(&self, params: &Resolved) -> Durability {
        let file = JobFile::read(params.text("job"));
        let jobs = file.iter().flat_map(|file| &file.jobs).filter(|job| job.writes());
        jobs.map(doubts::durability).min().unwrap_or(Durability::Unknown)
    }

    fn length(&self, params: &Resolved) -> Length {
        let file = JobFile::read(params.text("job")).ok();
        Length::Work(file.and_then(|file| file.jobs.iter().map(Job::expected_s).sum()))
    }

    fn incompatible(&self, params: &Resolved) -> Option<String> {
        let none = || format!("no job file is named: {} run --fio FILE", program());
        params.text("job").is_empty().then(none)
    }

    fn prepare(&self, session: &Session) -> Result<Box<dyn Prepared>, Fault> {
        Ok(Box::new(ready::Ready::new(session)?))
    }
}

/// What a job file is judged by: the calls per second of each job in its main direction; of a job
/// that limits its rate the 99th percentile of the time of its calls.
pub fn primary(file: &JobFile) -> Vec<Metric> {
    let metric = |job: &Job| {
        let direction = if job.reads() { "read" } else { "write" };
        let (op, statistic) = match job.has_rate() {
            true => (format!("{} {direction}", job.name), Statistic::Quantile(0.99)),
            false => {
                let op = format!("{} {direction} IOPS", job.name);
                (op, Statistic::Figure(Better::Higher))
            }
        };
        Metric { view: View::Service, ..Metric::new(&op, statistic) }
    };
    file.jobs.iter().map(metric).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolved(job: &str) -> Resolved {
        Fio.validate(json!({ "job": job }).as_object().unwrap()).unwrap()
    }

    #[test]
    fn what_writes_survive_is_read_from_the_options() {
        let of = |options: &str| Fio.durability(&resolved(&format!("[a]\nrw=write\n{options}\n")));
        assert_eq!(of(""), Durability::ProcessCrash);
        assert_eq!(of("direct=1"), Durability::KernelCrash);
        assert_eq!(of("fdatasync=1"), Durability::PowerLoss);
        assert_eq!(of("fsync=32"), Durability::ProcessCrash);
    }

    #[test]
    fn a_job_is_judged_by_its_rate_and_a_paced_one_by_its_tail() {
        let file = JobFile::read("[a]\nrw=randread\n[b]\nrw=write\nrate_iops=100\n").unwrap();
        let primary = primary(&file);
        assert_eq!(primary[0].op, "a read IOPS");
        assert_eq!(
            (primary[1].op.as_str(), primary[1].statistic),
            ("b write", Statistic::Quantile(0.99))
        );
        let ops = Fio.ops(&resolved("[a]\nrw=randread\n[b]\nrw=write\nrate_iops=100\n"));
        assert!(primary.iter().all(|metric| ops.contains(&metric.op)), "{ops:?}");
    }
}
