//! Records of a ring, and where it may have gaps. Not how many are missing: the kernel counts them.
//!
//! The kernel drops records while a ring is full, and says so in front of the next one that fits: late,
//! and perhaps never. Whether a ring was full is seen at once, when it is emptied.
//!
//! ```text
//! record  record  (ring is full ...)  emptied  LOST record
//!         |since                                   |told
//! ```

use std::vec::Drain;

use pickfs_record::{Clock, MonotonicClock};

use crate::kernel::{
    perf_event::{PerfEvent, PerfEventError},
    perf_record::{Body, Record},
    perf_ring::PerfRing,
};

pub struct Ring {
    ring: PerfRing,
    gaps: GapWatch,
}

pub enum Told<'a> {
    Record(Record<'a>),
    Gap(Gap),
}

impl Ring {
    /// `pages` is a power of two.
    pub fn map(event: &PerfEvent, pages: usize) -> Result<Ring, PerfEventError> {
        Ok(Ring { ring: PerfRing::map(event, pages)?, gaps: GapWatch::default() })
    }

    /// Empties it.
    pub fn drain(&mut self, take: &mut dyn FnMut(Told<'_>)) {
        let Ring { ring, gaps } = self;
        let bytes = ring.drain(&mut |bytes| {
            let Some(record) = Record::parse(bytes) else { return };
            let lost = match record.body {
                Body::Lost { count } => Some(count),
                _ => None,
            };
            gaps.record(record.time_ns, lost, &mut |gap| take(Told::Gap(gap)));
            take(Told::Record(record));
        });
        let now_ns = MonotonicClock.now_ns();
        gaps.emptied(bytes, ring.capacity_bytes(), now_ns, &mut |gap| take(Told::Gap(gap)));
    }

    /// In [0, 1].
    pub fn fill(&self) -> f64 {
        self.ring.fill()
    }
}

/// Takes those up to `until_ns`, in the order of their times. Choose it some milliseconds ago: what is younger may still
/// be on its way from another processor.
pub fn ripe<E>(held: &mut Vec<E>, until_ns: u64, time_ns: fn(&E) -> u64) -> Drain<'_, E> {
    held.sort_by_key(time_ns);
    let ripe = held.partition_point(|event| time_ns(event) <= until_ns);
    held.drain(..ripe)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    Began {
        /// Time of the last record before.
        since_ns: u64,
    },
    /// None where it only seemed to be one.
    Over { since_ns: u64, time_ns: u64, count: u64 },
}

#[derive(Debug, Default)]
pub struct GapWatch {
    latest_ns: u64,
    since_ns: Option<u64>,
    /// The ring was full when it was emptied last, and has had room since then.
    room_since_ns: Option<u64>,
    /// A gap was told as over before the kernel had counted it.
    is_uncounted: bool,
}

/// A ring with less room than this may have refused a record: a stack of 127 frames has 1,016 bytes.
const ROOM_BYTES: usize = 2_048;

impl GapWatch {
    /// In the ring's order: `lost` is what a LOST record counts.
    pub fn record(&mut self, time_ns: u64, lost: Option<u64>, each: &mut dyn FnMut(Gap)) {
        let since_ns = self.since_ns.take().or_else(|| {
            lost?;
            // What the kernel counts so late belongs to the gap that is over: nothing is missing here.
            let since_ns = if self.is_uncounted { time_ns } else { self.latest_ns };
            each(Gap::Began { since_ns });
            Some(since_ns)
        });
        if let Some(since_ns) = since_ns {
            (self.room_since_ns, self.is_uncounted) = (None, false);
            each(Gap::Over { since_ns, time_ns, count: lost.unwrap_or(0) });
        }
        self.latest_ns = self.latest_ns.max(time_ns);
    }

    /// The ring has been emptied of so many bytes of those that it can hold; `now_ns` was read afterwards. A ring that
    /// stays silent after it was full has a gap until it was emptied, not for ever.
    pub fn emptied(
        &mut self,
        bytes: usize,
        capacity_bytes: usize,
        now_ns: u64,
        each: &mut dyn FnMut(Gap),
    ) {
        if bytes + ROOM_BYTES > capacity_bytes {
            if self.since_ns.is_none() {
                self.since_ns = Some(self.latest_ns);
                each(Gap::Began { since_ns: self.latest_ns });
            }
            self.room_since_ns = Some(now_ns);
        } else if let Some(time_ns) = self.room_since_ns.take() {
            if let Some(since_ns) = self.since_ns.take() {
                each(Gap::Over { since_ns, time_ns, count: 0 });
                self.is_uncounted = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(steps: &[(u64, Option<u64>)], emptied_after: usize) -> Vec<Gap> {
        let (mut watch, mut gaps) = (GapWatch::default(), Vec::new());
        for (at, (time_ns, lost)) in steps.iter().enumerate() {
            watch.record(*time_ns, *lost, &mut |gap| gaps.push(gap));
            if at + 1 == emptied_after {
                watch.emptied(65_000, 65_536, 500, &mut |gap| gaps.push(gap));
            }
        }
        gaps
    }

    #[test]
    fn a_full_ring_tells_the_gap_before_the_kernel_does() {
        let began = Gap::Began { since_ns: 200 };
        let over = |count| Gap::Over { since_ns: 200, time_ns: 900, count };
        assert_eq!(told(&[(100, None), (200, None), (900, Some(7))], 2), [began, over(7)]);
        assert_eq!(told(&[(100, None), (200, None), (900, None)], 2), [began, over(0)]);
    }

    #[test]
    fn a_gap_that_was_not_seen_begins_at_the_record_before() {
        let gaps = told(&[(100, None), (200, None), (900, Some(7)), (950, None)], 0);
        let over = Gap::Over { since_ns: 200, time_ns: 900, count: 7 };
        assert_eq!(gaps, [Gap::Began { since_ns: 200 }, over]);
    }

    #[test]
    fn a_ring_that_was_full_and_stays_silent_has_a_gap_until_it_was_emptied() {
        let (mut watch, mut gaps) = (GapWatch::default(), Vec::new());
        watch.record(100, None, &mut |gap| gaps.push(gap));
        watch.emptied(65_000, 65_536, 500, &mut |gap| gaps.push(gap));
        watch.emptied(65_000, 65_536, 600, &mut |gap| gaps.push(gap));
        watch.emptied(0, 65_536, 700, &mut |gap| gaps.push(gap));
        watch.emptied(0, 65_536, 800, &mut |gap| gaps.push(gap));
        let whole =
            [Gap::Began { since_ns: 100 }, Gap::Over { since_ns: 100, time_ns: 600, count: 0 }];
        assert_eq!(gaps, whole);
        watch.record(900, Some(7), &mut |gap| gaps.push(gap));
        let counted = Gap::Over { since_ns: 900, time_ns: 900, count: 7 };
        assert_eq!(gaps[2..], [Gap::Began { since_ns: 900 }, counted]);
        watch.record(950, None, &mut |gap| gaps.push(gap));
        assert_eq!(gaps.len(), 4);
    }

    #[test]
    fn a_ring_with_room_has_no_gap() {
        let (mut watch, mut gaps) = (GapWatch::default(), Vec::new());
        watch.record(100, None, &mut |gap| gaps.push(gap));
        watch.emptied(60_000, 65_536, 500, &mut |gap| gaps.push(gap));
        watch.emptied(0, 65_536, 600, &mut |gap| gaps.push(gap));
        assert_eq!(gaps, []);
    }
}
