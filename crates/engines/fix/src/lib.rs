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
//!
//! The core of an exchange: the gateway checks an order's risk before it is kept, so that a standby and a restart go by
//! the same verdict; the book sees an order when it is safe, and a report leaves when it is safe.
//!
//! ```text
//! client == FIX over TCP ==> gateway -> risk check -> pair ------------> order book -> pair -> gateway ==> client
//!                                                     |    ^ safe                     (the report)
//!                                                     +--> journal here
//!                                                     +== TCP ==> secondary: received, then journalled
//! ```
//!
//! ```
//! use pickfs_fix::engine::{Engine, Settings};
//! use pickfs_fix::market::{Order, Risk};
//! use pickfs_fix::store::{LogStore, PairLog, SessionNumber};
//! use pickfs_fix::{Acceptor, Wait, codec::Decimal, now};
//! use pickfs_pair::{Primary, PrimaryOptions, Secondary, SecondaryOptions};
//!
//! struct AtMost(Decimal);
//!
//! impl Risk for AtMost {
//!     fn allows(&mut self, _session: SessionNumber, order: &Order) -> bool {
//!         order.quantity <= self.0
//!     }
//! }
//!
//! let dir = tempfile::tempdir()?;
//! let any_port = "127.0.0.1:0".parse()?;
//! let options = SecondaryOptions::new(dir.path().join("secondary"), any_port);
//! let follower = Secondary::open(options)?.follow()?; // on another host: `fix-engine --follow`
//! let options = PrimaryOptions::new(dir.path().join("primary"), vec![follower.address()]);
//! let log = PairLog::over(Primary::open(options)?, std::time::Duration::from_secs(10), drop)?;
//! let (store, risk) = (Box::new(LogStore::new(log)), Box::new(AtMost(Decimal::whole(1_000))));
//! // In place of `()` an `Observer` hears when an order reaches each of these stations.
//! let engine = Engine::observed(Settings::default(), store, now(), (), Some(risk))?;
//! let mut acceptor = Acceptor::listen(engine, any_port, Wait::Sleep)?;
//! for _ in 0..10 {
//!     acceptor.round()?; // for ever
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod acceptor;
mod client;
pub mod codec;
pub mod engine;
pub mod market;
pub mod session;
pub mod store;

pub use acceptor::{Acceptor, Wait, now};
pub use client::Client;
pub use engine::{Observer, Way};
