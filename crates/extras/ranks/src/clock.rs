//! Clocks of several hosts without anybody who sets them: each answer of rank 0 bounds the offset from both sides, and
//! all bounds are intersected. Half the width is a guarantee as long as both clocks run alike, and no estimate.

use serde::{Deserialize, Serialize};

use crate::{
    error::RanksError,
    group::{Group, Wait, number},
};

/// Some milliseconds for each host.
const ROUNDS: usize = 200;

/// Rank 0's clock less this one's lies between these, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
pub(crate) fn bounds(
    group: &Group<'_>,
    leaders: &[usize],
    now_ns: &dyn Fn() -> u64,
) -> Result<Bounds, RanksError> {
    let (own, asks) = (group.mpi.rank(), leaders.iter().filter(|leader| **leader != 0));
    let mut found = vec![Bounds::SAME; group.mpi.size()];
    let mut mine = Bounds::SAME;
    for &asking in asks {
        match own {
            0 => {
                for _ in 0..ROUNDS {
                    group.receive(asking, 1, Wait::Awake)?;
                    group.send(asking, now_ns().to_le_bytes().into(), Wait::Awake)?;
                }
                let (min, max) = (
                    group.receive(asking, 8, Wait::Awake)?,
                    group.receive(asking, 8, Wait::Awake)?,
                );
                found[asking] = Bounds { min_ns: number(&min) as i64, max_ns: number(&max) as i64 };
            }
            own if own == asking => {
                mine = Bounds::ANY;
                for _ in 0..ROUNDS {
                    let before_ns = now_ns();
                    group.send(0, vec![0], Wait::Awake)?;
                    let theirs_ns = number(&group.receive(0, 8, Wait::Awake)?);
                    mine = mine.narrowed(before_ns, theirs_ns, now_ns());
                }
                group.send(0, mine.min_ns.to_le_bytes().into(), Wait::Awake)?;
                group.send(0, mine.max_ns.to_le_bytes().into(), Wait::Awake)?;
            }
            _ => {}
        }
    }
    let all = group.share(group.is_first().then(|| {
        let bytes = found.iter().flat_map(|one| [one.min_ns, one.max_ns]);
        bytes.flat_map(i64::to_le_bytes).collect()
    }))?;
    let leader = leader_of(leaders, &group.hosts, own);
    let at = 16 * leader;
    let bound = |at: usize| number(all.get(at..).unwrap_or_default()) as i64;
    Ok(if leader == own && own != 0 {
        mine
    } else {
        Bounds { min_ns: bound(at), max_ns: bound(at + 8) }
    })
}

/// The first rank of the same host.
fn leader_of(leaders: &[usize], hosts: &[String], rank: usize) -> usize {
    leaders.iter().copied().find(|leader| hosts.get(*leader) == hosts.get(rank)).unwrap_or(rank)
}

/// The first rank of each host, in order.
pub(crate) fn leaders(hosts: &[String]) -> Vec<usize> {
    let is_first = |rank: &usize| !hosts[..*rank].contains(&hosts[*rank]);
    (0..hosts.len()).filter(is_first).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pickfs_record::{Clock, MonotonicClock};
    use pickfs_testkit::Dice;

    use super::*;
    use crate::mpi::fake::all;

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
    fn ranks_of_one_host_have_the_bounds_of_its_first_one_which_hold_the_truth() {
        let wrong_ns = [0_u64, 0, 3_000_000_000, 3_000_000_000];
        let hosts: Vec<String> = ["h1", "h1", "h2", "h2"].map(String::from).into();
        let (given, _) = all(4, |mpi| {
            use crate::mpi::Mpi;
            let patience = Duration::from_secs(60);
            let group = Group { mpi: &mpi, patience, hosts: hosts.clone() };
            let now_ns = || MonotonicClock.now_ns() + wrong_ns[mpi.rank()];
            bounds(&group, &leaders(&hosts), &now_ns).unwrap()
        });
        assert_eq!((given[0], given[1]), (Bounds::SAME, Bounds::SAME));
        assert_eq!(given[2], given[3]);
        let truth_ns = -3_000_000_000;
        assert!(given[2].min_ns <= truth_ns && truth_ns <= given[2].max_ns, "{:?}", given[2]);
    }

    #[test]
    fn the_first_rank_of_each_host_leads_it() {
        let hosts: Vec<String> = ["a", "b", "a", "c", "b"].map(String::from).into();
        assert_eq!(leaders(&hosts), [0, 1, 3]);
        assert_eq!(leader_of(&[0, 1, 3], &hosts, 4), 1);
    }
}
