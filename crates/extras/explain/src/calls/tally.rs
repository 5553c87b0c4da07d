//! Calls as they begin and end, thread by thread, summed by kind. Pure, and bounded in memory: what
//! grows is the number of threads that live at one time.
//!
//! Events must come in the order of their times. What comes twice changes nothing. Where events may
//! have been lost, every call that is open then is dropped, and each that begins before the gap is
//! over: whatever ends later may belong to another one.

use std::collections::HashMap;

use crate::kernel::file_calls::{FileCall, Gives};
use pickfs_record::calls::{CallCounts, CallRow};
use pickfs_sys::slow_operations::SlowOperation;

use super::{
    event::{CallEvent, CallWhat},
    kind::Kind,
};

/// Threads that are remembered; beyond, those that are in no call are forgotten.
const THREADS_MAX: usize = 16_384;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedCall {
    /// Its operation is the call's place in [`FileCall::all`].
    pub operation: SlowOperation,
    pub on_machine: u32,
}

pub struct CallTally {
    calls: Vec<FileCall>,
    kinds: Vec<Option<Box<Kind>>>,
    threads: HashMap<u32, Traced>,
    processes: HashMap<u32, u32>,
    counts: CallCounts,
    /// Rings that may be losing events now.
    losing: u32,
}

#[derive(Debug, Default)]
struct Traced {
    process: u32,
    on_machine: u32,
    name: Box<str>,
    open: Option<Open>,
    /// The call that it was in when events were lost: dropped and counted, so its end says nothing.
    dropped: Option<u16>,
    /// The last event of a call, or of its start, and when that was.
    last: Option<(u64, CallWhat)>,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    call: u16,
    start_ns: u64,
    offset_bytes: u64,
}

impl Default for CallTally {
    fn default() -> CallTally {
        let calls = FileCall::all();
        CallTally {
            kinds: calls.iter().map(|_| None).collect(),
            calls,
            threads: HashMap::new(),
            processes: HashMap::new(),
            counts: CallCounts::default(),
            losing: 0,
        }
    }
}

impl CallTally {
    pub fn take(&mut self, event: &CallEvent) -> Option<EndedCall> {
        if self.is_again(event) {
            return None;
        }
        self.counts.events += 1;
        match &event.what {
            CallWhat::Began { call, offset_bytes, on_machine } => {
                let (start_ns, offset_bytes) = (event.time_ns, *offset_bytes);
                self.began(event, Open { call: *call, start_ns, offset_bytes }, *on_machine);
            }
            CallWhat::Ended { call, answer } => return self.ended(event, *call, *answer),
            CallWhat::Started { by } => self.started(event, *by),
            CallWhat::Named(name) => self.thread(event).name = name.clone(),
            CallWhat::Gone => self.gone(event.thread),
            CallWhat::Due | CallWhat::Sampled(_) => {}
            CallWhat::Losing => {
                self.counts.events -= 1;
                self.losing += 1;
                self.drop_open();
            }
            CallWhat::Lost(count) => {
                self.counts.events -= 1;
                self.counts.events_lost += count;
                self.losing = self.losing.saturating_sub(1);
                self.drop_open();
            }
        }
        None
    }

    fn is_again(&self, event: &CallEvent) -> bool {
        let last = self.threads.get(&event.thread).and_then(|thread| thread.last.as_ref());
        last.is_some_and(|(time_ns, what)| *time_ns == event.time_ns && *what == event.what)
    }

    fn began(&mut self, event: &CallEvent, open: Open, on_machine: u32) {
        let is_losing = self.losing > 0;
        let thread = self.thread(event);
        thread.on_machine = on_machine;
        thread.dropped = is_losing.then_some(open.call);
        thread.last = Some((event.time_ns, event.what.clone()));
        let before = thread.open.take();
        thread.open = (!is_losing).then_some(open);
        self.counts.cut += u64::from(before.is_some()) + u64::from(is_losing);
    }

    fn started(&mut self, event: &CallEvent, by: u32) {
        let name = self.threads.get(&by).map(|by| by.name.clone()).unwrap_or_default();
        // One of this number that is still here has ended, and that event was lost.
        if self.counts.events_lost > 0 {
            self.gone(event.thread);
        }
        let thread = self.thread(event);
        thread.name = name;
        thread.last = Some((event.time_ns, event.what.clone()));
    }

    /// The ends of calls that are open may be among the lost events, and the beginnings of others.
    fn drop_open(&mut self) {
        for thread in self.threads.values_mut() {
            if let Some(open) = thread.open.take() {
                thread.dropped = Some(open.call);
                self.counts.cut += 1;
            }
        }
    }

    pub fn name(&self, thread: u32) -> &str {
        self.threads.get(&thread).map_or("", |thread| &thread.name)
    }

    pub fn introduce(&mut self, process: u32, thread: u32, name: &str) {
        let what = CallWhat::Named(name.into());
        self.thread(&CallEvent { time_ns: 0, process, thread, what }).name = name.into();
    }

    /// When the call began that a thread is in.
    pub fn open_since_ns(&self, thread: u32) -> Option<u64> {
        Some(self.threads.get(&thread)?.open?.start_ns)
    }

    pub fn knows(&self, thread: u32) -> bool {
        self.threads.contains_key(&thread)
    }

    /// Of the process of a thread, by their numbers on the machine.
    pub fn uring_workers(&self, thread: u32) -> Vec<u32> {
        let Some(process) = self.threads.get(&thread).map(|thread| thread.process) else {
            return Vec::new();
        };
        let of_process = self.threads.iter().filter(|(_, other)| other.process == process);
        let workers = of_process.filter(|(_, other)| other.name.starts_with("iou-"));
        workers
            .map(|(id, other)| if other.on_machine == 0 { *id } else { other.on_machine })
            .collect()
    }

    pub fn call_name(&self, call: u16) -> &'static str {
        self.calls[usize::from(call)].name
    }

    pub fn threads_now(&self) -> usize {
        self.threads.len()
    }

    fn thread(&mut self, event: &CallEvent) -> &mut Traced {
        if !self.threads.contains_key(&event.thread) {
            if self.threads.len() >= THREADS_MAX {
                self.forget_idle();
            }
            let siblings = self.processes.entry(event.process).or_default();
            self.counts.threads += 1;
            self.counts.processes += u64::from(*siblings == 0);
            *siblings += 1;
            let traced = Traced { process: event.process, ..Traced::default() };
            self.threads.insert(event.thread, traced);
        }
        self.threads.get_mut(&event.thread).expect("it was just put there")
    }

    fn gone(&mut self, thread: u32) {
        let Some(thread) = self.threads.remove(&thread) else { return };
        if let Some(open) = thread.open {
            self.kind(open.call).unended += 1;
        }
        let siblings = self.processes.entry(thread.process).or_default();
        *siblings = siblings.saturating_sub(1);
        if *siblings == 0 {
            self.processes.remove(&thread.process);
        }
    }

    fn forget_idle(&mut self) {
        self.threads.retain(|_, thread| thread.open.is_some());
        self.processes.clear();
        for thread in self.threads.values() {
            *self.processes.entry(thread.process).or_default() += 1;
        }
    }

    fn ended(&mut self, event: &CallEvent, call: u16, answer: i64) -> Option<EndedCall> {
        // A thread that we never saw begin a call was in one when the watch began.
        let thread = self.threads.get_mut(&event.thread)?;
        let on_machine = thread.on_machine;
        thread.last = Some((event.time_ns, event.what.clone()));
        let is_dropped = thread.dropped.take() == Some(call);
        let Some(open) = thread.open.take_if(|open| open.call == call) else {
            let is_cut = self.counts.events_lost > 0 || self.losing > 0;
            self.counts.cut += u64::from(is_cut && !is_dropped);
            return None;
        };
        let length_ns = event.time_ns.saturating_sub(open.start_ns);
        self.counts.calls += 1;
        let gives_bytes = self.calls[usize::from(call)].gives != Gives::Other;
        self.kind(call).take(length_ns, answer, gives_bytes);
        let (op, thread_id, end_ns) = (call.into(), event.thread, event.time_ns);
        let Open { start_ns, offset_bytes, .. } = open;
        Some(EndedCall {
            operation: SlowOperation { op, thread_id, start_ns, end_ns, offset_bytes },
            on_machine,
        })
    }

    fn kind(&mut self, call: u16) -> &mut Kind {
        self.kinds[usize::from(call)].get_or_insert_default()
    }

    /// Greatest total time first. Calls that go on are counted as unended.
    pub fn finish(mut self) -> (Vec<CallRow>, CallCounts) {
        let open: Vec<u16> = self.threads.values().filter_map(|t| Some(t.open?.call)).collect();
        open.into_iter().for_each(|call| self.kind(call).unended += 1);
        let kinds = self.calls.iter().zip(self.kinds);
        let mut rows: Vec<CallRow> =
            kinds.filter_map(|(call, kind)| Some(kind?.row(call))).collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(row.total_ns), row.call.clone()));
        (rows, self.counts)
    }
}

#[cfg(test)]
mod tests {
    use pickfs_record::calls::CallError;

    use super::*;

    fn place(name: &str) -> u16 {
        FileCall::all().iter().position(|call| call.name == name).unwrap() as u16
    }

    fn event(time_ns: u64, thread: u32, what: CallWhat) -> CallEvent {
        CallEvent { time_ns, process: 40, thread, what }
    }

    fn began(time_ns: u64, thread: u32, call: &str) -> CallEvent {
        let call = place(call);
        event(
            time_ns,
            thread,
            CallWhat::Began { call, offset_bytes: 64, on_machine: thread + 1_000 },
        )
    }

    fn ended(time_ns: u64, thread: u32, call: &str, answer: i64) -> CallEvent {
        event(time_ns, thread, CallWhat::Ended { call: place(call), answer })
    }

    fn played(events: &[CallEvent]) -> (Vec<CallRow>, CallCounts) {
        let mut tally = CallTally::default();
        events.iter().for_each(|event| {
            assert!(tally.take(event).is_none_or(|call| call.operation.end_ns > 0))
        });
        tally.finish()
    }

    #[test]
    fn calls_of_threads_are_timed_apart_and_summed_together() {
        let (rows, counts) = played(&[
            began(100, 1, "pwrite64"),
            began(150, 2, "pwrite64"),
            ended(300, 2, "pwrite64", 512),
            ended(1_100, 1, "pwrite64", 4_096),
            began(1_200, 1, "openat"),
            ended(1_210, 1, "openat", -2),
        ]);
        assert_eq!((counts.calls, counts.threads, counts.processes, counts.cut), (3, 2, 1, 0));
        let names: Vec<&str> = rows.iter().map(|row| row.call.as_str()).collect();
        assert_eq!(names, ["pwrite64", "openat"]);
        assert_eq!((rows[0].service.count, rows[0].total_ns), (2, 1_150));
        assert_eq!((rows[0].service.min_ns, rows[0].service.max_ns), (150, 1_000));
        assert_eq!((rows[0].bytes_written, rows[0].bytes_read), (4_608, 0));
        let error = CallError { errno: 2, name: "ENOENT".into(), count: 1 };
        assert_eq!((rows[1].errors.as_slice(), rows[1].failed()), (&[error][..], 1));
    }

    #[test]
    fn what_comes_twice_changes_nothing() {
        let once = [began(100, 1, "read"), ended(300, 1, "read", 7)];
        let mut tally = CallTally::default();
        for event in &once {
            tally.take(event);
            tally.take(event);
        }
        let (rows, counts) = tally.finish();
        assert_eq!((rows[0].service.count, rows[0].bytes_read, counts.calls), (1, 7, 1));
        assert_eq!((rows[0].total_ns, counts.events, counts.cut), (200, 2, 0));
    }

    #[test]
    fn a_call_that_was_open_when_events_were_lost_has_no_end() {
        let (rows, counts) = played(&[
            began(100, 1, "read"),
            event(150, 0, CallWhat::Lost(2)),
            ended(9_000, 1, "read", 3),
        ]);
        assert_eq!((rows.len(), counts.calls, counts.cut, counts.events_lost), (0, 0, 1, 2));
        let (rows, counts) = played(&[
            began(100, 1, "read"),
            event(150, 0, CallWhat::Lost(3)),
            began(200, 1, "read"),
            ended(240, 1, "read", 3),
            ended(260, 1, "read", 3),
        ]);
        assert_eq!((rows[0].total_ns, counts.calls, counts.cut), (40, 1, 2));
    }

    /// The end of the first call and the beginning of the second are lost in one ring; the second ends on
    /// another processor, before the full ring says that it lost anything.
    #[test]
    fn an_end_from_another_ring_closes_no_call_of_before_the_gap() {
        let (rows, counts) = played(&[
            began(100, 1, "read"),
            event(100, 0, CallWhat::Losing),
            ended(8_000, 1, "read", 3),
            began(8_100, 2, "read"),
            event(9_000, 0, CallWhat::Lost(2)),
            ended(9_500, 2, "read", 3),
            began(9_600, 2, "read"),
            ended(9_700, 2, "read", 3),
        ]);
        assert_eq!((rows[0].service.count, rows[0].total_ns), (1, 100));
        assert_eq!((counts.calls, counts.cut, counts.events_lost), (1, 2, 2));
    }

    #[test]
    fn a_gap_in_which_nothing_was_lost_drops_what_was_open_and_no_more() {
        let (rows, counts) = played(&[
            began(100, 1, "read"),
            event(150, 0, CallWhat::Losing),
            event(200, 0, CallWhat::Lost(0)),
            ended(300, 1, "read", 3),
            began(400, 1, "read"),
            ended(450, 1, "read", 3),
        ]);
        assert_eq!((rows[0].service.count, counts.cut, counts.events_lost), (1, 1, 0));
    }

    #[test]
    fn a_number_that_is_given_out_anew_is_another_thread() {
        let mut tally = CallTally::default();
        tally.introduce(40, 1, "sh");
        tally.take(&event(50, 2, CallWhat::Started { by: 1 }));
        tally.take(&event(60, 2, CallWhat::Named("old".into())));
        tally.take(&began(100, 2, "read"));
        tally.take(&event(150, 0, CallWhat::Lost(2)));
        let again = event(200, 2, CallWhat::Started { by: 1 });
        tally.take(&again);
        tally.take(&again);
        assert_eq!((tally.name(2), tally.open_since_ns(2)), ("sh", None));
        tally.take(&ended(250, 2, "read", 1));
        let (rows, counts) = tally.finish();
        assert_eq!((rows.len(), counts.threads, counts.calls, counts.cut), (0, 3, 0, 2));
    }

    #[test]
    fn a_call_that_does_not_come_back_is_counted_apart() {
        let (rows, counts) = played(&[
            ended(50, 9, "fsync", 0),
            began(100, 1, "read"),
            event(200, 1, CallWhat::Gone),
            began(300, 2, "read"),
        ]);
        assert_eq!((rows.len(), rows[0].service.count, rows[0].unended), (1, 0, 2));
        assert_eq!((counts.calls, counts.cut), (0, 0));
    }

    #[test]
    fn lost_events_cut_calls_and_both_are_counted() {
        let (rows, counts) = played(&[
            began(100, 1, "read"),
            event(150, 0, CallWhat::Lost(2)),
            began(200, 1, "write"),
            ended(250, 1, "write", 3),
            ended(270, 1, "write", 3),
        ]);
        assert_eq!((rows.len(), rows[0].service.count), (1, 1));
        assert_eq!((counts.events_lost, counts.cut, counts.calls), (2, 2, 1));
    }

    #[test]
    fn a_thread_has_the_name_of_who_started_it_until_it_gets_its_own() {
        let mut tally = CallTally::default();
        tally.introduce(40, 1, "sh");
        tally.take(&event(100, 2, CallWhat::Started { by: 1 }));
        assert_eq!(tally.name(2), "sh");
        tally.take(&event(200, 2, CallWhat::Named("iou-wrk-1".into())));
        assert_eq!((tally.name(2), tally.name(7)), ("iou-wrk-1", ""));
        assert_eq!(tally.uring_workers(1), [2]);
        tally.take(&event(300, 2, CallWhat::Gone));
        assert_eq!((tally.knows(2), tally.threads_now()), (false, 1));
    }

    #[test]
    fn threads_that_come_and_go_without_a_word_do_not_fill_memory() {
        let mut tally = CallTally::default();
        tally.take(&began(1, 1, "read"));
        for thread in 2..100_000 {
            tally.take(&event(u64::from(thread), thread, CallWhat::Started { by: 1 }));
        }
        assert!(tally.threads_now() <= THREADS_MAX && tally.knows(1));
        assert!(tally.take(&ended(200_000, 1, "read", 1)).is_some());
    }
}
