//! Where a session's outgoing messages stand in a log: one mark for every so many, in room that never grows.

/// Marks of one session before every second one is let go.
const MARKS_MAX: usize = 4096;

#[derive(Debug, Clone)]
pub(super) struct Marks {
    /// Sequence number and record, both rising.
    marks: Vec<(u64, u64)>,
    /// Messages from one mark to the next.
    stride: u64,
}

impl Marks {
    pub(super) fn new() -> Self {
        Marks { marks: Vec::with_capacity(MARKS_MAX), stride: 16 }
    }

    #[inline]
    pub(super) fn note(&mut self, sequence: u64, record: u64) {
        if self.marks.last().is_none_or(|(last, _)| sequence >= last + self.stride) {
            self.add(sequence, record);
        }
    }

    fn add(&mut self, sequence: u64, record: u64) {
        if self.marks.len() == MARKS_MAX {
            let mut at = 0;
            self.marks.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.stride *= 2;
        }
        self.marks.push((sequence, record));
    }

    /// From which to look for a number; `None` where no such message is known.
    pub(super) fn before(&self, sequence: u64) -> Option<u64> {
        let behind = self.marks.partition_point(|(marked, _)| *marked <= sequence);
        // Numbers before the first mark can only stand behind it.
        self.marks.get(behind.saturating_sub(1)).map(|(_, record)| *record)
    }

    pub(super) fn clear(&mut self) {
        self.marks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stands_at_or_before_every_number_and_the_room_is_bounded() {
        let mut marks = Marks::new();
        assert_eq!(marks.before(1), None);
        for sequence in 1..=1_000_000 {
            marks.note(sequence, 3 * sequence);
        }
        for sequence in [1, 2, 17, 500_000, 999_999, 1_000_000] {
            let record = marks.before(sequence).unwrap();
            assert!(record <= 3 * sequence && record + 3 * 2 * 1024 > 3 * sequence, "{record}");
        }
        assert!(marks.marks.len() <= MARKS_MAX && marks.marks.capacity() == MARKS_MAX);
    }
}
