use serde::Serialize;

use crate::decide::Decision;

/// One candidate beside another, as the decision tells them apart.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Duel {
    pub label: String,
    pub other: String,
    /// How many times better the one is; absent where the other failed or missed its rate.
    pub ratio: Option<f64>,
    /// Absent where the blocks cannot carry one, or a gate withholds it.
    pub interval: Option<(f64, f64)>,
    /// Blocks that hold both.
    pub blocks: u32,
    /// They differ by less than the margin.
    pub is_equal: bool,
}

impl Duel {
    pub(super) fn of(decision: &Decision, labels: &[String], one: usize, other: usize) -> Duel {
        let duel = decision.duel(other, one);
        Duel {
            label: labels[one].clone(),
            other: labels[other].clone(),
            ratio: Some(duel.ratio).filter(|ratio| ratio.is_finite()),
            interval: duel.closed(),
            blocks: duel.blocks,
            is_equal: decision.are_equal(&[one, other]),
        }
    }

    pub fn is_ahead(&self) -> bool {
        self.interval.is_some_and(|(low, _)| low > 1.0)
    }

    pub fn is_behind(&self) -> bool {
        self.interval.is_some_and(|(_, high)| high < 1.0)
    }
}
