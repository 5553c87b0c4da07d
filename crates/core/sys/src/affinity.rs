//! Where this thread may run and how it is ranked. Nothing is set that was not asked for:
//! real-time scheduling can starve a machine.
#![allow(unsafe_code)]

use crate::refused::{Refused, cannot};
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

const NEEDS: &str = "CAP_SYS_NICE or a higher rlimit";

pub fn allowed_processors() -> Result<Vec<u32>, Refused> {
    let set = sched_getaffinity(None).map_err(cannot("read the allowed processors", "root"))?;
    let numbers = (0..CpuSet::MAX_CPU).filter(|&number| set.is_set(number));
    Ok(numbers.map(|number| number as u32).collect())
}

/// This thread, and those that it starts later.
pub fn pin_to(processors: &[u32]) -> Result<(), Refused> {
    let refused = |cause: Errno| {
        let text = format!("cannot run on processors {processors:?}: {cause}; see `taskset -p $$`");
        Refused::new(text, Some(cause.raw_os_error()))
    };
    let mut set = CpuSet::new();
    for &number in processors {
        if number as usize >= CpuSet::MAX_CPU {
            return Err(refused(Errno::INVAL));
        }
        set.set(number as usize);
    }
    sched_setaffinity(None, &set).map_err(refused)
}

/// Puts this thread under `SCHED_FIFO`: it runs before every ordinary thread until it blocks.
/// Priority in [1, 99]. It is not inherited by children.
pub fn set_real_time(priority: u8) -> Result<(), Refused> {
    let parameter = libc::sched_param { sched_priority: i32::from(priority) };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the parameter is valid for the call; 0 means this thread.
    let answer = unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) };
    if answer == 0 {
        return Ok(());
    }
    Err(cannot(format!("set real-time priority {priority}"), NEEDS)(io::Error::last_os_error()))
}

/// Only bfq and mq-deadline look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoPriority {
    Unset,
    /// Level in [0, 7], 0 first.
    RealTime(u8),
    /// Level in [0, 7].
    BestEffort(u8),
    Idle,
}

const IOPRIO_WHO_PROCESS: libc::c_int = 1;
const IOPRIO_CLASS_SHIFT: u32 = 13;

pub fn set_io_priority(priority: IoPriority) -> Result<(), Refused> {
    let (class, level) = match priority {
        IoPriority::Unset => (0, 0),
        IoPriority::RealTime(level) => (1, level),
        IoPriority::BestEffort(level) => (2, level),
        IoPriority::Idle => (3, 0),
    };
    let value = (class << IOPRIO_CLASS_SHIFT) | libc::c_long::from(level);
    // SAFETY: ioprio_set takes three numbers; 0 means this thread.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, value) };
    if answer < 0 {
        let cause = io::Error::last_os_error();
        return Err(cannot(format!("set I/O priority {priority:?}"), NEEDS)(cause));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_runs_where_it_was_pinned() {
        let pinned = std::thread::spawn(|| {
            let last = *allowed_processors().unwrap().last().unwrap();
            pin_to(&[last]).unwrap();
            (last, allowed_processors().unwrap(), rustix::thread::sched_getcpu())
        });
        let (last, allowed, current) = pinned.join().unwrap();
        assert_eq!((allowed, current), (vec![last], last as usize));
    }

    #[test]
    fn a_processor_that_is_not_there_is_named() {
        let text = pin_to(&[100_000]).unwrap_err().to_string();
        assert!(text.starts_with("cannot run on processors [100000]"), "{text}");
    }

    #[test]
    fn an_io_priority_is_in_force() {
        let told = std::thread::spawn(|| {
            set_io_priority(IoPriority::BestEffort(6)).unwrap();
            let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
            std::process::Command::new("ionice").args(["-p", &thread]).output().unwrap().stdout
        });
        assert_eq!(told.join().unwrap(), b"best-effort: prio 6\n");
    }
}
