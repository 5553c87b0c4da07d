//! The risk check: whether an order may go to the business at all. It stands between the gateway and the store, so that
//! what it says is kept with the order: a standby and a restart go by the same verdict.

use super::order::Order;
use crate::store::SessionNumber;

/// Looks at each new order before it is kept. After a restart it sees once more the orders that it had allowed, in
/// the same order, so that limits which orders use up are as they were.
pub trait Risk: Send {
    /// One that does not go on is rejected, and the book never sees it.
    fn allows(&mut self, session: SessionNumber, order: &Order) -> bool;
}
