//! A FIX acceptor with a price-time order book, over a store that is asked before business sees a message and before
//! an answer leaves.
//!
//! It is the engine under test of the workload `fix`, and a library: sessions by the rules of FIX 4.4 (4.2 and
//! FIXT 1.1 with 5.0 SP2 as well), sequence numbers and messages in a [`store`] of choice, and recovery that answers
//! no order twice and loses none it has answered. It is no certified engine: no dictionary, no encryption, no repeating
//! groups, no schedule of sessions.
//!
//! ```
//! use pickfs_fix::codec::{Encoder, Frame, Message, Version, frame, tag};
//!
//! let mut encoder = Encoder::default();
//! encoder.begin(Version::Fix44, b"0").uint(tag::MSG_SEQ_NUM, 7);
//! let bytes = encoder.finish();
//! assert_eq!(frame(bytes, 4096), Frame::Whole { bytes: bytes.len() });
//! assert_eq!(Message::parse(bytes)?.header.sequence, Some(7));
//! # Ok::<(), pickfs_fix::codec::FieldError>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod acceptor;
mod client;
pub mod codec;
pub mod engine;
pub mod market;
mod observer;
pub mod session;
pub mod store;

pub use acceptor::{Acceptor, Wait, now};
pub use client::Client;
pub use observer::{Observer, Way};
