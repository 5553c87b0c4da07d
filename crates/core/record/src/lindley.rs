//! Lateness by its cause: the machine kept the driver from running, or the arrival
//! before was slow (validity rule 6).
//!
//! Only the second belongs to the candidate. Its response time is therefore that of
//! a queue without the driver's stalls: with busy time `b` of each arrival, the arrival
//! begins at `v = max(due, c)` and ends at `c = v + b` (Lindley 1952, "The theory of
//! queues with a single server"). A stall of the driver moves neither.

/// An arrival that begins this long after it could have is late: far above the clock's
/// own cost, far below a time slice of the scheduler.
pub const LATE_NS: u64 = 10_000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lateness {
    pub arrivals: u64,
    /// Arrivals that began late although the one before had ended: the machine.
    pub by_driver: u64,
    /// Arrivals that were due before the one before had ended: the candidate.
    pub by_queue: u64,
    pub driver_stall_ns_max: u64,
    pub driver_stall_ns_sum: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Lindley {
    lateness: Lateness,
    real_end_ns: u64,
    virtual_end_ns: u64,
    start_ns: u64,
    due_ns: u64,
    virtual_start_ns: u64,
}

impl Lindley {
    #[inline]
    pub fn begin(&mut self, due_ns: u64, start_ns: u64) {
        self.lateness.arrivals += 1;
        self.lateness.by_queue += u64::from(self.virtual_end_ns > due_ns);
        let could_begin_ns = due_ns.max(self.real_end_ns);
        let stall_ns = start_ns.saturating_sub(could_begin_ns);
        if stall_ns > LATE_NS {
            self.note_stall(stall_ns);
        }
        self.due_ns = due_ns;
        self.start_ns = start_ns;
        self.virtual_start_ns = due_ns.max(self.virtual_end_ns);
    }

    /// Response time of an operation of this arrival that ended at `end_ns`.
    #[inline]
    pub fn response_ns(&self, end_ns: u64) -> u64 {
        self.virtual_start_ns - self.due_ns + (end_ns - self.start_ns)
    }

    #[inline]
    pub fn end(&mut self, end_ns: u64) {
        self.real_end_ns = end_ns;
        self.virtual_end_ns = self.virtual_start_ns + (end_ns - self.start_ns);
    }

    pub fn lateness(&self) -> Lateness {
        self.lateness
    }

    #[cold]
    fn note_stall(&mut self, stall_ns: u64) {
        self.lateness.by_driver += 1;
        self.lateness.driver_stall_ns_max = self.lateness.driver_stall_ns_max.max(stall_ns);
        self.lateness.driver_stall_ns_sum += stall_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrivals every 100 us that each take 10 us; `script` gives (stall before, extra busy).
    fn play(script: &[(u64, u64)]) -> (Vec<u64>, Lateness) {
        let mut lindley = Lindley::default();
        let mut now_ns = 0;
        let mut responses = Vec::new();
        for (arrival, (stall_ns, extra_ns)) in script.iter().enumerate() {
            let due_ns = arrival as u64 * 100_000;
            now_ns = due_ns.max(now_ns) + stall_ns;
            lindley.begin(due_ns, now_ns);
            now_ns += 10_000 + extra_ns;
            responses.push(lindley.response_ns(now_ns));
            lindley.end(now_ns);
        }
        (responses, lindley.lateness())
    }

    #[test]
    fn a_stall_of_the_driver_is_not_the_candidates() {
        let (responses, lateness) = play(&[(0, 0), (350_000, 0), (0, 0), (0, 0), (0, 0), (0, 0)]);
        assert_eq!(responses, [10_000; 6]);
        assert_eq!((lateness.by_driver, lateness.by_queue), (1, 0));
        assert_eq!(lateness.driver_stall_ns_max, 350_000);
    }

    #[test]
    fn arrivals_behind_a_slow_one_wait_for_it() {
        let (responses, lateness) = play(&[(0, 0), (0, 250_000), (0, 0), (0, 0), (0, 0)]);
        assert_eq!(responses, [10_000, 260_000, 170_000, 80_000, 10_000]);
        assert_eq!((lateness.by_driver, lateness.by_queue), (0, 2));
    }

    #[test]
    fn both_at_once_are_told_apart() {
        let (responses, lateness) = play(&[(0, 250_000), (90_000, 0), (0, 0), (0, 0)]);
        assert_eq!(responses, [260_000, 170_000, 80_000, 10_000]);
        assert_eq!((lateness.by_driver, lateness.driver_stall_ns_sum), (1, 90_000));
    }

    #[test]
    fn a_spin_that_overshoots_a_little_is_not_late() {
        let (_, lateness) = play(&[(0, 0), (LATE_NS, 0)]);
        assert_eq!(lateness.by_driver, 0);
    }
}
