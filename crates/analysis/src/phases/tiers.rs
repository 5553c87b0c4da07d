//! The tiers of a store: derived phases that the advice is drawn from, and what each stands for.
//!
//! The workload computes them from its rows; a plan that fixes their rates as primary metrics
//! gets claims, any other gets values.

/// A tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tier {
    /// Name of its phase.
    pub phase: &'static str,
    /// The work that it stands for, in words.
    pub stands_for: &'static str,
}

/// Every tier, in the order of the advice.
pub const TIERS: [Tier; 4] = [
    Tier { phase: "hot tier", stands_for: "reads from memory" },
    Tier { phase: "mid tier", stands_for: "random reads from the device" },
    Tier { phase: "cold tier", stands_for: "sequential reads from the device" },
    Tier { phase: "ingest, durable", stands_for: "writes and their sync" },
];

/// What a phase stands for, if it is a tier.
pub fn tier(phase: &str) -> Option<&'static Tier> {
    TIERS.iter().find(|tier| tier.phase == phase)
}
