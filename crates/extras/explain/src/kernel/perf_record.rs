//! What stands in a ring of perf events: records, each with whose it is and when it was.
//!
//! ```text
//! SAMPLE       header | id | process, thread | time | cpu, - | [n, n addresses] | [size, bytes of the trace point]
//! others       header | body | process, thread | time | cpu, - | id
//!
//! LOST         id | count
//! FORK, EXIT   process, parent's | thread, parent's | time
//! COMM         process, thread | name, zeros
//! SWITCH       nothing: the header's flags tell
//! ```
//!
//! Source: perf_event_open(2), "PERF_RECORD_FORK" and others; include/uapi/linux/perf_event.h.

use std::borrow::Cow;

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const SWITCH: u32 = 14;
/// Flags of a switch in the header.
const LEAVES: u32 = 1 << 13;
const PREEMPTED: u32 = 1 << 14;
/// What follows the body of a record that is no sample.
const TRAILER_BYTES: usize = 32;
/// Entries of a callchain from here up are marks between its parts (PERF_CONTEXT_MAX).
const CONTEXT_MARKS: u64 = u64::MAX - 4094;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'a> {
    /// Of its event.
    pub id: u64,
    /// As our own pid namespace knows them; 0 for strangers.
    pub process: u32,
    pub thread: u32,
    pub time_ns: u64,
    pub processor: u32,
    pub body: Body<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<'a> {
    Sample(Sample<'a>),
    /// So many had no room before it.
    Lost {
        count: u64,
    },
    /// By a thread.
    Started {
        by: u32,
    },
    Ended,
    Named(Cow<'a, str>),
    Due,
    Left {
        is_preempted: bool,
    },
}

/// The rest of a sample: first its stack, then the bytes of a trace point, where its event has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample<'a>(Bytes<'a>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(first)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }
}

impl<'a> Sample<'a> {
    /// Kernel addresses, innermost first; `None` when it is cut off.
    pub fn stack(&mut self) -> Option<Vec<u64>> {
        let frames = self.0.u64()?;
        let addresses = self.0.take(usize::try_from(frames).ok()?.checked_mul(8)?)?;
        let word = |chunk: &[u8]| u64::from_ne_bytes(chunk.try_into().expect("eight bytes"));
        let addresses = addresses.chunks_exact(8).map(word);
        Some(addresses.filter(|address| *address < CONTEXT_MARKS).collect())
    }

    pub fn raw(&mut self) -> Option<&'a [u8]> {
        let size = self.0.u32()?;
        self.0.take(size as usize)
    }
}

impl<'a> Record<'a> {
    /// `None` when it is of another kind, or cut off.
    pub fn parse(record: &'a [u8]) -> Option<Record<'a>> {
        let mut bytes = Bytes(record);
        let (kind, flags) = (bytes.u32()?, bytes.u32()?);
        if kind == SAMPLE {
            let id = bytes.u64()?;
            let (process, thread, time_ns) = (bytes.u32()?, bytes.u32()?, bytes.u64()?);
            let (processor, _) = (bytes.u32()?, bytes.u32()?);
            let body = Body::Sample(Sample(bytes));
            return Some(Record { id, process, thread, time_ns, processor, body });
        }
        let mut body = Bytes(bytes.take(bytes.0.len().checked_sub(TRAILER_BYTES)?)?);
        let (mut process, mut thread, time_ns) = (bytes.u32()?, bytes.u32()?, bytes.u64()?);
        let (processor, _, id) = (bytes.u32()?, bytes.u32()?, bytes.u64()?);
        let body = match kind {
            SWITCH if flags & LEAVES != 0 => Body::Left { is_preempted: flags & PREEMPTED != 0 },
            SWITCH => Body::Due,
            LOST => {
                body.u64()?;
                Body::Lost { count: body.u64()? }
            }
            FORK | EXIT => {
                (process, _, thread) = (body.u32()?, body.u32()?, body.u32()?);
                let by = body.u32()?;
                if kind == FORK { Body::Started { by } } else { Body::Ended }
            }
            COMM => {
                (process, thread) = (body.u32()?, body.u32()?);
                let name = body.0.split(|byte| *byte == 0).next().unwrap_or_default();
                Body::Named(String::from_utf8_lossy(name))
            }
            _ => return None,
        };
        Some(Record { id, process, thread, time_ns, processor, body })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    pub(crate) fn pair(low: u32, high: u32) -> u64 {
        u64::from(low) | u64::from(high) << 32
    }

    /// Of event 7, by thread 41 of process 40, at 5,000 ns on processor 1.
    pub(crate) fn sample(stack: Option<&[u64]>, raw: Option<&[u8]>) -> Vec<u8> {
        let mut record = words(&[pair(SAMPLE, 0), 7, pair(40, 41), 5_000, 1]);
        if let Some(stack) = stack {
            record.extend(words(&[&[stack.len() as u64], stack].concat()));
        }
        if let Some(raw) = raw {
            record.extend((raw.len() as u32).to_ne_bytes());
            record.extend(raw);
        }
        record
    }

    fn other(kind: u32, flags: u32, body: &[u64]) -> Vec<u8> {
        let trailer = [pair(40, 41), 5_000, 1, 7];
        words(&[&[pair(kind, flags)], body, &trailer[..]].concat())
    }

    pub(crate) fn switch(leaves: bool, is_preempted: bool) -> Vec<u8> {
        let preempted = if is_preempted { PREEMPTED } else { 0 };
        other(SWITCH, if leaves { LEAVES | preempted } else { 0 }, &[])
    }

    pub(crate) fn fork() -> Vec<u8> {
        other(FORK, 0, &[pair(50, 40), pair(51, 41), 6_000])
    }

    #[test]
    fn a_sample_has_the_stack_of_the_kernel_and_the_bytes_of_a_trace_point() {
        let stack = [u64::MAX - 127, 0xffff_0010, 0xffff_0020];
        let bytes = sample(Some(&stack), Some(&[1, 2, 3]));
        let record = Record::parse(&bytes).unwrap();
        assert_eq!((record.id, record.process, record.thread), (7, 40, 41));
        assert_eq!((record.time_ns, record.processor), (5_000, 1));
        let Body::Sample(mut rest) = record.body else { panic!("{record:?}") };
        assert_eq!(rest.stack().unwrap(), [0xffff_0010, 0xffff_0020]);
        assert_eq!((rest.raw(), rest.raw()), (Some(&[1, 2, 3][..]), None));
    }

    #[test]
    fn other_records_tell_what_a_thread_did() {
        let told = |bytes: Vec<u8>, process, thread, body: Body<'_>| {
            let record = Record::parse(&bytes).unwrap();
            assert_eq!((record.process, record.thread, record.time_ns), (process, thread, 5_000));
            assert_eq!(record.body, body);
        };
        told(switch(false, false), 40, 41, Body::Due);
        for is_preempted in [false, true] {
            told(switch(true, is_preempted), 40, 41, Body::Left { is_preempted });
        }
        told(fork(), 50, 51, Body::Started { by: 41 });
        told(other(EXIT, 0, &[pair(50, 40), pair(51, 41), 6_000]), 50, 51, Body::Ended);
        told(other(LOST, 0, &[7, 12]), 40, 41, Body::Lost { count: 12 });
        let name = u64::from_ne_bytes(*b"git\0\0\0\0\0");
        told(other(COMM, 0, &[pair(50, 51), name]), 50, 51, Body::Named("git".into()));
        assert_eq!(Record::parse(&other(LOST, 0, &[7])), None, "cut off");
    }

    proptest! {
        #[test]
        fn no_record_makes_it_panic(kind in 0u32..16, body: Vec<u8>, frames: u64) {
            let mut record = words(&[pair(kind, 0)]);
            record.extend(&body);
            let mut stacked = sample(Some(&[1, 2]), Some(&body));
            stacked[40..48].copy_from_slice(&frames.to_ne_bytes());
            for bytes in [record, stacked] {
                if let Some(Record { body: Body::Sample(mut rest), .. }) = Record::parse(&bytes) {
                    let _ = (rest.stack(), rest.raw());
                }
            }
        }
    }
}
