//! An order, as it was asked for and as far as it was filled.

use super::inline_text::{ClOrdId, Symbol};
use crate::codec::Decimal;
use crate::store::SessionNumber;

/// Which side of the book.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// `1`.
    Buy,
    /// `2`.
    Sell,
}

/// What price it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderType {
    /// `1`: any that is there; it never rests.
    Market,
    /// `2`: its own or a better one.
    Limit,
}

/// How long it stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeInForce {
    /// `0` or `1`: until it is filled or cancelled.
    Rest,
    /// `3`: what cannot be filled at once is cancelled.
    ImmediateOrCancel,
    /// `4`: all of it at once, or nothing.
    FillOrKill,
}

/// One order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Whose it is.
    pub session: SessionNumber,
    /// Our number of it, from 1.
    pub id: u64,
    /// The client's name of it.
    pub cl_ord_id: ClOrdId,
    /// Of what.
    pub symbol: Symbol,
    /// Buy or sell.
    pub side: Side,
    /// Market or limit.
    pub order_type: OrderType,
    /// How long it stays.
    pub time_in_force: TimeInForce,
    /// Its limit; nothing for a market order.
    pub price: Decimal,
    /// How much was asked for.
    pub quantity: Decimal,
    /// How much of it was filled.
    pub cumulative: Decimal,
    /// Sum of prices times quantities, in both scales.
    pub value: i128,
}

impl Order {
    /// What is still open.
    pub fn leaves(&self) -> Decimal {
        Decimal(self.quantity.0 - self.cumulative.0)
    }

    /// So much was filled at this price.
    pub fn fill(&mut self, price: Decimal, quantity: Decimal) {
        self.cumulative.0 += quantity.0;
        self.value += i128::from(price.0) * i128::from(quantity.0);
    }

    /// Whether it takes this price of the other side.
    pub fn takes(&self, price: Decimal) -> bool {
        match (self.order_type, self.side) {
            (OrderType::Market, _) => true,
            (OrderType::Limit, Side::Buy) => self.price >= price,
            (OrderType::Limit, Side::Sell) => self.price <= price,
        }
    }
}

impl Side {
    /// The other one.
    pub fn opposite(self) -> Side {
        match self {
            Side::Buy => Side::Sell,
            Side::Sell => Side::Buy,
        }
    }

    /// As FIX writes it.
    pub fn text(self) -> &'static [u8] {
        match self {
            Side::Buy => b"1",
            Side::Sell => b"2",
        }
    }
}
