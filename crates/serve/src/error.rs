//! Why a server does not start.

use std::{io, net::SocketAddr, path::PathBuf};

use thiserror::Error;

use crate::access::TOKEN_CHARACTERS_MIN;

/// A server that cannot start.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The folder of runs cannot be read.
    #[error("cannot read {path}: {source}; name the folder that --out named")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}; name another one with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A token that can be guessed.
    #[error(
        "a token of {characters} characters can be guessed; give {TOKEN_CHARACTERS_MIN} or more \
         letters, digits, - or _, or leave --token out and one is made"
    )]
    WeakToken {
        /// Characters that were given.
        characters: usize,
    },
    /// A token with characters that do not go into a link.
    #[error("a token holds letters, digits, - and _ only; leave --token out and one is made")]
    OddToken,
    /// The kernel gave no random bytes.
    #[error("cannot read /dev/urandom: {0}; give a token with --token")]
    Random(io::Error),
}
