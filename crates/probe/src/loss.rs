//! Where the records of one ring may have gaps. Not how many are missing: the kernel counts them.
//!
//! The kernel drops records while a ring is full, and says so in front of the next one that fits: late,
//! and perhaps never. Whether a ring was full is seen at once, when it is emptied.
//!
//! ```text
//! record  record  (ring is full ...)  emptied  LOST record
//!         |since                                   |told
//! ```

/// What a ring tells about gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// From here on records may be missing.
    Began {
        /// Time of the last record before.
        since_ns: u64,
    },
    /// The gap is over, and so many were missing in it; none where it only seemed to be one.
    Over {
        /// When it began.
        since_ns: u64,
        /// When it was told.
        time_ns: u64,
        /// Records.
        count: u64,
    },
}

/// Follows the records of one ring.
#[derive(Debug, Default)]
pub struct GapWatch {
    latest_ns: u64,
    since_ns: Option<u64>,
}

/// A ring with less room than this may have refused a record: a stack of 127 frames has 1,016 bytes.
const ROOM_BYTES: usize = 2_048;

impl GapWatch {
    /// A record of the ring, in its order: `lost` is what a LOST record counts.
    pub fn record(&mut self, time_ns: u64, lost: Option<u64>, each: &mut dyn FnMut(Gap)) {
        let since_ns = self.since_ns.take().or_else(|| {
            lost?;
            each(Gap::Began { since_ns: self.latest_ns });
            Some(self.latest_ns)
        });
        if let Some(since_ns) = since_ns {
            each(Gap::Over { since_ns, time_ns, count: lost.unwrap_or(0) });
        }
        self.latest_ns = self.latest_ns.max(time_ns);
    }

    /// The ring has been emptied of so many bytes of those that it can hold.
    pub fn emptied(&mut self, bytes: usize, capacity_bytes: usize, each: &mut dyn FnMut(Gap)) {
        if bytes + ROOM_BYTES > capacity_bytes && self.since_ns.is_none() {
            self.since_ns = Some(self.latest_ns);
            each(Gap::Began { since_ns: self.latest_ns });
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
                watch.emptied(65_000, 65_536, &mut |gap| gaps.push(gap));
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
    fn a_ring_with_room_has_no_gap() {
        let (mut watch, mut gaps) = (GapWatch::default(), Vec::new());
        watch.record(100, None, &mut |gap| gaps.push(gap));
        watch.emptied(60_000, 65_536, &mut |gap| gaps.push(gap));
        watch.emptied(0, 65_536, &mut |gap| gaps.push(gap));
        assert_eq!(gaps, []);
    }
}
