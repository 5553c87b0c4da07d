//! What comes before a turn - filling the payload, touching the next page - is done while it waits.

use pickfs_record::{Clock, OpIndex};
use pickfs_workload::{
    bench::Bench,
    drive::{Turn, Work},
    fault::Fault,
};

use crate::pattern::Pattern;
use crate::queue::{
    channel::Sink,
    payload::{BYTES_MIN, stamp},
};

/// The appender's work; in lines of the cache that the tailer does not write to.
#[repr(align(128))]
pub(super) struct Appending {
    pub(super) sink: Sink,
    pub(super) pattern: Pattern,
    payload: Vec<u8>,
    next_number: u64,
    is_ready: bool,
    bytes_written: u64,
    pub(super) turns_late: u64,
}

impl Appending {
    pub(super) fn new(sink: Sink, payload_bytes: usize, seed: u64) -> Self {
        Appending {
            sink,
            pattern: Pattern::new(payload_bytes, BYTES_MIN, seed),
            payload: vec![0; payload_bytes],
            next_number: 1,
            is_ready: false,
            bytes_written: 0,
            turns_late: 0,
        }
    }

    pub(super) fn sent(&self) -> u64 {
        self.next_number - 1
    }
}

/// A turn that began this long after it was due was sent late: twice what a lap over an idle machine takes.
const LATE_NS: u64 = 1_000;

impl Work for Appending {
    fn ready(&mut self, _time_ns: u64) -> Result<(), Fault> {
        if !self.is_ready {
            self.pattern.fill(&mut self.payload, self.next_number);
            self.sink.idle()?;
            self.is_ready = true;
        }
        Ok(())
    }

    #[inline]
    fn turn<C: Clock>(&mut self, clock: &C, turn: &Turn, bench: &mut Bench) -> Result<u64, Fault> {
        self.is_ready = false;
        stamp(&mut self.payload, bench.origin_ns(turn.start_ns), turn.start_ns);
        let offset_bytes = self.sink.append(&self.payload)?;
        let end_ns = clock.now_ns();
        bench.lap(OpIndex(0), turn.start_ns, end_ns, offset_bytes);
        self.next_number += 1;
        self.bytes_written += self.payload.len() as u64;
        self.turns_late += u64::from(turn.start_ns - turn.due_ns > LATE_NS);
        Ok(end_ns)
    }

    fn poise(&mut self) -> Result<(), Fault> {
        self.sink.idle()
    }

    fn bytes_written(&self) -> u64 {
        self.bytes_written
    }
}
