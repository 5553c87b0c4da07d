use super::inline_text::{ClOrdId, Symbol};
use crate::codec::Decimal;
use crate::store::SessionNumber;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    Buy,
    Sell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderType {
    /// `1`: any that is there; it never rests.
    Market,
    /// `2`: its own or a better one.
    Limit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeInForce {
    /// `0` or `1`: until it is filled or cancelled.
    Rest,
    /// `3`: what cannot be filled at once is cancelled.
    ImmediateOrCancel,
    /// `4`: all of it at once, or nothing.
    FillOrKill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub session: SessionNumber,
    /// From 1.
    pub id: u64,
    pub cl_ord_id: ClOrdId,
    pub symbol: Symbol,
    pub side: Side,
    pub order_type: OrderType,
    pub time_in_force: TimeInForce,
    /// Nothing for a market order.
    pub price: Decimal,
    pub quantity: Decimal,
    pub cumulative: Decimal,
    /// Of prices times quantities, in both scales.
    pub value: i128,
}

impl Order {
    pub fn leaves(&self) -> Decimal {
        Decimal(self.quantity.0 - self.cumulative.0)
    }

    pub fn fill(&mut self, price: Decimal, quantity: Decimal) {
        self.cumulative.0 += quantity.0;
        self.value += i128::from(price.0) * i128::from(quantity.0);
    }

    pub fn takes(&self, price: Decimal) -> bool {
        match (self.order_type, self.side) {
            (OrderType::Market, _) => true,
            (OrderType::Limit, Side::Buy) => self.price >= price,
            (OrderType::Limit, Side::Sell) => self.price <= price,
        }
    }
}

impl Side {
    pub fn opposite(self) -> Side {
        match self {
            Side::Buy => Side::Sell,
            Side::Sell => Side::Buy,
        }
    }

    pub fn text(self) -> &'static [u8] {
        match self {
            Side::Buy => b"1",
            Side::Sell => b"2",
        }
    }
}
