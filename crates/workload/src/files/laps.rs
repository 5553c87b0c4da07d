//! From kinds of operation to their places in the list of a phase. A kind that the phase does not
//! list is not kept.

use super::phases::Kind;
use crate::phase::{PhaseBench, ThreadBench};

/// Where laps go: the bench of the first thread or of another one.
pub(super) trait Timing {
    /// The clock.
    fn now_ns(&self) -> u64;
    /// One lap of the kind at `place`.
    fn lap(&mut self, place: usize, start_ns: u64, end_ns: u64, offset_bytes: u64);
}

impl Timing for PhaseBench {
    #[inline]
    fn now_ns(&self) -> u64 {
        PhaseBench::now_ns(self)
    }

    #[inline]
    fn lap(&mut self, place: usize, start_ns: u64, end_ns: u64, offset_bytes: u64) {
        PhaseBench::lap(self, place, start_ns, end_ns, offset_bytes);
    }
}

impl Timing for ThreadBench {
    #[inline]
    fn now_ns(&self) -> u64 {
        ThreadBench::now_ns(self)
    }

    #[inline]
    fn lap(&mut self, place: usize, start_ns: u64, end_ns: u64, offset_bytes: u64) {
        ThreadBench::lap(self, place, start_ns, end_ns, offset_bytes);
    }
}

/// The places of a phase's kinds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places([Option<u8>; Kind::COUNT]);

impl Places {
    /// Of these kinds, in their order.
    pub(super) fn of(kinds: &[Kind]) -> Places {
        let mut places = [None; Kind::COUNT];
        for (place, kind) in kinds.iter().enumerate() {
            places[*kind as usize] = Some(place as u8);
        }
        Places(places)
    }

    /// Keeps one operation that ends now, and gives the time.
    #[inline]
    pub(super) fn until_now(
        &self,
        timing: &mut impl Timing,
        kind: Kind,
        start_ns: u64,
        offset_bytes: u64,
    ) -> u64 {
        let end_ns = timing.now_ns();
        self.lap(timing, kind, (start_ns, end_ns), offset_bytes);
        end_ns
    }

    /// Keeps one operation.
    #[inline]
    pub(super) fn lap(
        &self,
        timing: &mut impl Timing,
        kind: Kind,
        span_ns: (u64, u64),
        offset_bytes: u64,
    ) {
        if let Some(place) = self.0[kind as usize] {
            timing.lap(usize::from(place), span_ns.0, span_ns.1, offset_bytes);
        }
    }
}
