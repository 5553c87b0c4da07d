use crate::options::{Degree, OnLoss};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) is_live: bool,
    pub(crate) received: u64,
    pub(crate) durable: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turned {
    Degraded,
    Restored,
}

#[derive(Debug)]
pub(crate) struct Gate {
    degree: Degree,
    copies: usize,
    on_loss: OnLoss,
    is_degraded: bool,
    safe: u64,
}

const SEATS: usize = crate::options::PrimaryOptions::SECONDARIES_MAX;

impl Gate {
    pub(crate) fn new(degree: Degree, copies: usize, on_loss: OnLoss) -> Gate {
        Gate { degree, copies, on_loss, is_degraded: false, safe: 0 }
    }

    pub(crate) fn safe(&self) -> u64 {
        self.safe
    }

    pub(crate) fn is_degraded(&self) -> bool {
        self.is_degraded
    }

    /// Whether a new message could become safe.
    pub(crate) fn is_open(&self, seats: impl Iterator<Item = Seen>) -> Result<(), usize> {
        if !self.degree.needs_secondaries() || self.is_degraded {
            return Ok(());
        }
        let live = seats.filter(|seen| seen.is_live).count();
        if live >= self.copies { Ok(()) } else { Err(live) }
    }

    pub(crate) fn look(
        &mut self,
        appended: u64,
        local: u64,
        seats: impl Iterator<Item = Seen> + Clone,
    ) -> Option<Turned> {
        let reached = match self.degree {
            Degree::None => appended,
            Degree::Local => local,
            Degree::Received | Degree::Durable => return self.look_around(local, seats),
        };
        self.safe = self.safe.max(reached);
        None
    }

    fn look_around(
        &mut self,
        local: u64,
        seats: impl Iterator<Item = Seen> + Clone,
    ) -> Option<Turned> {
        let live = seats.clone().filter(|seen| seen.is_live).count();
        let copied = self.copied(seats);
        let turned = self.turn(live, copied);
        let reached = if self.is_degraded { local } else { local.min(copied) };
        self.safe = self.safe.max(reached);
        turned
    }

    /// Up to which message enough secondaries are.
    pub(crate) fn copied(&self, seats: impl Iterator<Item = Seen>) -> u64 {
        let mut reached = [0; SEATS];
        let mut count = 0;
        for (place, seen) in reached.iter_mut().zip(seats) {
            *place = if self.degree == Degree::Durable { seen.durable } else { seen.received };
            count += 1;
        }
        reached[..count].sort_unstable();
        reached[..count].iter().rev().nth(self.copies.max(1) - 1).map_or(0, |at| *at)
    }

    fn turn(&mut self, live: usize, copied: u64) -> Option<Turned> {
        if self.on_loss == OnLoss::Stop {
            return None;
        }
        match self.is_degraded {
            false if live < self.copies => {
                self.is_degraded = true;
                Some(Turned::Degraded)
            }
            // Everything that was called safe must have the copies that were asked for.
            true if live >= self.copies && copied >= self.safe => {
                self.is_degraded = false;
                Some(Turned::Restored)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(is_live: bool, received: u64, durable: u64) -> Seen {
        Seen { is_live, received, durable }
    }

    fn safe(degree: Degree, copies: usize, local: u64, seats: &[Seen]) -> u64 {
        let mut gate = Gate::new(degree, copies, OnLoss::Stop);
        assert_eq!(gate.look(10, local, seats.iter().copied()), None);
        gate.safe()
    }

    #[test]
    fn each_degree_waits_for_what_it_names() {
        let seats = [seen(true, 7, 3), seen(true, 5, 4)];
        assert_eq!(safe(Degree::None, 1, 8, &seats), 10);
        assert_eq!(safe(Degree::Local, 1, 8, &seats), 8);
        assert_eq!(safe(Degree::Received, 1, 8, &seats), 7);
        assert_eq!(safe(Degree::Received, 1, 6, &seats), 6);
        assert_eq!(safe(Degree::Received, 2, 8, &seats), 5);
        assert_eq!(safe(Degree::Durable, 1, 8, &seats), 4);
        assert_eq!(safe(Degree::Durable, 2, 8, &seats), 3);
        assert_eq!(safe(Degree::Durable, 1, 8, &[]), 0);
    }

    #[test]
    fn what_was_safe_stays_safe_and_a_lost_secondary_closes_the_gate() {
        let mut gate = Gate::new(Degree::Received, 1, OnLoss::Stop);
        gate.look(9, 9, [seen(true, 7, 0)].into_iter());
        gate.look(9, 9, [seen(false, 2, 0)].into_iter());
        assert_eq!(gate.safe(), 7);
        assert_eq!(gate.is_open([seen(false, 7, 0)].into_iter()), Err(0));
        assert_eq!(gate.is_open([seen(true, 7, 0)].into_iter()), Ok(()));
    }

    #[test]
    fn a_degraded_gate_goes_by_the_store_and_comes_back_when_all_that_was_safe_is_copied() {
        let mut gate = Gate::new(Degree::Received, 1, OnLoss::Degrade);
        assert_eq!(gate.look(9, 9, [seen(true, 7, 0)].into_iter()), None);
        assert_eq!(gate.look(9, 9, [seen(false, 7, 0)].into_iter()), Some(Turned::Degraded));
        assert_eq!(gate.safe(), 9);
        assert_eq!(gate.is_open([].into_iter()), Ok(()));
        assert_eq!(gate.look(12, 12, [seen(true, 8, 0)].into_iter()), None);
        assert_eq!(gate.safe(), 12);
        assert_eq!(gate.look(13, 13, [seen(true, 12, 0)].into_iter()), Some(Turned::Restored));
        assert_eq!((gate.safe(), gate.is_degraded()), (12, false));
    }
}
