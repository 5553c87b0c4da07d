//! What this process has used of the processors: getrusage(2). The sum of user and system time is
//! exact to the scheduler's clock; how it splits may be sampled at ticks.
//! What it had to fetch from devices: getrusage(2), `ru_majflt`; proc_pid_io(5),
//! `read_bytes`, which counts at the block layer: file systems without a block device below them
//! (FUSE, 9p, ZFS) count nothing there.
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

    pub fn since(&self, earlier: &OwnUsage) -> OwnUsage {
        OwnUsage {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            preemptions: self.preemptions.saturating_sub(earlier.preemptions),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnReads {
    /// Page faults of all threads that had to wait for I/O.
    pub major_faults: u64,
    /// `None` where the kernel does not count them.
    pub device_bytes: Option<u64>,
}

impl OwnReads {
    pub fn now() -> OwnReads {
        let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
        let major_faults = usage(libc::RUSAGE_SELF).ru_majflt.max(0) as u64;
        OwnReads { major_faults, device_bytes: device_bytes(&text) }
    }

    pub fn since(&self, earlier: &OwnReads) -> OwnReads {
        let bytes = self.device_bytes.zip(earlier.device_bytes);
        OwnReads {
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            device_bytes: bytes.map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

fn device_bytes(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("read_bytes: "))?.trim().parse().ok()
}

pub(crate) fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec.max(0) as u64 * 1_000_000_000 + time.tv_usec.max(0) as u64 * 1_000
}

fn usage(whose: libc::c_int) -> libc::rusage {
    // SAFETY: rusage is plain numbers, for which zeros are valid; the kernel fills our own value.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(whose, &raw mut usage);
        usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_rise_with_use() {
        let before = OwnUsage::now();
        let mut sum = 0u64;
        while OwnUsage::now().since(&before).user_ns == 0 && sum < 4_000_000_000 {
            sum += (0..1_000_000u64).map(std::hint::black_box).sum::<u64>() % 7 + 1_000_000;
        }
        assert!(OwnUsage::now().since(&before).user_ns > 0);
    }

    #[test]
    fn the_right_line_is_read() {
        let text = "rchar: 9\nread_bytes: 4096\ncancelled_write_bytes: 7\n";
        assert_eq!((device_bytes(text), device_bytes("")), (Some(4096), None));
    }

    #[test]
    fn a_difference_needs_both_figures() {
        let now = OwnReads { major_faults: 5, device_bytes: Some(10) };
        let earlier = OwnReads { major_faults: 2, device_bytes: None };
        assert_eq!(now.since(&earlier), OwnReads { major_faults: 3, device_bytes: None });
        assert_eq!(now.since(&now).device_bytes, Some(0));
    }
}
