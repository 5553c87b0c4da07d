//! Events that the kernel writes into a ring for us, on the CLOCK_MONOTONIC line:
//! perf_event_open(2), include/uapi/linux/perf_event.h. Needs root or CAP_PERFMON, but for
//! switches of one's own threads.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventSource {
    TracePoint(u64),
    /// Nothing: an event that others write into the ring of ([`PerfEvent::write_into`]).
    Carrier,
    /// A thread leaving and taking a processor (`PERF_RECORD_SWITCH`); nothing of the kernel itself.
    Switches,
    /// The clock of the processor while a thread has it: where the thread is, so many times a second.
    CpuClock {
        hz: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSpec {
    pub source: EventSource,
    /// The kernel's part of the stack in each record.
    pub has_stacks: bool,
    pub reach: Reach,
    /// Records of threads that begin, are named and end (`PERF_RECORD_FORK`, `_COMM`, `_EXIT`).
    pub tells_threads: bool,
    /// Records of its threads leaving and taking a processor (`PERF_RECORD_SWITCH`).
    pub tells_switches: bool,
}

/// Whom an event of a thread belongs to beside it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    #[default]
    Alone,
    /// All threads and processes that it starts from now on, and theirs.
    Descendants,
    /// The same, but nothing is recorded of anyone before it has called `execve(2)`.
    DescendantsFromExec,
}

#[derive(Debug, Error)]
pub enum PerfEventError {
    #[error("perf event not opened: {cause}{}", paranoid_remedy(cause))]
    Open { cause: io::Error },
    #[error("ring of {pages} pages not mapped: {cause}")]
    Ring { pages: usize, cause: io::Error },
    #[error("event filter `{filter}` refused: {cause}")]
    Filter { filter: String, cause: io::Error },
    #[error("perf event not set up: {cause}")]
    SetUp { cause: io::Error },
}

impl PerfEventError {
    pub fn cause(&self) -> &io::Error {
        match self {
            PerfEventError::Open { cause }
            | PerfEventError::Ring { cause, .. }
            | PerfEventError::Filter { cause, .. }
            | PerfEventError::SetUp { cause } => cause,
        }
    }
}

fn paranoid_remedy(cause: &io::Error) -> &'static str {
    match cause.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "; needs root, CAP_PERFMON, or a lower kernel.perf_event_paranoid"
        }
        Some(libc::ENOSYS) => "; this kernel was built without CONFIG_PERF_EVENTS",
        _ => "",
    }
}

/// The start of `struct perf_event_attr`, as far as PERF_ATTR_SIZE_VER5 (Linux 4.1).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_kind: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock_id: i32,
    sample_regs_interrupt: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

const KIND_SOFTWARE: u32 = 1;
const KIND_TRACE_POINT: u32 = 2;
/// `PERF_COUNT_SW_CPU_CLOCK`.
const SOFTWARE_CPU_CLOCK: u64 = 0;
/// `PERF_COUNT_SW_DUMMY`: counts nothing, but carries records.
const SOFTWARE_DUMMY: u64 = 9;

const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_STACK: u64 = 1 << 5;
const SAMPLE_CPU: u64 = 1 << 7;
const SAMPLE_RAW: u64 = 1 << 10;
/// Puts the event's id first in a sample and last in other records.
const SAMPLE_IDENTIFIER: u64 = 1 << 16;

const FLAG_DISABLED: u64 = 1;
const FLAG_INHERIT: u64 = 1 << 1;
const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
const FLAG_EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const FLAG_COMM: u64 = 1 << 9;
/// `sample_period` is samples of a second.
const FLAG_FREQUENCY: u64 = 1 << 10;
const FLAG_ENABLE_ON_EXEC: u64 = 1 << 12;
const FLAG_TASK: u64 = 1 << 13;
const FLAG_WATERMARK: u64 = 1 << 14;
const FLAG_SAMPLE_ID_ALL: u64 = 1 << 18;
const FLAG_NO_USER_STACK: u64 = 1 << 22;
const FLAG_CLOCK_ID: u64 = 1 << 25;
const FLAG_SWITCHES: u64 = 1 << 26;

const OPEN_CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// `_IO('$', 0)`, `_IO('$', 1)`, `_IO('$', 5)`, `_IOW('$', 6, char *)`, `_IOR('$', 7, u64 *)`.
const IOCTL_ENABLE: u64 = 0x2400;
const IOCTL_DISABLE: u64 = 0x2401;
const IOCTL_SET_OUTPUT: u64 = 0x2405;
const IOCTL_SET_FILTER: u64 = 0x4008_2406;
const IOCTL_ID: u64 = 0x8008_2407;

impl EventSpec {
    pub fn new(source: EventSource) -> EventSpec {
        EventSpec {
            source,
            has_stacks: false,
            reach: Reach::Alone,
            tells_threads: false,
            tells_switches: false,
        }
    }

    fn attributes(&self) -> Attributes {
        let if_so = |is_so: bool, bits: u64| if is_so { bits } else { 0 };
        let reach = match self.reach {
            Reach::Alone => 0,
            Reach::Descendants => FLAG_INHERIT,
            Reach::DescendantsFromExec => FLAG_INHERIT | FLAG_ENABLE_ON_EXEC,
        };
        let (kind, config, sample_period, raw, flags) = match self.source {
            EventSource::TracePoint(id) => {
                (KIND_TRACE_POINT, id, 1, SAMPLE_RAW, FLAG_NO_USER_STACK)
            }
            EventSource::CpuClock { hz } => {
                let flags = FLAG_FREQUENCY | FLAG_NO_USER_STACK;
                (KIND_SOFTWARE, SOFTWARE_CPU_CLOCK, u64::from(hz), 0, flags)
            }
            EventSource::Carrier => (KIND_SOFTWARE, SOFTWARE_DUMMY, 0, 0, 0),
            EventSource::Switches => {
                let flags = FLAG_SWITCHES | FLAG_EXCLUDE_KERNEL | FLAG_EXCLUDE_HYPERVISOR;
                (KIND_SOFTWARE, SOFTWARE_DUMMY, 0, 0, flags)
            }
        };
        let told = if_so(self.tells_threads, FLAG_COMM | FLAG_TASK)
            | if_so(self.tells_switches, FLAG_SWITCHES);
        let always = FLAG_DISABLED | FLAG_SAMPLE_ID_ALL | FLAG_CLOCK_ID | FLAG_WATERMARK;
        let common = SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | SAMPLE_IDENTIFIER;
        Attributes {
            kind,
            size: size_of::<Attributes>() as u32,
            config,
            sample_period,
            sample_type: common | raw | if_so(self.has_stacks, SAMPLE_STACK),
            flags: always | reach | told | flags,
            // Nobody waits for the ring: it is looked at by the clock.
            wakeup_events: u32::MAX,
            clock_id: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        }
    }
}

/// Switched off until [`PerfEvent::enable`].
#[derive(Debug)]
pub struct PerfEvent(OwnedFd);

impl PerfEvent {
    pub fn on_processor(spec: &EventSpec, processor: u32) -> Result<PerfEvent, PerfEventError> {
        PerfEvent::open(spec, -1, processor as libc::c_int)
    }

    /// The number is that of our own pid namespace.
    pub fn of_thread(spec: &EventSpec, thread_id: u32) -> Result<PerfEvent, PerfEventError> {
        PerfEvent::open(spec, thread_id as libc::pid_t, -1)
    }

    /// Of one thread while it is on one processor: with one event for each processor, those that it
    /// starts can write into the ring of theirs. Without a number it is the calling thread.
    pub fn of_thread_on(
        spec: &EventSpec,
        thread_id: Option<u32>,
        processor: u32,
    ) -> Result<PerfEvent, PerfEventError> {
        let thread_id = thread_id.unwrap_or(0) as libc::pid_t;
        PerfEvent::open(spec, thread_id, processor as libc::c_int)
    }

    fn open(
        spec: &EventSpec,
        thread_id: libc::pid_t,
        processor: libc::c_int,
    ) -> Result<PerfEvent, PerfEventError> {
        let attributes = spec.attributes();
        // SAFETY: the kernel reads `size` bytes of a value of exactly that size; the other arguments
        // are numbers.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                thread_id,
                processor,
                -1,
                OPEN_CLOSE_ON_EXEC,
            )
        };
        if answer < 0 {
            return Err(PerfEventError::Open { cause: io::Error::last_os_error() });
        }
        // SAFETY: a fresh descriptor that nobody else knows.
        Ok(PerfEvent(unsafe { OwnedFd::from_raw_fd(answer as i32) }))
    }

    /// The number that its records carry.
    pub fn id(&self) -> Result<u64, PerfEventError> {
        let mut id = 0u64;
        // SAFETY: the request writes one u64.
        unsafe { self.request(IOCTL_ID, (&raw mut id).expose_provenance()) }
            .map(|()| id)
            .map_err(set_up)
    }

    /// Only records that pass: `pid==7||pid==9`. To be set once: the kernel refuses to replace a
    /// filter (`EEXIST`).
    pub fn filter(&self, filter: &str) -> Result<(), PerfEventError> {
        let text = CString::new(filter).unwrap_or_default();
        // SAFETY: the kernel reads a string up to its zero byte.
        unsafe { self.request(IOCTL_SET_FILTER, text.as_ptr().expose_provenance()) }.map_err(
            |cause| {
                let filter = filter.chars().take(80).collect();
                PerfEventError::Filter { filter, cause }
            },
        )
    }

    /// Lets its records go into the ring of another event of the same processor.
    pub fn write_into(&self, ring_of: &PerfEvent) -> Result<(), PerfEventError> {
        let number = ring_of.0.as_raw_fd() as usize;
        // SAFETY: the request takes a descriptor's number.
        unsafe { self.request(IOCTL_SET_OUTPUT, number) }.map_err(set_up)
    }

    pub fn enable(&self) -> Result<(), PerfEventError> {
        // SAFETY: the request takes flags by value.
        unsafe { self.request(IOCTL_ENABLE, 0) }.map_err(set_up)
    }

    pub fn disable(&self) -> Result<(), PerfEventError> {
        // SAFETY: the request takes flags by value.
        unsafe { self.request(IOCTL_DISABLE, 0) }.map_err(set_up)
    }

    /// # Safety
    /// The argument is a number, or the address of what the kernel reads or writes.
    unsafe fn request(&self, request: u64, argument: usize) -> io::Result<()> {
        // SAFETY: as the caller vouches.
        let answer = unsafe { libc::ioctl(self.0.as_raw_fd(), request as libc::Ioctl, argument) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsFd for PerfEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn set_up(cause: io::Error) -> PerfEventError {
    PerfEventError::SetUp { cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_have_the_size_that_the_kernel_knows() {
        assert_eq!(size_of::<Attributes>(), 112);
    }

    #[test]
    fn an_event_reaches_whom_it_is_told_to() {
        let spec = EventSpec::new(EventSource::TracePoint(1));
        assert_eq!(spec.attributes().flags & (FLAG_INHERIT | FLAG_ENABLE_ON_EXEC), 0);
        let reach = Reach::DescendantsFromExec;
        let flags = EventSpec { reach, tells_threads: true, ..spec }.attributes().flags;
        let all = FLAG_INHERIT | FLAG_ENABLE_ON_EXEC | FLAG_COMM | FLAG_TASK | FLAG_DISABLED;
        assert_eq!(flags & all, all);
        assert_eq!(flags & FLAG_SWITCHES, 0);
        let flags = EventSpec { tells_switches: true, ..spec }.attributes().flags;
        assert_ne!(flags & FLAG_SWITCHES, 0);
    }

    #[test]
    fn a_refusal_names_the_way_out() {
        let refused = PerfEventError::Open { cause: io::Error::from_raw_os_error(libc::EACCES) };
        assert!(refused.to_string().contains("CAP_PERFMON"), "{refused}");
    }
}
