//! A [`Server`] listens on one address and answers GET and HEAD, each on a connection
//! of its own. It knows the runs of its folder by name; a name that a client sends is
//! looked up among them and never becomes a path. It writes nothing, starts nothing,
//! and holds no statistics: reports come from `report`.

mod access;
mod error;
mod name;
mod pages;
mod request;
mod response;
mod routes;
mod runs;
mod server;
mod shelf;

pub use access::{TOKEN_CHARACTERS_MIN, random_token};
pub use error::ServeError;
pub use server::{Server, Settings};
