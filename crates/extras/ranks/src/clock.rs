//! Clocks of several hosts without anybody who sets them: each answer of rank 0 bounds the offset from both sides, and
//! all bounds are intersected. Half the width is a guarantee as long as both clocks run alike, and no estimate.

use serde::{Deserialize, Serialize};

use crate::{
    error::RanksError,
    group::{Group, Wait, number},
};

/// Some milliseconds for each host.
pub(crate) const ROUNDS: usize = 200;
/// So many ask each host that knows its bounds, one after another, before they are asked themselves: ten thousand hosts take
/// four times as long as seventeen, and each step adds its error.
const ASK_ONE: usize = 16;

/// Rank 0's clock less this one's lies between these, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bounds {
    pub(crate) min_ns: i64,
    pub(crate) max_ns: i64,
}

impl Bounds {
    pub(crate) const SAME: Bounds = Bounds { min_ns: 0, max_ns: 0 };
    const ANY: Bounds = Bounds { min_ns: i64::MIN, max_ns: i64::MAX };

    /// By an answer that was read from rank 0's clock between two readings of this one.
    fn narrowed(self, before_ns: u64, theirs_ns: u64, after_ns: u64) -> Bounds {
        let less = |own_ns: u64| theirs_ns.wrapping_sub(own_ns) as i64;
        let (min_ns, max_ns) = (less(after_ns), less(before_ns));
        Bounds { min_ns: self.min_ns.max(min_ns), max_ns: self.max_ns.min(max_ns) }
    }

    /// Around both, as a clock may drift from one to the other.
    pub(crate) fn around(self, other: Bounds) -> Bounds {
        let (min_ns, max_ns) = (self.min_ns.min(other.min_ns), self.max_ns.max(other.max_ns));
        Bounds { min_ns, max_ns }
    }

    /// These are of the one that was asked; together with that one's own.
    fn behind(self, first: Bounds) -> Bounds {
        Bounds {
            min_ns: self.min_ns.saturating_add(first.min_ns),
            max_ns: self.max_ns.saturating_add(first.max_ns),
        }
    }

    fn bytes(self) -> Vec<u8> {
        [self.min_ns, self.max_ns].into_iter().flat_map(i64::to_le_bytes).collect()
    }

    fn of(bytes: &[u8]) -> Bounds {
        let at = |at: usize| number(bytes.get(at..).unwrap_or_default()) as i64;
        Bounds { min_ns: at(0), max_ns: at(8) }
    }

    pub(crate) fn middle_ns(self) -> i64 {
        self.min_ns.saturating_add(self.max_ns.saturating_sub(self.min_ns) / 2)
    }

    pub(crate) fn error_ns(self) -> u64 {
        self.max_ns.abs_diff(self.min_ns).div_ceil(2)
    }

    /// A time of rank 0 on the own clock.
    pub(crate) fn own_ns(self, first_ns: u64) -> u64 {
        first_ns.saturating_add_signed(self.middle_ns().saturating_neg())
    }

    /// A time of the own clock on that of rank 0.
    pub(crate) fn first_ns(self, own_ns: u64) -> u64 {
        own_ns.saturating_add_signed(self.middle_ns())
    }
}

/// What the first rank of each host finds; those beside it have the same clock. All call it together.
pub(crate) fn bounds(group: &Group<'_>, now_ns: &dyn Fn() -> u64) -> Result<Bounds, RanksError> {
    let (own, by_host) = (group.mpi.rank(), group.by_host());
    let leaders: Vec<usize> = by_host.iter().filter_map(|ranks| ranks.first().copied()).collect();
    let beside = by_host.iter().find(|ranks| ranks.contains(&own)).map_or(&[][..], Vec::as_slice);
    if let Some(leader) = beside.first().filter(|leader| **leader != own) {
        return Ok(Bounds::of(&group.receive(*leader, 16, Wait::Asleep)?));
    }
    let mut mine = Bounds::SAME;
    for (place, &asks) in leaders.iter().enumerate().skip(1) {
        let asked = leaders[asked_by(place)];
        if own == asked {
            answer(group, asks, mine, now_ns)?;
        } else if own == asks {
            mine = ask(group, asked, now_ns)?;
        }
    }
    let mut others = beside.iter().skip(1);
    others.try_for_each(|rank| group.send(*rank, mine.bytes(), Wait::Asleep))?;
    Ok(mine)
}

/// The place of a host that knows its bounds before this one asks it.
pub(crate) fn asked_by(place: usize) -> usize {
    let mut known = 1;
    while known * (1 + ASK_ONE) <= place {
        known *= 1 + ASK_ONE;
    }
    (place - known) % known
}

fn answer(
    group: &Group<'_>,
    asks: usize,
    own: Bounds,
    now_ns: &dyn Fn() -> u64,
) -> Result<(), RanksError> {
    for _ in 0..ROUNDS {
        group.receive_soon(asks, 1, Wait::Awake)?;
        group.send(asks, now_ns().to_le_bytes().into(), Wait::Awake)?;
    }
    group.send(asks, own.bytes(), Wait::Awake)
}

fn ask(group: &Group<'_>, asked: usize, now_ns: &dyn Fn() -> u64) -> Result<Bounds, RanksError> {
    let mut found = Bounds::ANY;
    for _ in 0..ROUNDS {
        let before_ns = now_ns();
        group.send(asked, vec![0], Wait::Awake)?;
        let theirs_ns = number(&group.receive(asked, 8, Wait::Awake)?);
        found = found.narrowed(before_ns, theirs_ns, now_ns());
    }
    Ok(found.behind(Bounds::of(&group.receive(asked, 16, Wait::Awake)?)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pickfs_record::{Clock, MonotonicClock};
    use pickfs_testkit::Dice;

    use super::*;
    use crate::mpi::{Mpi, fake::all};

    /// Ways of random and unequal length: whatever they are, the truth is inside.
    #[test]
    fn the_true_offset_is_always_within_the_bounds() {
        for seed in 0..200 {
            let mut dice = Dice::new(seed);
            let truth_ns = (dice.below(2_000_000) as i64 - 1_000_000) * 1_000;
            let (mut own_ns, mut bounds) = (5_000_000_000_u64, Bounds::ANY);
            for _ in 0..50 {
                let way_ns = |dice: &mut Dice| 1_000 + dice.exponential() as u64 % 900_000;
                let before_ns = own_ns;
                own_ns += way_ns(&mut dice);
                let theirs_ns = own_ns.saturating_add_signed(truth_ns);
                own_ns += 7 * way_ns(&mut dice);
                bounds = bounds.narrowed(before_ns, theirs_ns, own_ns);
            }
            assert!(bounds.min_ns <= truth_ns && truth_ns <= bounds.max_ns, "{seed}: {bounds:?}");
            let error_ns = bounds.max_ns - bounds.min_ns;
            let off_ns = bounds.first_ns(own_ns).abs_diff(own_ns.saturating_add_signed(truth_ns));
            assert!(off_ns <= error_ns as u64);
        }
    }

    #[test]
    fn bounds_that_come_by_another_host_hold_the_truth_and_ranks_of_one_host_have_the_same() {
        let last = ASK_ONE + 3;
        let host_of: Vec<usize> = (0..=last).chain([0, last]).collect();
        let hosts: Vec<String> = host_of.iter().map(|host| format!("h{host}")).collect();
        let wrong_ns = |rank: usize| 1_000_000_000 * host_of[rank] as u64;
        let given = all(hosts.len(), |mpi| {
            let group = Group { hosts: hosts.clone(), ..Group::new(&mpi, Duration::from_secs(60)) };
            let now_ns = || MonotonicClock.now_ns() + wrong_ns(mpi.rank());
            (bounds(&group, &now_ns).unwrap(), mpi.sent(0, last))
        });
        for (rank, (bounds, by_first)) in given.iter().enumerate() {
            let truth_ns = -(wrong_ns(rank) as i64);
            assert!(bounds.min_ns <= truth_ns && truth_ns <= bounds.max_ns, "{rank}: {bounds:?}");
            assert_eq!(*by_first, 0, "the last host asked another one");
        }
        assert_eq!([given[0].0, given[last + 1].0], [Bounds::SAME; 2]);
        assert_eq!(given[last].0, given[last + 2].0);
    }

    /// Each takes as long as the others.
    #[test]
    fn ten_thousand_hosts_are_four_steps_away_and_few_of_them_ask_one() {
        let asked = |hosts: usize| (1..hosts).filter(|place| asked_by(*place) == 0).count();
        assert_eq!([2, 17, 289, 10_000].map(asked), [1, 16, 32, 50]);
        let steps = |place| {
            std::iter::successors(Some(place), |place| (*place > 0).then(|| asked_by(*place)))
        };
        assert_eq!((1..10_000).map(|place| steps(place).count() - 1).max(), Some(4));
    }
}
