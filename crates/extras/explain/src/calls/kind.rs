use std::collections::BTreeMap;

use crate::kernel::file_calls::{FileCall, Gives};
use pickfs_record::{
    calls::{CallError, CallRow},
    episode::EpisodeCounter,
    times::Track,
};
use pickfs_sys::errno_name::errno_name;

/// Answers from here to -1 are errors (`MAX_ERRNO` of the kernel).
const ERRNO_MAX: i64 = 4_095;

#[derive(Default)]
pub(super) struct Kind {
    service: Track,
    episodes: EpisodeCounter,
    bytes: u64,
    errors: BTreeMap<i32, u64>,
    pub(super) unended: u64,
}

impl Kind {
    pub(super) fn take(&mut self, length_ns: u64, answer: i64, gives_bytes: bool) {
        self.service.keep(length_ns);
        self.episodes.record(length_ns);
        if (-ERRNO_MAX..0).contains(&answer) {
            *self.errors.entry(-answer as i32).or_default() += 1;
        } else if gives_bytes {
            self.bytes += answer.max(0) as u64;
        }
    }

    pub(super) fn row(self, call: &FileCall) -> CallRow {
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
            total_ns: self.service.sum_ns as u64,
            bytes_read: bytes_if(Gives::BytesRead),
            bytes_written: bytes_if(Gives::BytesWritten),
            errors,
            unended: self.unended,
            service: self.service.times(&self.episodes),
        }
    }
}
