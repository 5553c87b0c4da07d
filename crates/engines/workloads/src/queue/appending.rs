//! What comes before an arrival - filling the payload, touching the next page - is done while it waits.

use pickfs_record::{Clock, OpIndex};
use pickfs_workload::bench::Bench;
use pickfs_workload::drive::{Due, Work};
use pickfs_workload::fault::Fault;

use crate::pattern::Pattern;
use crate::queue::channel::Sink;

/// The appender's work; in lines of the cache that the tailer does not write to.
#[repr(align(128))]
pub(super) struct Appending {
    pub(super) sink: Sink,
    pub(super) pattern: Pattern,
    payload: Vec<u8>,
    next_number: u64,
    is_ready: bool,
    bytes_written: u64,
    pub(super) arrivals_late: u64,
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
            arrivals_late: 0,
        }
    }

    pub(super) fn sent(&self) -> u64 {
        self.next_number - 1
    }
}

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
    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        self.is_ready = false;
        stamp(&mut self.payload, bench.origin_ns(arrival.start_ns), arrival.start_ns);
        let offset_bytes = self.sink.append(&self.payload)?;
        let end_ns = clock.now_ns();
        bench.record(OpIndex(0), arrival.start_ns, end_ns, offset_bytes);
        self.next_number += 1;
        self.bytes_written += self.payload.len() as u64;
        self.arrivals_late += crate::late(arrival);
        Ok(end_ns)
    }

    fn poise(&mut self) -> Result<(), Fault> {
        self.sink.idle()
    }

    fn bytes_written(&self) -> u64 {
        self.bytes_written
    }
}

// What stands in a message: when it was due, when its append began, which one it is, and bytes that follow from
// that number.
//
// ```text
// payload   0           8           16       24
//           | origin ns | start ns  | number | bytes of the pattern |
// ```
//
// The origin is the due time without the driver's own stalls: what the reader waited since then is the response.

pub(super) const BYTES_MIN: usize = 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) origin_ns: u64,
    pub(super) start_ns: u64,
    pub(super) number: u64,
}

/// Stamps the times: the last stores before the append.
#[inline]
pub(super) fn stamp(payload: &mut [u8], origin_ns: u64, start_ns: u64) {
    payload[..8].copy_from_slice(&origin_ns.to_le_bytes());
    payload[8..16].copy_from_slice(&start_ns.to_le_bytes());
}

/// Reads what was stamped; `None` of a payload that is too short.
#[inline]
pub(super) fn told(payload: &[u8]) -> Option<Told> {
    let head = payload.first_chunk::<BYTES_MIN>()?;
    let word = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&head[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    Some(Told { origin_ns: word(0), start_ns: word(8), number: word(16) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_says_what_was_stamped() {
        let mut payload = [0; 30];
        payload[16] = 42;
        stamp(&mut payload, 5, 6);
        assert_eq!(told(&payload), Some(Told { origin_ns: 5, start_ns: 6, number: 42 }));
        assert_eq!(told(&payload[..23]), None);
    }
}
