use std::{io, net::SocketAddr, path::PathBuf};

use thiserror::Error;

use crate::access::TOKEN_CHARACTERS_MIN;

#[derive(Debug, Error)]
pub enum ServeError {
    #[error("cannot read {path}: {source}; name the folder that --out named")]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot listen on {address}: {source}; name another one with --listen")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(
        "a token of {characters} characters can be guessed; give {TOKEN_CHARACTERS_MIN} or more \
         letters, digits, - or _, or leave --token out and one is made"
    )]
    WeakToken { characters: usize },
    #[error("a token holds letters, digits, - and _ only; leave --token out and one is made")]
    OddToken,
    #[error("cannot read /dev/urandom: {0}; give a token with --token")]
    Random(io::Error),
}
