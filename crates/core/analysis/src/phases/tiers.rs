//! The workload computes them from its rows; a plan that fixes their rates as primary metrics
//! gets claims, any other gets values.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tier {
    pub phase: &'static str,
    pub stands_for: &'static str,
}

pub const TIERS: [Tier; 4] = [
    Tier { phase: "hot tier", stands_for: "reads from memory" },
    Tier { phase: "mid tier", stands_for: "random reads from the device" },
    Tier { phase: "cold tier", stands_for: "sequential reads from the device" },
    Tier { phase: "ingest, durable", stands_for: "writes and their sync" },
];

pub fn tier(phase: &str) -> Option<&'static Tier> {
    TIERS.iter().find(|tier| tier.phase == phase)
}
