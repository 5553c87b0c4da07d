//! The business: an order book with price-time priority that answers orders.
//!
//! It knows nothing of sessions, sockets and stores. What it does follows from the messages it is given and their
//! times alone, so giving it the same messages again builds the same book and the same answers.

mod answer;
mod book;
mod exchange;
mod inline_text;
mod ladder;
mod order;
pub(crate) mod reason;
mod request;
mod risk;

pub use answer::{Answer, CancelReject, Execution, Report};
pub use book::{Book, Traded};
pub use exchange::{Exchange, Limits};
pub use inline_text::{ClOrdId, InlineText, Symbol};
pub use order::{Order, OrderType, Side, TimeInForce};
pub use request::{Refused, Request};
pub use risk::Risk;
