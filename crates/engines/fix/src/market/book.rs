//! The book of one symbol: the best price first, and at one price who came first.
//!
//! Orders of all books live in one slab; a book holds links alone. Nothing is allocated once its levels have
//! room.

use super::order::{Order, Side};
use crate::codec::Decimal;

#[derive(Debug, Clone, Copy)]
struct Slot {
    order: Order,
    before: u32,
    behind: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Slab {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Slab {
    pub(super) fn new(room: usize, blank: Order) -> Self {
        let mut slots = vec![Slot { order: blank, before: NONE, behind: NONE }; room];
        slots.clear();
        let mut free = vec![0; room];
        free.clear();
        Slab { slots, free }
    }

    pub(super) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.slots.len() < self.slots.capacity()
    }

    pub(super) fn add(&mut self, order: Order) -> u32 {
        let slot = Slot { order, before: NONE, behind: NONE };
        match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        }
    }

    pub(super) fn take(&mut self, at: u32) -> Order {
        self.free.push(at);
        self.slots[at as usize].order
    }

    pub(super) fn order(&self, at: u32) -> &Order {
        &self.slots[at as usize].order
    }

    pub(super) fn order_mut(&mut self, at: u32) -> &mut Order {
        &mut self.slots[at as usize].order
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traded {
    pub resting: Order,
    pub price: Decimal,
    pub quantity: Decimal,
}

#[derive(Debug, Clone)]
pub struct Book {
    buys: Ladder,
    sells: Ladder,
}

/// Price levels for which there is room from the start.
const LEVELS: usize = 1024;

impl Default for Book {
    fn default() -> Self {
        Book { buys: Ladder::new(Side::Buy, LEVELS), sells: Ladder::new(Side::Sell, LEVELS) }
    }
}

impl Book {
    fn side(&mut self, side: Side) -> &mut Ladder {
        match side {
            Side::Buy => &mut self.buys,
            Side::Sell => &mut self.sells,
        }
    }

    pub fn best(&self, side: Side) -> Option<Decimal> {
        let ladder = if side == Side::Buy { &self.buys } else { &self.sells };
        ladder.best().map(|level| level.price)
    }

    pub(super) fn can_fill(&mut self, slab: &Slab, order: &Order) -> bool {
        let mut wanted = order.leaves().0;
        for level in self.side(order.side.opposite()).best_first() {
            if !order.takes(level.price) {
                break;
            }
            let mut at = level.first;
            while at != NONE && wanted > 0 {
                wanted -= slab.order(at).leaves().0;
                at = slab.slots[at as usize].behind;
            }
        }
        wanted <= 0
    }

    /// The next trade of an incoming order with the best resting one, if they take each other. A resting order that
    /// is filled leaves the book; `at` of the result says which slot became free.
    pub(super) fn trade(
        &mut self,
        slab: &mut Slab,
        taker: &mut Order,
    ) -> Option<(Traded, Option<u32>)> {
        let level = *self.side(taker.side.opposite()).best()?;
        if taker.leaves() == Decimal::ZERO || !taker.takes(level.price) {
            return None;
        }
        let at = level.first;
        let maker = slab.order_mut(at);
        let quantity = taker.leaves().min(maker.leaves());
        maker.fill(level.price, quantity);
        taker.fill(level.price, quantity);
        let resting = *maker;
        let is_filled = resting.leaves() == Decimal::ZERO;
        if is_filled {
            self.remove(slab, at);
        }
        Some((Traded { resting, price: level.price, quantity }, is_filled.then_some(at)))
    }

    pub(super) fn rest(&mut self, slab: &mut Slab, at: u32) {
        let Order { side, price, .. } = *slab.order(at);
        let level = self.side(side).level(price);
        let last = std::mem::replace(&mut level.last, at);
        if last == NONE {
            level.first = at;
        } else {
            slab.slots[last as usize].behind = at;
        }
        (slab.slots[at as usize].before, slab.slots[at as usize].behind) = (last, NONE);
    }

    /// Takes an order out of its place; its slot stays as it is.
    pub(super) fn remove(&mut self, slab: &mut Slab, at: u32) {
        let Slot { order: Order { side, price, .. }, before, behind } = slab.slots[at as usize];
        let ladder = self.side(side);
        let level: &mut Level = ladder.level(price);
        match before {
            NONE => level.first = behind,
            before => slab.slots[before as usize].behind = behind,
        }
        match behind {
            NONE => level.last = before,
            behind => slab.slots[behind as usize].before = before,
        }
        ladder.drop_if_empty(price);
    }
}

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
