mod doubts;
mod figures;
mod job_file;
mod options;
mod ready;

pub use job_file::{Job, JobFile};

use pickfs_record::{
    Durability,
    plan::{Better, Metric, Statistic, View},
    typed::program,
};

use crate::{
    param::{Param, Resolved},
    workload::{Length, Workload},
};

const PARAMS: &[Param] = &[
    param! { "job" = Text(""), Text;
    "the text of a fio job file; `directory` and `filename` are led into the mount" },
    param! { "user" = Text(""), Text; "who runs it; empty: who called sudo, else who runs pickfs" },
];

pub(crate) const WORKLOAD: Workload = Workload {
    name: "fio",
    about: "a fio job file, run by fio itself",
    params: PARAMS,
    ops: |params| {
        let names = |job: &Job| figures::NAMES.map(|name| format!("{} {name}", job.name));
        jobs(params).iter().flat_map(names).collect()
    },
    durability: |params| {
        let jobs = jobs(params);
        let writers = jobs.iter().filter(|job| job.writes());
        writers.map(doubts::durability).min().unwrap_or(Durability::Unknown)
    },
    prepare: |session| Ok(Box::new(ready::Ready::new(session)?)),
    check: |params| match JobFile::read(params.text("job")) {
        Err(error) if !params.text("job").is_empty() => Err(params.together("job", error)),
        _ => Ok(()),
    },
    incompatible: |params| {
        let none = || format!("no job file is named: {} --fio FILE", program());
        params.text("job").is_empty().then(none)
    },
    length: |params| {
        let file = JobFile::read(params.text("job")).ok();
        Length::Work(file.and_then(|file| file.jobs.iter().map(Job::expected_s).sum()))
    },
    ..Workload::LOOP
};

/// None where there is no file yet.
fn jobs(params: &Resolved) -> Vec<Job> {
    JobFile::read(params.text("job")).map(|file| file.jobs).unwrap_or_default()
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
        WORKLOAD.validate(json!({ "job": job }).as_object().unwrap()).unwrap()
    }

    #[test]
    fn what_writes_survive_is_read_from_the_options() {
        let of = |options: &str| {
            (WORKLOAD.durability)(&resolved(&format!("[a]\nrw=write\n{options}\n")))
        };
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
        let ops = (WORKLOAD.ops)(&resolved("[a]\nrw=randread\n[b]\nrw=write\nrate_iops=100\n"));
        assert!(primary.iter().all(|metric| ops.contains(&metric.op)), "{ops:?}");
    }
}
