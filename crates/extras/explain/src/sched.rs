//! What happened to a thread: it left a processor, was woken, took a processor. Read from samples of trace points;
//! opening events is done elsewhere ([`crate::recorder`]).

use crate::kernel::trace_format::{NoField, TraceField, TraceFormat};

use crate::{
    intern::Interner,
    kernel::perf_record::{Body, Record},
    loss::Gap,
};

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

/// Bit of `prev_state` that marks a preempted thread: TASK_REPORT_MAX of the kernel (Linux 4.14).
const STATE_PREEMPTED: i64 = 0x100;
/// What a sample of one of our events says; `None` when it is cut off. A trace point does not tell
/// the name of the waker: `name_of` may know it.
pub fn understood(
    record: Record<'_>,
    source: Source,
    layout: &Layout,
    names: &mut Names,
    name_of: &mut dyn FnMut(u32) -> String,
) -> Option<SchedEvent> {
    let Body::Sample(mut sample) = record.body else { return None };
    let stack = if source == Source::In { Vec::new() } else { sample.stack()? };
    let raw = sample.raw()?;
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
            let stack = names.stacks.number(stack.as_slice());
            (number(&layout.prev_pid)?, What::Out { left, next, stack })
        }
        Source::In => {
            let prev = task(&layout.prev_pid, &layout.prev_comm)?;
            (number(&layout.next_pid)?, What::In { prev })
        }
        Source::Waking => {
            let stack = names.stacks.number(stack.as_slice());
            let id = number(&layout.waker_pid)?;
            let by = Task { id, name: names.comms.number(name_of(id).as_str()) };
            (number(&layout.woken_pid)?, What::Woken { by, stack })
        }
    };
    Some(SchedEvent { time_ns: record.time_ns, processor: record.processor, thread, what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::perf_record::tests::sample;

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

    fn decoded(record: &[u8], source: Source, names: &mut Names) -> Option<SchedEvent> {
        let record = Record::parse(record)?;
        understood(record, source, &layout(), names, &mut |id| format!("waker {id}"))
    }

    #[test]
    fn a_thread_leaves_asleep_or_preempted_with_its_stack() {
        let mut names = Names::default();
        let stack = [u64::MAX - 127, 0xffff_ffff_8100_0010, 0xffff_ffff_8100_0020];
        let record = sample(Some(&stack), Some(&switch_raw(2)));
        let event = decoded(&record, Source::Out, &mut names).unwrap();
        let What::Out { left, next, stack } = event.what else { panic!("out") };
        assert_eq!(
            (event.thread, event.time_ns, event.processor, left),
            (41, 5_000, 1, Left::Asleep)
        );
        assert_eq!((next.id, names.comms.value(next.name).as_str()), (99, "rustc"));
        assert_eq!(names.stacks.value(stack), &[0xffff_ffff_8100_0010, 0xffff_ffff_8100_0020]);
        for state in [0, 0x100] {
            let record = sample(Some(&[]), Some(&switch_raw(state)));
            let event = decoded(&record, Source::Out, &mut names).unwrap();
            assert!(matches!(event.what, What::Out { left: Left::Preempted, .. }), "{state}");
        }
    }

    #[test]
    fn a_thread_takes_over_and_is_woken() {
        let mut names = Names::default();
        let event = decoded(&sample(None, Some(&switch_raw(1))), Source::In, &mut names).unwrap();
        let What::In { prev } = event.what else { panic!("in") };
        assert_eq!((event.thread, names.comms.value(prev.name).as_str()), (99, "worker"));
        let mut raw = vec![0; 28];
        raw[4..8].copy_from_slice(&17u32.to_ne_bytes());
        raw[24..28].copy_from_slice(&41u32.to_ne_bytes());
        let event = decoded(&sample(Some(&[1]), Some(&raw)), Source::Waking, &mut names).unwrap();
        let What::Woken { by, .. } = event.what else { panic!("woken") };
        assert_eq!(
            (event.thread, by.id, names.comms.value(by.name).as_str()),
            (41, 17, "waker 17")
        );
    }
}
