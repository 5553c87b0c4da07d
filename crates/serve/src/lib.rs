//! The runs of a folder as pages for a browser, read-only.
//!
//! A [`Server`] listens on one address and answers GET and HEAD, each on a
//! connection of its own. It knows the runs of its folder by name; a name that a
//! client sends is looked up among them and never becomes a path. It writes
//! nothing, starts nothing, and holds no statistics: pages come from `report`.
//!
//! ```no_run
//! use pickfs_serve::{Server, Settings};
//! let server = Server::bind(Settings::new("pickfs-runs", "127.0.0.1:7433".parse()?))?;
//! println!("{}", server.first_link());
//! server.serve();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod error;
mod events;
mod name;
mod request;
mod response;
mod routes;
mod server;
mod shelf;

pub use access::{TOKEN_CHARACTERS_MIN, random_token};
pub use error::ServeError;
pub use server::{Server, Settings};
