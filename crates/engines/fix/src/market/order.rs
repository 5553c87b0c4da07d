use std::fmt;
use std::hash::{Hash, Hasher};

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

/// Up to `N` bytes, in place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct InlineText<const N: usize> {
    bytes: [u8; N],
    length: u8,
}

pub type ClOrdId = InlineText<32>;
pub type Symbol = InlineText<16>;

impl<const N: usize> Default for InlineText<N> {
    fn default() -> Self {
        InlineText { bytes: [0; N], length: 0 }
    }
}

impl<const N: usize> InlineText<N> {
    /// `None` for more than `N` bytes.
    pub fn new(text: &[u8]) -> Option<Self> {
        let mut inline = Self::default();
        inline.bytes.get_mut(..text.len())?.copy_from_slice(text);
        inline.length = u8::try_from(text.len()).ok()?;
        Some(inline)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// What it says alone, in one piece: an order is looked up by its name, twice.
impl<const N: usize> Hash for InlineText<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.as_bytes());
    }
}

impl<const N: usize> fmt::Debug for InlineText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}

// SessionRejectReason: why a message is refused by the session layer (FIX 4.4, field 373).

/// Required tag missing.
pub(crate) const TAG_MISSING: u64 = 1;
/// Value is incorrect (out of range) for this tag.
pub(crate) const VALUE_INCORRECT: u64 = 5;
pub(crate) const FORMAT_INCORRECT: u64 = 6;
pub(crate) const TYPE_INVALID: u64 = 11;

// The risk check: whether an order may go to the business at all. It stands between the gateway and the store, so that
// what it says is kept with the order: a standby and a restart go by the same verdict.

/// Looks at each new order before it is kept. After a restart it sees once more the orders that it had allowed, in
/// the same order, so that limits which orders use up are as they were.
pub trait Risk: Send {
    /// One that does not go on is rejected, and the book never sees it.
    fn allows(&mut self, session: SessionNumber, order: &Order) -> bool;
}
