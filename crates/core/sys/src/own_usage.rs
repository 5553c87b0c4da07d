//! What this process has used of the processors: getrusage(2). The sum of user and system time is
//! exact to the scheduler's clock; how it splits may be sampled at ticks.
#![allow(unsafe_code)]

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnUsage {
    /// Of all threads.
    pub user_ns: u64,
    pub system_ns: u64,
    /// Involuntary context switches of the calling thread.
    pub preemptions: u64,
}

impl OwnUsage {
    pub fn now() -> OwnUsage {
        let (process, thread) = (usage(libc::RUSAGE_SELF), usage(libc::RUSAGE_THREAD));
        OwnUsage {
            user_ns: nanoseconds(process.ru_utime),
            system_ns: nanoseconds(process.ru_stime),
            preemptions: thread.ru_nivcsw.max(0) as u64,
        }
    }
}

fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec.max(0) as u64 * 1_000_000_000 + time.tv_usec.max(0) as u64 * 1_000
}

fn usage(whose: libc::c_int) -> libc::rusage {
    // SAFETY: rusage is plain numbers, for which zeros are valid; the kernel fills our own value.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(whose, &mut usage);
        usage
    }
}
