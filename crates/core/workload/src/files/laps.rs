//! A kind that the phase does not list is not kept.

use super::phases::Kind;
use crate::phase::ThreadBench;

#[derive(Debug, Clone, Copy)]
pub(super) struct Places([Option<u8>; Kind::COUNT]);

impl Places {
    pub(super) fn of(kinds: &[Kind]) -> Places {
        let mut places = [None; Kind::COUNT];
        for (place, kind) in kinds.iter().enumerate() {
            places[*kind as usize] = Some(place as u8);
        }
        Places(places)
    }

    #[inline]
    pub(super) fn until_now(
        &self,
        timing: &mut ThreadBench,
        kind: Kind,
        start_ns: u64,
        offset_bytes: u64,
    ) -> u64 {
        let end_ns = timing.now_ns();
        self.lap(timing, kind, (start_ns, end_ns), offset_bytes);
        end_ns
    }

    #[inline]
    pub(super) fn lap(
        &self,
        timing: &mut ThreadBench,
        kind: Kind,
        span_ns: (u64, u64),
        offset_bytes: u64,
    ) {
        if let Some(place) = self.0[kind as usize] {
            timing.lap(usize::from(place), span_ns.0, span_ns.1, offset_bytes);
        }
    }
}
