//! Read before and after a measurement, never within.

use pickfs_sys::own_usage::OwnUsage;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub user_ns: u64,
    pub system_ns: u64,
    /// Involuntary context switches of the calling thread.
    pub preemptions: u64,
}

impl Usage {
    pub fn now() -> Usage {
        let OwnUsage { user_ns, system_ns, preemptions } = OwnUsage::now();
        Usage { user_ns, system_ns, preemptions }
    }

    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            preemptions: self.preemptions.saturating_sub(earlier.preemptions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_rise_with_use() {
        let before = Usage::now();
        let mut sum = 0u64;
        while Usage::now().since(&before).user_ns == 0 && sum < 4_000_000_000 {
            sum += (0..1_000_000u64).map(std::hint::black_box).sum::<u64>() % 7 + 1_000_000;
        }
        assert!(Usage::now().since(&before).user_ns > 0);
    }
}
