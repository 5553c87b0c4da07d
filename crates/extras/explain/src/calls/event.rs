//! What a traced thread did: it began a call, came back from it, was started, named, ended. Read from
//! records of `perf_event_open(2)`; opening events is the tracer's.
//!
//! ```text
//! FORK, EXIT   header | process, parent's | thread, parent's | time | trailer
//! COMM         header | process, thread | name, zeros           | trailer
//! SWITCH       header | trailer
//! trailer      process, thread | time | cpu, - | id
//! ```
//!
//! Source: perf_event_open(2), "PERF_RECORD_FORK" and others; include/uapi/linux/perf_event.h.

use std::collections::HashSet;

use crate::kernel::{
    file_calls::FileCall,
    trace_format::{NoField, TraceField, TraceFormat},
};

use crate::{
    loss::Gap,
    sched::{Bytes, Sample},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallEvent {
    pub time_ns: u64,
    /// By the number that we know.
    pub process: u32,
    /// By the number that we know.
    pub thread: u32,
    pub what: CallWhat,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallWhat {
    Began {
        /// Its place in [`FileCall::all`].
        call: u16,
        /// Offset in the file, or 0.
        offset_bytes: u64,
        /// The thread by its number on the machine, which scheduler events carry.
        on_machine: u32,
    },
    Ended {
        call: u16,
        /// What the kernel answered; an error is negative.
        answer: i64,
    },
    Started {
        by: u32,
    },
    Named(Box<str>),
    Gone,
    Arrived,
    /// It was here while it had a processor: kernel addresses, innermost first.
    Sampled(Box<[u64]>),
    /// A ring is full: from here on events of any thread may be missing.
    Losing,
    /// The gap is over, and the kernel had no room for so many; may be none.
    Lost(u64),
}

impl CallEvent {
    pub fn of_gap(gap: Gap) -> CallEvent {
        let (time_ns, what) = match gap {
            Gap::Began { since_ns } => (since_ns, CallWhat::Losing),
            Gap::Over { time_ns, count, .. } => (time_ns, CallWhat::Lost(count)),
        };
        CallEvent { time_ns, process: 0, thread: 0, what }
    }
}

#[derive(Debug)]
pub struct CallReader {
    calls: Vec<FileCall>,
    places: Vec<Option<u16>>,
    points: (i64, i64),
    point: TraceField,
    number: TraceField,
    arguments: TraceField,
    thread: TraceField,
    ended_number: TraceField,
    answer: TraceField,
    clocks: HashSet<u64>,
}

const RECORD_COMM: u32 = 3;
const RECORD_EXIT: u32 = 4;
const RECORD_FORK: u32 = 7;
const RECORD_SWITCH: u32 = 14;
/// In the header's flags: the thread leaves.
const LEAVES: u32 = 1 << 13;
/// The trailer of records that are no samples, and where its time stands.
const TRAILER_BYTES: usize = 32;
const TRAILER_TIME_AT: usize = 8;

impl CallReader {
    pub fn new(enter: &TraceFormat, exit: &TraceFormat) -> Result<CallReader, NoField> {
        let calls = FileCall::all();
        let numbers = calls.last().map_or(0, |call| call.number as usize + 1);
        let mut places = vec![None; numbers];
        for (place, call) in calls.iter().enumerate() {
            places[call.number as usize] = Some(place as u16);
        }
        Ok(CallReader {
            places,
            calls,
            points: (enter.id as i64, exit.id as i64),
            point: enter.field("common_type")?.clone(),
            number: enter.field("id")?.clone(),
            arguments: enter.field("args")?.clone(),
            thread: enter.field("common_pid")?.clone(),
            ended_number: exit.field("id")?.clone(),
            answer: exit.field("ret")?.clone(),
            clocks: HashSet::new(),
        })
    }

    pub fn add_clock(&mut self, id: u64) {
        self.clocks.insert(id);
    }

    /// `None` when it is cut off, or not one of ours.
    pub fn read(&self, record: &[u8]) -> Option<CallEvent> {
        if let Some(event) = of_thread(record) {
            return Some(event);
        }
        let head = Sample::head(record)?;
        if self.clocks.contains(&head.id) {
            let sample = Sample::of_clock(record)?;
            let ((process, thread), what) =
                (sample.own_ids, CallWhat::Sampled(sample.stack.into()));
            return Some(CallEvent { time_ns: sample.time_ns, process, thread, what });
        }
        let sample = Sample::parse(record, |_| false)?;
        let point = self.point.integer(sample.raw)?;
        let what = match point {
            _ if point == self.points.0 => self.began(sample.raw)?,
            _ if point == self.points.1 => CallWhat::Ended {
                call: self.place(self.ended_number.integer(sample.raw)?)?,
                answer: self.answer.integer(sample.raw)?,
            },
            _ => return None,
        };
        let (process, thread) = sample.own_ids;
        Some(CallEvent { time_ns: sample.time_ns, process, thread, what })
    }

    fn place(&self, number: i64) -> Option<u16> {
        *self.places.get(usize::try_from(number).ok()?)?
    }

    fn began(&self, raw: &[u8]) -> Option<CallWhat> {
        let call = self.place(self.number.integer(raw)?)?;
        let arguments = self.arguments.bytes(raw)?;
        let argument = |at: usize| {
            let bytes = arguments.get(at * 8..at * 8 + 8)?;
            Some(u64::from_ne_bytes(bytes.try_into().ok()?))
        };
        let offset_bytes = self.calls[usize::from(call)].offset_at.and_then(argument).unwrap_or(0);
        let on_machine = self.thread.integer(raw)? as u32;
        Some(CallWhat::Began { call, offset_bytes, on_machine })
    }
}

fn of_thread(record: &[u8]) -> Option<CallEvent> {
    let mut bytes = Bytes(record);
    let kind = bytes.u32()?;
    let flags = bytes.u32()?;
    match kind {
        RECORD_SWITCH if flags & LEAVES == 0 => {
            let (process, thread, time_ns) = (bytes.u32()?, bytes.u32()?, bytes.u64()?);
            Some(CallEvent { time_ns, process, thread, what: CallWhat::Arrived })
        }
        RECORD_FORK | RECORD_EXIT => {
            let (process, _, thread, by) = (bytes.u32()?, bytes.u32()?, bytes.u32()?, bytes.u32()?);
            let what = if kind == RECORD_FORK { CallWhat::Started { by } } else { CallWhat::Gone };
            Some(CallEvent { time_ns: bytes.u64()?, process, thread, what })
        }
        RECORD_COMM => {
            let (process, thread) = (bytes.u32()?, bytes.u32()?);
            let (name, trailer) =
                bytes.0.split_at_checked(bytes.0.len().checked_sub(TRAILER_BYTES)?)?;
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            let name = String::from_utf8_lossy(name).into();
            let time_ns = Bytes(&trailer[TRAILER_TIME_AT..]).u64()?;
            Some(CallEvent { time_ns, process, thread, what: CallWhat::Named(name) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reader() -> CallReader {
        let enter = "ID: 443\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
            \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
            \tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n";
        let exit = "ID: 442\n\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n";
        let parse = |text| TraceFormat::parse(text).unwrap();
        CallReader::new(&parse(enter), &parse(exit)).unwrap()
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn pair(low: u32, high: u32) -> u64 {
        u64::from(low) | u64::from(high) << 32
    }

    /// A sample of thread 41 of process 40, on the machine 4,100.
    fn sample(point: u32, body: &[u64]) -> Vec<u8> {
        let raw = words(&[&[pair(point, 4_100)], body].concat());
        let mut record = words(&[9, 7, pair(40, 41), 5_000, 1]);
        record.extend((raw.len() as u32).to_ne_bytes());
        record.extend(raw);
        record
    }

    fn place(name: &str) -> (u16, u64) {
        let all = FileCall::all();
        let place = all.iter().position(|call| call.name == name).unwrap();
        (place as u16, all[place].number as u64)
    }

    #[test]
    fn a_call_begins_at_its_offset_and_ends_with_an_answer() {
        let (call, number) = place("pwrite64");
        let began = sample(443, &[number, 3, 0, 512, 8_192, 0, 0]);
        let began = reader().read(&began).unwrap();
        assert_eq!((began.time_ns, began.process, began.thread), (5_000, 40, 41));
        let what = CallWhat::Began { call, offset_bytes: 8_192, on_machine: 4_100 };
        assert_eq!(began.what, what);
        let ended = sample(442, &[number, -28i64 as u64]);
        let ended = reader().read(&ended).unwrap();
        assert_eq!(ended.what, CallWhat::Ended { call, answer: -28 });
        assert_eq!(reader().read(&sample(443, &[99_999, 0, 0, 0, 0, 0, 0])), None);
        assert_eq!(reader().read(&sample(77, &[number, 0])), None);
    }

    #[test]
    fn threads_begin_are_named_and_end() {
        let body = [pair(50, 40), pair(51, 41), 6_000];
        let fork = words(&[&[u64::from(RECORD_FORK)], &body[..], &[0; 4]].concat());
        let started = reader().read(&fork).unwrap();
        assert_eq!((started.process, started.thread, started.time_ns), (50, 51, 6_000));
        assert_eq!(started.what, CallWhat::Started { by: 41 });
        let exit = words(&[&[u64::from(RECORD_EXIT)], &body[..], &[0; 4]].concat());
        assert_eq!(reader().read(&exit).unwrap().what, CallWhat::Gone);
        let name = u64::from_ne_bytes(*b"git\0\0\0\0\0");
        let comm = words(&[u64::from(RECORD_COMM), pair(50, 51), name, pair(50, 51), 7_000, 1, 7]);
        let named = reader().read(&comm).unwrap();
        assert_eq!((named.time_ns, named.what), (7_000, CallWhat::Named("git".into())));
    }

    #[test]
    fn a_sample_of_a_clock_has_a_stack() {
        let mut reader = reader();
        reader.add_clock(7);
        let record = words(&[9, 7, pair(40, 41), 5_000, 1, 2, 0xffff_0010, 0xffff_0020]);
        let event = reader.read(&record).unwrap();
        let stack = [0xffff_0010, 0xffff_0020];
        assert_eq!((event.thread, event.what), (41, CallWhat::Sampled(stack.into())));
    }

    #[test]
    fn a_thread_takes_a_processor_and_leaving_it_is_not_told() {
        let record =
            |flags: u32| words(&[pair(RECORD_SWITCH, flags | 40 << 16), pair(50, 51), 7_000, 1, 7]);
        let arrived = reader().read(&record(0)).unwrap();
        assert_eq!((arrived.thread, arrived.time_ns, arrived.what), (51, 7_000, CallWhat::Arrived));
        assert_eq!(reader().read(&record(LEAVES)), None);
    }

    proptest! {
        #[test]
        fn no_record_makes_it_panic(kind in 0u32..12, body: Vec<u8>) {
            let mut record = kind.to_ne_bytes().to_vec();
            record.extend([0; 4]);
            record.extend(body);
            let _ = reader().read(&record);
        }
    }
}
