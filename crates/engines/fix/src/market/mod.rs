//! The business: an order book with price-time priority that answers orders.
//!
//! It knows nothing of sessions, sockets and stores. What it does follows from the messages it is given and their
//! times alone, so giving it the same messages again builds the same book and the same answers.

mod answer;
mod book;
mod exchange;
mod order;
mod request;

pub use answer::{Answer, CancelReject, Execution, Report};
pub use book::{Book, Traded};
pub use exchange::{Exchange, Limits};
pub use order::{ClOrdId, InlineText, Order, OrderType, Risk, Side, Symbol, TimeInForce};
pub(crate) use order::{TAG_MISSING, VALUE_INCORRECT};
pub use request::{Refused, Request};
