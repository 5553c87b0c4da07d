//! What happened to a thread: it left a processor, was woken, took a processor. Read from records of
//! `perf_event_open(2)`; opening events is done elsewhere ([`crate::recorder`]).
//!
//! ```text
//! sample   header | id | pid, tid | time | cpu, - | [n, n addresses] | size, bytes of the trace point
//! other    header | body ...              | pid, tid | time | cpu, - | id
//! ```

use crate::kernel::trace_format::{NoField, TraceField, TraceFormat};

use crate::{intern::Interner, loss::Gap};

/// The number is that of the machine, not of a pid namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Task {
    /// 0 is an idle processor.
    pub id: u32,
    /// A number of [`Names::comms`].
    pub name: u32,
}

impl Task {
    /// Somebody, but it is not told who.
    pub const UNKNOWN: Task = Task { id: u32::MAX, name: 0 };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    Asleep,
    /// It could go on, but another was put in its place.
    Preempted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Out {
        left: Left,
        next: Task,
        /// Where it was in the kernel: a number of [`Names::stacks`].
        stack: u32,
    },
    Woken {
        by: Task,
        /// Where that one was in the kernel.
        stack: u32,
    },
    /// It was found asleep; nothing is known of when it fell asleep.
    Found {
        stack: u32,
    },
    /// It was here while it had a processor.
    Sampled {
        /// Where in the kernel; an empty one is the program itself.
        stack: u32,
    },
    In {
        prev: Task,
    },
    /// A ring is full: from here on events of any thread may be missing.
    Losing,
    /// From then until here they may be; the kernel had no room for so many. May be none.
    Lost {
        /// When [`What::Losing`] was.
        since_ns: u64,
        count: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedEvent {
    pub time_ns: u64,
    pub processor: u32,
    /// 0 for [`What::Losing`] and [`What::Lost`].
    pub thread: u32,
    pub what: What,
}

impl SchedEvent {
    pub fn of_gap(gap: Gap, processor: u32) -> SchedEvent {
        let (time_ns, what) = match gap {
            Gap::Began { since_ns } => (since_ns, What::Losing),
            Gap::Over { since_ns, time_ns, count } => (time_ns, What::Lost { since_ns, count }),
        };
        SchedEvent { time_ns, processor, thread: 0, what }
    }
}

#[derive(Debug)]
pub struct Names {
    pub comms: Interner<String>,
    /// Kernel stacks as addresses, innermost first; small numbers stand for [`Names::functions`].
    pub stacks: Interner<Vec<u64>>,
    pub functions: Interner<String>,
}

/// Addresses below this are numbers of functions.
pub const FUNCTIONS_MAX: u64 = 4_096;

impl Default for Names {
    fn default() -> Names {
        Names {
            comms: Interner::new("others".into(), 4_096),
            stacks: Interner::new(Vec::new(), 16_384),
            functions: Interner::new("others".into(), FUNCTIONS_MAX as usize - 1),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `sched:sched_switch`, of the thread that leaves, with its stack.
    Out,
    /// `sched:sched_switch`, of the thread that takes over, without a stack.
    In,
    /// `sched:sched_waking`, with the waker's stack.
    Waking,
}

#[derive(Debug, Clone)]
pub struct Layout {
    prev_comm: TraceField,
    prev_pid: TraceField,
    prev_state: TraceField,
    next_comm: TraceField,
    next_pid: TraceField,
    woken_pid: TraceField,
    waker_pid: TraceField,
}

impl Layout {
    pub fn of(switch: &TraceFormat, waking: &TraceFormat) -> Result<Layout, NoField> {
        let field = |name: &str| switch.field(name).cloned();
        Ok(Layout {
            prev_comm: field("prev_comm")?,
            prev_pid: field("prev_pid")?,
            prev_state: field("prev_state")?,
            next_comm: field("next_comm")?,
            next_pid: field("next_pid")?,
            woken_pid: waking.field("pid")?.clone(),
            waker_pid: waking.field("common_pid")?.clone(),
        })
    }
}

/// `PERF_RECORD_LOST` and `PERF_RECORD_SAMPLE`.
const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
/// Bit of `prev_state` that marks a preempted thread: TASK_REPORT_MAX of the kernel (Linux 4.14).
const STATE_PREEMPTED: i64 = 0x100;
/// Entries of a callchain from here up are marks between its parts (PERF_CONTEXT_MAX).
const CONTEXT_MARKS: u64 = u64::MAX - 4094;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample<'a> {
    pub id: u64,
    /// Process and thread as our own pid namespace knows them; 0 for strangers.
    pub own_ids: (u32, u32),
    pub time_ns: u64,
    pub processor: u32,
    /// Kernel addresses, innermost first.
    pub stack: Vec<u64>,
    pub raw: &'a [u8],
}

pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(first)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }
}

impl<'a> Sample<'a> {
    /// `None` when the record is another one, or cut off.
    pub fn parse(record: &'a [u8], has_stack: impl Fn(u64) -> bool) -> Option<Sample<'a>> {
        let (sample, mut rest) = Sample::without_raw(record, has_stack)?;
        let size = rest.u32()?;
        let raw = rest.take(size as usize)?;
        Some(Sample { raw, ..sample })
    }

    /// Whose and when; without stack and bytes.
    pub fn head(record: &'a [u8]) -> Option<Sample<'a>> {
        Sample::without_raw(record, |_| false).map(|(sample, _)| sample)
    }

    pub fn of_clock(record: &'a [u8]) -> Option<Sample<'a>> {
        Sample::without_raw(record, |_| true).map(|(sample, _)| sample)
    }

    fn without_raw(
        record: &'a [u8],
        has_stack: impl Fn(u64) -> bool,
    ) -> Option<(Sample<'a>, Bytes<'a>)> {
        let mut bytes = Bytes(record);
        if bytes.u32()? != RECORD_SAMPLE {
            return None;
        }
        bytes.u32()?;
        let id = bytes.u64()?;
        let own_ids = (bytes.u32()?, bytes.u32()?);
        let time_ns = bytes.u64()?;
        let processor = bytes.u32()?;
        bytes.u32()?;
        let mut stack = Vec::new();
        if has_stack(id) {
            let frames = bytes.u64()?;
            let addresses = bytes.take(usize::try_from(frames).ok()?.checked_mul(8)?)?;
            let addresses = addresses
                .chunks_exact(8)
                .map(|chunk| u64::from_ne_bytes(chunk.try_into().expect("eight bytes")));
            stack.extend(addresses.filter(|address| *address < CONTEXT_MARKS));
        }
        Some((Sample { id, own_ids, time_ns, processor, stack, raw: &[] }, bytes))
    }
}

/// How many events are missing, and when that was noticed; `None` when the record is another one.
pub fn parse_lost(record: &[u8]) -> Option<(u64, u64)> {
    let mut bytes = Bytes(record);
    if bytes.u32()? != RECORD_LOST {
        return None;
    }
    bytes.u32()?;
    bytes.u64()?;
    let count = bytes.u64()?;
    bytes.u64()?;
    Some((count, bytes.u64()?))
}

/// What a sample of one of our events says; `None` when it is cut off. A trace point does not tell
/// the name of the waker: `name_of` may know it.
pub fn understood(
    sample: &Sample<'_>,
    source: Source,
    layout: &Layout,
    names: &mut Names,
    name_of: &mut dyn FnMut(u32) -> String,
) -> Option<SchedEvent> {
    let raw = sample.raw;
    let number = |field: &TraceField| Some(field.integer(raw)? as u32);
    let mut task = |id: &TraceField, comm: &TraceField| {
        let name = String::from_utf8_lossy(comm.text(raw)?);
        Some(Task { id: number(id)?, name: names.comms.number(name.as_ref()) })
    };
    let (thread, what) = match source {
        Source::Out => {
            let state = layout.prev_state.integer(raw)?;
            let is_preempted = state & 0xff == 0 || state & STATE_PREEMPTED != 0;
            let left = if is_preempted { Left::Preempted } else { Left::Asleep };
            let next = task(&layout.next_pid, &layout.next_comm)?;
            let stack = names.stacks.number(sample.stack.as_slice());
            (number(&layout.prev_pid)?, What::Out { left, next, stack })
        }
        Source::In => {
            let prev = task(&layout.prev_pid, &layout.prev_comm)?;
            (number(&layout.next_pid)?, What::In { prev })
        }
        Source::Waking => {
            let stack = names.stacks.number(sample.stack.as_slice());
            let id = number(&layout.waker_pid)?;
            let by = Task { id, name: names.comms.number(name_of(id).as_str()) };
            (number(&layout.woken_pid)?, What::Woken { by, stack })
        }
    };
    Some(SchedEvent { time_ns: sample.time_ns, processor: sample.processor, thread, what })
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn layout() -> Layout {
        let switch = "ID: 1\n\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
            \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
            \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
            \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
            \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n";
        let waking = "ID: 2\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
            \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";
        let parse = |text| TraceFormat::parse(text).unwrap();
        Layout::of(&parse(switch), &parse(waking)).unwrap()
    }

    fn switch_raw(state: i64) -> Vec<u8> {
        let mut raw = vec![0; 64];
        raw[8..14].copy_from_slice(b"worker");
        raw[24..28].copy_from_slice(&41u32.to_ne_bytes());
        raw[32..40].copy_from_slice(&state.to_ne_bytes());
        raw[40..45].copy_from_slice(b"rustc");
        raw[56..60].copy_from_slice(&99u32.to_ne_bytes());
        raw
    }

    fn sample(stack: Option<&[u64]>, raw: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend(RECORD_SAMPLE.to_ne_bytes());
        record.extend([0; 4]);
        record.extend(7u64.to_ne_bytes());
        record.extend([1; 8]);
        record.extend(5_000u64.to_ne_bytes());
        record.extend(1u64.to_ne_bytes());
        if let Some(stack) = stack {
            record.extend((stack.len() as u64).to_ne_bytes());
            stack.iter().for_each(|address| record.extend(address.to_ne_bytes()));
        }
        record.extend((raw.len() as u32).to_ne_bytes());
        record.extend(raw);
        record
    }

    fn decoded(record: &[u8], source: Source, names: &mut Names) -> Option<SchedEvent> {
        let sample = Sample::parse(record, |_| source != Source::In)?;
        understood(&sample, source, &layout(), names, &mut |id| format!("waker {id}"))
    }

    #[test]
    fn a_thread_leaves_asleep_or_preempted_with_its_stack() {
        let mut names = Names::default();
        let stack = [u64::MAX - 127, 0xffff_ffff_8100_0010, 0xffff_ffff_8100_0020];
        let record = sample(Some(&stack), &switch_raw(2));
        let event = decoded(&record, Source::Out, &mut names).unwrap();
        let What::Out { left, next, stack } = event.what else { panic!("out") };
        assert_eq!(
            (event.thread, event.time_ns, event.processor, left),
            (41, 5_000, 1, Left::Asleep)
        );
        assert_eq!((next.id, names.comms.value(next.name).as_str()), (99, "rustc"));
        assert_eq!(names.stacks.value(stack), &[0xffff_ffff_8100_0010, 0xffff_ffff_8100_0020]);
        for state in [0, 0x100] {
            let record = sample(Some(&[]), &switch_raw(state));
            let event = decoded(&record, Source::Out, &mut names).unwrap();
            assert!(matches!(event.what, What::Out { left: Left::Preempted, .. }), "{state}");
        }
    }

    #[test]
    fn a_thread_takes_over_and_is_woken() {
        let mut names = Names::default();
        let event = decoded(&sample(None, &switch_raw(1)), Source::In, &mut names).unwrap();
        let What::In { prev } = event.what else { panic!("in") };
        assert_eq!((event.thread, names.comms.value(prev.name).as_str()), (99, "worker"));
        let mut raw = vec![0; 28];
        raw[4..8].copy_from_slice(&17u32.to_ne_bytes());
        raw[24..28].copy_from_slice(&41u32.to_ne_bytes());
        let event = decoded(&sample(Some(&[1]), &raw), Source::Waking, &mut names).unwrap();
        let What::Woken { by, .. } = event.what else { panic!("woken") };
        assert_eq!(
            (event.thread, by.id, names.comms.value(by.name).as_str()),
            (41, 17, "waker 17")
        );
    }

    #[test]
    fn lost_events_are_counted() {
        let mut record = Vec::new();
        record.extend(RECORD_LOST.to_ne_bytes());
        record.extend([0; 4]);
        for word in [7u64, 12, 0, 9_000] {
            record.extend(word.to_ne_bytes());
        }
        assert_eq!(parse_lost(&record), Some((12, 9_000)));
        assert_eq!(parse_lost(&record[..20]), None);
    }

    proptest! {
        #[test]
        fn no_record_makes_it_panic(mut record: Vec<u8>, is_sample: bool, cut in 0usize..200) {
            if is_sample {
                record = sample(Some(&[1, 2, 3]), &record);
                record.truncate(cut);
            }
            for source in [Source::Out, Source::In, Source::Waking] {
                let _ = decoded(&record, source, &mut Names::default());
            }
            let _ = (parse_lost(&record), Sample::of_clock(&record));
        }

        #[test]
        fn a_length_of_a_stack_is_not_believed(frames: u64) {
            let mut record = sample(Some(&[1, 2]), &[0; 64]);
            record[40..48].copy_from_slice(&frames.to_ne_bytes());
            let _ = decoded(&record, Source::Out, &mut Names::default());
        }
    }
}
