//! What this process had to fetch from devices: getrusage(2), `ru_majflt`; proc_pid_io(5),
//! `read_bytes`, which counts at the block layer: file systems without a block device below them
//! (FUSE, 9p, ZFS) count nothing there.
#![allow(unsafe_code)]

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
        OwnReads { major_faults: major_faults(), device_bytes: device_bytes(&text) }
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

fn major_faults() -> u64 {
    // SAFETY: rusage is plain numbers, for which zeros are valid; the kernel fills our own value.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    usage.ru_majflt.max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

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
