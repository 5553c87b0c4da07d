use super::order::Side;
use crate::codec::Decimal;

pub(super) const NONE: u32 = u32::MAX;

/// Orders at one price: the ends of a list whose links are with the orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) price: Decimal,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// Levels with the best one last: there they come and go.
#[derive(Debug, Clone)]
pub(super) struct Ladder {
    side: Side,
    levels: Vec<Level>,
}

impl Ladder {
    pub(super) fn new(side: Side, levels: usize) -> Self {
        Ladder { side, levels: Vec::with_capacity(levels) }
    }

    pub(super) fn best(&self) -> Option<&Level> {
        self.levels.last()
    }

    pub(super) fn best_first(&self) -> impl Iterator<Item = &Level> {
        self.levels.iter().rev()
    }

    fn place(&self, price: Decimal) -> Result<usize, usize> {
        self.levels.binary_search_by(|level| match self.side {
            Side::Buy => level.price.cmp(&price),
            Side::Sell => price.cmp(&level.price),
        })
    }

    /// A new one holds nothing yet.
    pub(super) fn level(&mut self, price: Decimal) -> &mut Level {
        let at = self.place(price).unwrap_or_else(|at| {
            self.levels.insert(at, Level { price, first: NONE, last: NONE });
            at
        });
        &mut self.levels[at]
    }

    pub(super) fn drop_if_empty(&mut self, price: Decimal) {
        match self.place(price) {
            Ok(at) if self.levels[at].first == NONE => drop(self.levels.remove(at)),
            _ => {}
        }
    }
}
