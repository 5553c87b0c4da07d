//! fio's JSON to our records: the calls of each job by direction as operations, its rates as figures.
//!
//! Percentiles are taken from fio's own bins by fio's own rule: the first bin up to which the wanted
//! share of the calls lies. So they equal what fio prints for the same run.
//!
//! Source: fio(1), `--output-format=json+`; `calc_clat_percentiles` in fio's stat.c.

use std::collections::BTreeMap;

use pickfs_record::record::{OpRecord, QUANTILES, QuantileRow, Times};
use serde_json::Value;

use crate::{command::metric::json_in, fault::Fault};

/// Names of a job's operations and figures, behind its own.
pub(super) const NAMES: [&str; 7] = [
    "read",
    "write",
    "sync",
    "read IOPS",
    "write IOPS",
    "read bytes per second",
    "write bytes per second",
];

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) ops: Vec<OpRecord>,
    pub(super) figures: BTreeMap<String, f64>,
    pub(super) calls: u64,
    pub(super) runtime_ms: u64,
}

#[derive(Debug, Clone, Default)]
struct Calls {
    bins: BTreeMap<u64, u64>,
    count: u64,
    sum_ns: f64,
    squares: f64,
    min_ns: u64,
    max_ns: u64,
}

pub(super) fn read(output: &str) -> Result<Figures, Fault> {
    let failed = |reason: String| Fault::Failed { reason };
    let value = json_in(output).filter(|value| value.get("jobs").is_some());
    let value = value.ok_or_else(|| failed("fio printed no JSON with jobs".into()))?;
    let jobs = value["jobs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut figures = Figures::default();
    let mut calls: BTreeMap<String, Calls> = BTreeMap::new();
    for job in jobs {
        let name = job["jobname"].as_str().unwrap_or("job");
        if let Some(error) = job["error"].as_i64().filter(|error| *error != 0) {
            let cause = std::io::Error::from_raw_os_error(error.unsigned_abs() as i32);
            return Err(failed(format!("job {name} of fio failed: {cause}")));
        }
        figures.add(name, job, &mut calls);
    }
    if figures.calls == 0 {
        return Err(failed("fio did no call in any job".into()));
    }
    figures.ops = calls.into_iter().map(|(name, calls)| calls.record(name)).collect();
    Ok(figures)
}

impl Figures {
    fn add(&mut self, name: &str, job: &Value, calls: &mut BTreeMap<String, Calls>) {
        for direction in ["read", "write"] {
            let part = &job[direction];
            let count = part["total_ios"].as_u64().unwrap_or(0);
            if count == 0 {
                continue;
            }
            self.calls += count;
            let numbers = [("IOPS", &part["iops"]), ("bytes per second", &part["bw_bytes"])];
            for (what, number) in numbers {
                let sum = self.figures.entry(format!("{name} {direction} {what}")).or_default();
                *sum += number.as_f64().unwrap_or(0.0);
            }
            calls.entry(format!("{name} {direction}")).or_default().add(&part["clat_ns"]);
        }
        // Not `total_ios` of the sync part: fio leaves it at 0 in some versions.
        if job["sync"]["lat_ns"]["N"].as_u64().unwrap_or(0) > 0 {
            calls.entry(format!("{name} sync")).or_default().add(&job["sync"]["lat_ns"]);
        }
        self.runtime_ms = self.runtime_ms.max(job["job_runtime"].as_u64().unwrap_or(0));
    }
}

impl Calls {
    /// Another process of the same job joins.
    fn add(&mut self, part: &Value) {
        let number = |name: &str| part[name].as_f64().unwrap_or(0.0);
        let (count, mean, deviation) = (number("N"), number("mean"), number("stddev"));
        if count == 0.0 {
            return;
        }
        for (bin, calls) in part["bins"].as_object().into_iter().flatten() {
            let Ok(value_ns) = bin.parse::<u64>() else { continue };
            *self.bins.entry(value_ns).or_default() += calls.as_u64().unwrap_or(0);
        }
        let min_ns = number("min") as u64;
        self.min_ns = if self.count == 0 { min_ns } else { self.min_ns.min(min_ns) };
        self.max_ns = self.max_ns.max(number("max") as u64);
        self.count += count as u64;
        self.sum_ns += mean * count;
        self.squares += deviation * deviation * (count - 1.0) + mean * mean * count;
    }

    fn record(self, op: String) -> OpRecord {
        let count = self.count as f64;
        let mean_ns = self.sum_ns / count.max(1.0);
        let variance = (self.squares - count * mean_ns * mean_ns) / (count - 1.0).max(1.0);
        let service = Times {
            count: self.count,
            mean_ns,
            sd_ns: variance.max(0.0).sqrt(),
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            quantiles: QUANTILES.iter().filter_map(|q| self.quantile(*q)).collect(),
            ..Times::default()
        };
        let service = service.seen(self.bins.into_iter());
        OpRecord { op, service, ..OpRecord::default() }
    }

    fn quantile(&self, q: f64) -> Option<QuantileRow> {
        let all: u64 = self.bins.values().sum();
        let mut below = 0;
        let found = self.bins.iter().find(|(_, calls)| {
            below += **calls;
            below as f64 >= q * all as f64
        });
        let (value_ns, _) = found?;
        Some(QuantileRow { q, value_ns: *value_ns, episodes: all - below })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str, read_calls: u64) -> String {
        format!(
            r#"{{"jobname": "{name}", "error": 0, "job_runtime": 1500,
               "read": {{"total_ios": {read_calls}, "iops": 10.5, "bw_bytes": 4096,
                 "clat_ns": {{"N": {read_calls}, "mean": 30.0, "stddev": 10.0, "min": 20, "max": 41,
                   "percentile": {{"50.000000": 20, "99.000000": 40}},
                   "bins": {{"20": 2, "40": 2}}}}}},
               "write": {{"total_ios": 0}},
               "sync": {{"total_ios": 0, "lat_ns": {{"N": 3, "mean": 5.0, "stddev": 0.0, "min": 5,
                 "max": 5, "bins": {{"5": 3}}}}}}}}"#
        )
    }

    #[test]
    fn warnings_around_the_json_change_nothing() {
        let json = format!("{{\"fio version\": \"x\", \"jobs\": [{}]}}", job("a", 4));
        let plain = read(&json).unwrap();
        let noisy =
            format!("fio: warning {{odd}} [1]\nnote: both of them\n{json}\nfio: bye {{}}\n");
        assert_eq!(read(&noisy).unwrap(), plain);
        assert_eq!(plain.figures["a read IOPS"], 10.5);
        let names: Vec<&str> = plain.ops.iter().map(|op| op.op.as_str()).collect();
        assert_eq!(names, ["a read", "a sync"]);
        let operations = &plain.ops[0].service;
        assert_eq!((operations.quantile(0.5).unwrap().value_ns, operations.max_ns), (20, 41));
        assert_eq!(operations.quantile(0.99).unwrap().value_ns, 40);
        assert_eq!(plain.ops[1].service.count, 3);
    }

    #[test]
    fn processes_of_one_job_are_one_row() {
        let json = format!("{{\"jobs\": [{}, {}]}}", job("a", 4), job("a", 4));
        let both = read(&json).unwrap();
        assert_eq!((both.figures["a read IOPS"], both.calls), (21.0, 8));
        assert_eq!(both.ops[0].service.count, 8);
        let lanes = OpRecord::merged(vec![both.ops[0].clone(), both.ops[0].clone()], 0).unwrap();
        assert_eq!((lanes.service.count, lanes.service.max_ns), (16, 41), "so do lanes");
        assert!((both.ops[0].service.mean_ns - 30.0).abs() < 1e-9);
    }

    #[test]
    fn a_failed_job_and_a_silent_fio_are_told() {
        let json =
            format!("{{\"jobs\": [{}]}}", job("a", 4)).replace("\"error\": 0", "\"error\": 28");
        assert!(read(&json).unwrap_err().to_string().contains("No space left"));
        assert!(read("fio: unknown option").unwrap_err().to_string().contains("no JSON"));
    }
}
