//! The figures that the original prints for a phase, by its own definitions, beside ours: one
//! longest operation, and the processor time of the whole process in whole per cent.

use pickfs_sys::own_usage::OwnUsage;

use crate::phase::PhaseRunner;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Original {
    /// The longest of what the original calls one operation, in nanoseconds.
    pub(super) slowest_ns: u64,
    /// User and system time of all threads, in nanoseconds; counted once for each seeker.
    pub(super) cpu_ns: u64,
}

impl Original {
    #[inline]
    pub(super) fn note(&mut self, length_ns: u64) {
        self.slowest_ns = self.slowest_ns.max(length_ns);
    }

    /// Two threads as one: the longest of both, and their times added as the original does.
    pub(super) fn and(self, other: Original) -> Original {
        Original {
            slowest_ns: self.slowest_ns.max(other.slowest_ns),
            cpu_ns: self.cpu_ns + other.cpu_ns,
        }
    }

    pub(super) fn tell(&self, runner: &mut PhaseRunner) {
        let Some(elapsed_ns) = runner.phases().last().map(|phase| phase.elapsed_ns) else {
            return;
        };
        runner.value_last("latency_max_ns", self.slowest_ns as f64);
        let percent = 100.0 * self.cpu_ns as f64 / elapsed_ns.max(1) as f64;
        runner.value_last("cpu_percent_original", percent.trunc());
    }
}

pub(super) fn cpu_ns() -> u64 {
    let usage = OwnUsage::now();
    usage.user_ns + usage.system_ns
}
