//! What the scheduler counts of one thread; readable without privilege. Source:
//! Documentation/scheduler/sched-stats.rst (CONFIG_SCHED_INFO).

use std::fs;
use std::io;

/// Of the three numbers of `/proc/PID/task/TID/schedstat`, since the thread was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SchedStat {
    /// Time ready, without a processor.
    pub run_delay_ns: u64,
    /// How often it was given a processor.
    pub slices: u64,
}

impl SchedStat {
    /// Fails when it has ended, or the kernel does not count.
    pub fn of(thread_id: u32) -> io::Result<SchedStat> {
        // A thread's number is a folder of its own there, though none that is listed.
        let text = fs::read_to_string(format!("/proc/{thread_id}/task/{thread_id}/schedstat"))?;
        SchedStat::parse(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    pub fn parse(text: &str) -> Option<SchedStat> {
        let numbers: Vec<u64> = text.split_whitespace().map_while(|n| n.parse().ok()).collect();
        let [_on_processor_ns, run_delay_ns, slices, ..] = numbers[..] else { return None };
        Some(SchedStat { run_delay_ns, slices })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_numbers_grow() {
        let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let Ok(before) = SchedStat::of(thread) else {
            println!("SKIPPED: this kernel does not count");
            return;
        };
        // SLEEP: it makes a slice end.
        std::thread::sleep(std::time::Duration::from_millis(2));
        let after = SchedStat::of(thread).unwrap();
        assert!(after.slices > before.slices, "{before:?} {after:?}");
        assert!(after.run_delay_ns >= before.run_delay_ns);
    }

    #[test]
    fn what_is_no_three_numbers_is_nothing() {
        for text in ["", "1 2", "1 x 3", "-1 2 3"] {
            assert_eq!(SchedStat::parse(text), None, "{text}");
        }
    }
}
