use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::Histogram;
use pickfs_record::{
    calls::{CallError, CallRow},
    record::{Distribution, QUANTILES, QuantileRow},
};
use pickfs_record::{
    episode::EpisodeCounter,
    summary::{Exact, LONGEST_NS, Summary, histogram},
};
use pickfs_sys::{
    errno_name::errno_name,
    file_calls::{FileCall, Gives},
};

/// Answers from here to -1 are errors (`MAX_ERRNO` of the kernel).
const ERRNO_MAX: i64 = 4_095;

pub(super) struct Kind {
    service: Histogram<u64>,
    exact: Exact,
    episodes: EpisodeCounter,
    bytes: u64,
    errors: BTreeMap<i32, u64>,
    pub(super) unended: u64,
}

impl Default for Kind {
    fn default() -> Kind {
        Kind {
            service: histogram(),
            exact: Exact { min_ns: u64::MAX, ..Exact::default() },
            episodes: EpisodeCounter::default(),
            bytes: 0,
            errors: BTreeMap::new(),
            unended: 0,
        }
    }
}

impl Kind {
    pub(super) fn take(&mut self, length_ns: u64, answer: i64, gives_bytes: bool) {
        self.service.saturating_record(length_ns);
        self.exact.sum_ns += length_ns;
        self.exact.min_ns = self.exact.min_ns.min(length_ns);
        self.exact.max_ns = self.exact.max_ns.max(length_ns);
        self.exact.overflow += u64::from(length_ns > LONGEST_NS);
        self.episodes.lap(length_ns);
        if (-ERRNO_MAX..0).contains(&answer) {
            *self.errors.entry(-answer as i32).or_default() += 1;
        } else if gives_bytes {
            self.bytes += answer.max(0) as u64;
        }
    }

    pub(super) fn row(self, call: &FileCall) -> CallRow {
        let summary = Summary::of(&self.service, self.exact, &self.episodes, QUANTILES);
        let error = |(errno, count): (i32, u64)| CallError {
            errno,
            name: errno_name(errno).into_owned(),
            count,
        };
        let mut errors: Vec<CallError> = self.errors.into_iter().map(error).collect();
        errors.sort_by_key(|error| std::cmp::Reverse(error.count));
        let bytes_if = |gives: Gives| if call.gives == gives { self.bytes } else { 0 };
        CallRow {
            call: call.name.into(),
            total_ns: self.exact.sum_ns,
            bytes_read: bytes_if(Gives::BytesRead),
            bytes_written: bytes_if(Gives::BytesWritten),
            errors,
            unended: self.unended,
            service: distribution(summary),
        }
    }
}

fn distribution(summary: Summary) -> Distribution {
    let rows = summary.quantiles.iter();
    let rows =
        rows.map(|row| QuantileRow { q: row.q, value_ns: row.value_ns, episodes: row.episodes });
    Distribution {
        count: summary.count,
        mean_ns: summary.mean_ns,
        sd_ns: if summary.sd_ns.is_finite() { summary.sd_ns } else { 0.0 },
        min_ns: summary.min_ns,
        max_ns: summary.max_ns,
        quantiles: rows.collect(),
        overflow: summary.overflow,
        histogram: STANDARD.encode(summary.encoded),
    }
}
