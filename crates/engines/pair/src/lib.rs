//! A store and its copies on other hosts: each message goes to the local journal or queue and, at the same time, to
//! one or more secondaries, and is safe when enough of them have it.
//!
//! It is no consensus: nobody is elected. One node is primary because somebody said so; another becomes it when
//! somebody says [`promote`], and an old primary that comes back is refused by its epoch. `docs/pair.md` says what
//! that does not do, and what to use where it is not enough.
//!
//! ```
//! use pickfs_pair::{Primary, PrimaryOptions, Secondary, SecondaryOptions};
//! use std::time::Duration;
//!
//! let dir = tempfile::tempdir()?;
//! let second = Duration::from_secs(5);
//! let listen = "127.0.0.1:0".parse()?;
//! let follower = Secondary::open(SecondaryOptions::new(dir.path().join("b"), listen))?.follow()?;
//! let secondaries = vec![follower.address()];
//! let mut primary = Primary::open(PrimaryOptions::new(dir.path().join("a"), secondaries))?;
//! primary.wait_ready(second)?;
//! let ticket = primary.append(b"buy 100 at 7.25")?; // no system call yet
//! primary.wait(ticket, second)?; // in the journal here, and received there
//! follower.end()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod dialer;
mod doorkeeper;
mod epoch;
mod error;
mod event;
mod gate;
mod link;
mod options;
mod outbox;
mod primary;
mod secondary;
mod state;
mod store;
mod transport;
pub mod wire;

pub use epoch::{Begin, Epoch, Position, end_of};
pub use error::{Error, Result};
pub use event::Event;
pub use options::{Degree, OnDiverged, OnLoss, PrimaryOptions, SecondaryOptions, Waiting};
pub use primary::{Primary, Status, Ticket, new_identity, promote};
pub use secondary::{Ended, Followed, Follower, Secondary, SecondaryStatus};
pub use state::{State, read as read_state, request_promotion};
pub use store::{Read, StoreOptions, read as read_store};
pub use transport::Transport;
