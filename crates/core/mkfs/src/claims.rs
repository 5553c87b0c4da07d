use std::collections::BTreeMap;
use std::ops::Range;

/// No block belongs to two.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    runs: BTreeMap<u64, u64>,
}

impl Claims {
    pub(crate) fn take(&mut self, first: u64, count: u64) {
        let end = first + count;
        let before = self.runs.range(..end).next_back();
        let is_free = before.is_none_or(|(&at, &length)| at + length <= first);
        assert!(is_free, "block {first} or one of the {count} from there is taken twice");
        self.runs.insert(first, count);
    }

    pub(crate) fn count(&self) -> u64 {
        self.runs.values().sum()
    }

    /// Ascending.
    pub(crate) fn within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let parts = self
            .runs
            .range(..range.end)
            .map(move |(&first, &count)| first.max(range.start)..(first + count).min(range.end));
        parts.filter(|part| !part.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_range_are_cut_to_it() {
        let mut claims = Claims::default();
        claims.take(10, 5);
        claims.take(0, 2);
        claims.take(20, 10);
        assert_eq!(claims.within(1..25).collect::<Vec<_>>(), [1..2, 10..15, 20..25]);
        assert_eq!(claims.within(2..10).count(), 0);
        assert_eq!(claims.count(), 17);
    }

    #[test]
    #[should_panic(expected = "taken twice")]
    fn no_block_belongs_to_two() {
        let mut claims = Claims::default();
        claims.take(10, 5);
        claims.take(8, 3);
    }
}
