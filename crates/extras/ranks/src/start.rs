//! Beginning together by an appointment: rank 0 names a moment ahead, each rank takes it to its own clock and sleeps until
//! then. If anybody heard of it too late, all agree anew, twice as far ahead.

use crate::{
    clock::Bounds,
    error::RanksError,
    group::{Group, Wait, number},
};

const AHEAD_NS: u64 = 20_000_000;
const AHEAD_NS_MAX: u64 = 5_000_000_000;

/// The agreed moment, on the own clock.
pub(crate) fn agree(
    group: &Group<'_>,
    bounds: Bounds,
    now_ns: &dyn Fn() -> u64,
) -> Result<u64, RanksError> {
    let mut ahead_ns = AHEAD_NS;
    loop {
        let named_ns = match group.is_first() {
            true => {
                let at_ns = now_ns() + ahead_ns;
                let tell = |rank| group.send(rank, at_ns.to_le_bytes().into(), Wait::Awake);
                (1..group.mpi.size()).try_for_each(tell)?;
                at_ns
            }
            false => number(&group.receive(0, 8, Wait::Awake)?),
        };
        let at_ns = bounds.own_ns(named_ns);
        // The last quarter is for the word that nobody was late.
        let is_late = now_ns() > at_ns.saturating_sub(ahead_ns / 4);
        if group.most(u8::from(is_late), Wait::Awake)? == 0 {
            return Ok(at_ns);
        }
        ahead_ns *= 2;
        if ahead_ns > AHEAD_NS_MAX {
            let what = "no moment to begin was heard of in time on every host; use fewer ranks";
            return Err(RanksError::Told(what.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, time::Duration};

    use pickfs_record::{Clock, MonotonicClock};

    use super::*;
    use crate::mpi::{Mpi, fake::all};

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn all_name_one_moment_that_lies_ahead_for_each_of_them() {
        let wrong_ns = [0_u64, 5_000_000_000];
        let given = all(2, |mpi| {
            let group = Group::new(&mpi, PATIENCE);
            let now_ns = || MonotonicClock.now_ns() + wrong_ns[mpi.rank()];
            let offset_ns = -(wrong_ns[mpi.rank()] as i64);
            let bounds = Bounds { min_ns: offset_ns, max_ns: offset_ns };
            let began_ns = now_ns();
            let at_ns = agree(&group, bounds, &now_ns).unwrap();
            assert!(at_ns > began_ns);
            at_ns - wrong_ns[mpi.rank()]
        });
        assert_eq!(given[0], given[1]);
    }

    /// The second rank's clock jumps when it hears of the first two moments.
    #[test]
    fn who_hears_too_late_makes_all_agree_anew_farther_ahead() {
        let given = all(2, |mpi| {
            let group = Group::new(&mpi, PATIENCE);
            let late = Cell::new(if mpi.rank() == 1 { 2 } else { 0 });
            let began_ns = MonotonicClock.now_ns();
            let now_ns = || {
                let late_ns = if late.get() > 0 { AHEAD_NS_MAX } else { 0 };
                late.set(late.get() - i32::from(late.get() > 0));
                MonotonicClock.now_ns() + late_ns
            };
            let named_ns = agree(&group, Bounds::SAME, &now_ns).unwrap();
            (named_ns, named_ns - began_ns)
        });
        assert_eq!(given[0].0, given[1].0);
        assert!(given[0].1 >= 4 * AHEAD_NS, "{given:?}");
    }

    #[test]
    fn a_rank_that_is_always_late_ends_it_for_all() {
        let given = all(2, |mpi| {
            let group = Group::new(&mpi, PATIENCE);
            let late_ns = if mpi.rank() == 1 { 2 * AHEAD_NS_MAX } else { 0 };
            agree(&group, Bounds::SAME, &|| MonotonicClock.now_ns() + late_ns)
        });
        assert!(given.iter().all(|given| given.is_err()));
    }
}
