//! What a traced thread did: it began a call, came back from it, was started, named, ended. Read from records of
//! `perf_event_open(2)`; opening events is the tracer's.

use std::collections::HashSet;

use crate::kernel::{
    file_calls::FileCall,
    trace_format::{NoField, TraceField, TraceFormat},
};

use crate::{
    kernel::perf_record::{Body, Record},
    loss::Gap,
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
    Due,
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
    pub fn read(&self, record: Record<'_>) -> Option<CallEvent> {
        let Record { time_ns, process, thread, .. } = record;
        let what = match record.body {
            Body::Started { by } => CallWhat::Started { by },
            Body::Ended => CallWhat::Gone,
            Body::Named(name) => CallWhat::Named(name.into()),
            Body::Due => CallWhat::Due,
            Body::Sample(mut sample) if self.clocks.contains(&record.id) => {
                CallWhat::Sampled(sample.stack()?.into())
            }
            Body::Sample(mut sample) => self.called(sample.raw()?)?,
            Body::Lost { .. } | Body::Left { .. } => return None,
        };
        Some(CallEvent { time_ns, process, thread, what })
    }

    fn called(&self, raw: &[u8]) -> Option<CallWhat> {
        let point = self.point.integer(raw)?;
        if point == self.points.0 {
            return self.began(raw);
        }
        (point == self.points.1).then_some(())?;
        let call = self.place(self.ended_number.integer(raw)?)?;
        Some(CallWhat::Ended { call, answer: self.answer.integer(raw)? })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::perf_record::tests::{fork, pair, sample, switch};

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

    /// A sample of thread 41 of process 40, on the machine 4,100.
    fn called(point: u32, body: &[u64]) -> Vec<u8> {
        let words = [&[pair(point, 4_100)], body].concat();
        let raw: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        sample(None, Some(&raw))
    }

    fn read(bytes: &[u8]) -> Option<CallEvent> {
        reader().read(Record::parse(bytes)?)
    }

    fn place(name: &str) -> (u16, u64) {
        let all = FileCall::all();
        let place = all.iter().position(|call| call.name == name).unwrap();
        (place as u16, all[place].number as u64)
    }

    #[test]
    fn a_call_begins_at_its_offset_and_ends_with_an_answer() {
        let (call, number) = place("pwrite64");
        let began = read(&called(443, &[number, 3, 0, 512, 8_192, 0, 0])).unwrap();
        assert_eq!((began.time_ns, began.process, began.thread), (5_000, 40, 41));
        let what = CallWhat::Began { call, offset_bytes: 8_192, on_machine: 4_100 };
        assert_eq!(began.what, what);
        let ended = read(&called(442, &[number, -28i64 as u64])).unwrap();
        assert_eq!(ended.what, CallWhat::Ended { call, answer: -28 });
        assert_eq!(read(&called(443, &[99_999, 0, 0, 0, 0, 0, 0])), None);
        assert_eq!(read(&called(77, &[number, 0])), None);
    }

    #[test]
    fn threads_begin_and_take_a_processor_and_leaving_it_is_not_told() {
        assert_eq!(read(&fork()).unwrap().what, CallWhat::Started { by: 41 });
        assert_eq!(read(&switch(false, false)).unwrap().what, CallWhat::Due);
        assert_eq!(read(&switch(true, false)), None);
    }

    #[test]
    fn a_sample_of_a_clock_has_a_stack() {
        let mut reader = reader();
        reader.add_clock(7);
        let stack = [0xffff_0010, 0xffff_0020];
        let bytes = sample(Some(&stack), None);
        let event = reader.read(Record::parse(&bytes).unwrap()).unwrap();
        assert_eq!((event.thread, event.what), (41, CallWhat::Sampled(stack.into())));
    }
}
