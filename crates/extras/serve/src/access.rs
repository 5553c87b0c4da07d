//! Who may read: the host that a browser thinks it talks to, and the token.
//!
//! On loopback a page of a stranger could point a name of its own at 127.0.0.1 and
//! read us through the user's browser (DNS rebinding); so only local names are
//! answered there. On any other address only who knows the token is answered: a
//! rebound name does not carry our cookie.

use std::{
    fs::File,
    io::{self, Read},
    net::{IpAddr, SocketAddr},
};

use crate::{error::ServeError, request::Request};

pub const TOKEN_CHARACTERS_MIN: usize = 16;

/// A new token: 128 random bits as 32 hexadecimal digits.
pub fn random_token() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[derive(Debug, Clone)]
pub struct Gate {
    token: Option<String>,
    only_local_names: bool,
    cookie: String,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Passage {
    Open,
    /// It has the token in its link: it may have the cookie, and a link without the token.
    Welcome {
        cookie: String,
    },
    ForeignHost,
    Closed,
}

impl Gate {
    /// The gate of an address: without a token only where nobody else can reach it.
    pub fn new(address: SocketAddr, token: Option<String>) -> Result<Gate, ServeError> {
        let local = is_loopback(address.ip());
        let token = match token {
            Some(token) => Some(checked(token)?),
            None if local => None,
            None => Some(random_token().map_err(ServeError::Random)?),
        };
        // Cookies know no ports: two servers of a machine must not share one.
        let cookie = format!("pickfs-{}", address.port());
        Ok(Gate { token, only_local_names: local, cookie })
    }

    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    pub fn passage(&self, request: &Request) -> Passage {
        if self.only_local_names && !request.host.as_deref().is_some_and(is_local_name) {
            return Passage::ForeignHost;
        }
        let Some(token) = &self.token else { return Passage::Open };
        if request.bearer.as_deref().is_some_and(|given| is_same(given, token))
            || request.cookies(&self.cookie).any(|given| is_same(given, token))
        {
            return Passage::Open;
        }
        match request.value("token") {
            Some(given) if is_same(given, token) => Passage::Welcome {
                cookie: format!("{}={token}; Path=/; HttpOnly; SameSite=Strict", self.cookie),
            },
            _ => Passage::Closed,
        }
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

fn checked(token: String) -> Result<String, ServeError> {
    if !token.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        return Err(ServeError::OddToken);
    }
    match token.len() {
        characters if characters < TOKEN_CHARACTERS_MIN => {
            Err(ServeError::WeakToken { characters })
        }
        _ => Ok(token),
    }
}

/// Whether two tokens are equal, in a time that depends on the length of the first alone.
fn is_same(given: &str, token: &str) -> bool {
    let (given, token) = (given.as_bytes(), token.as_bytes());
    let mut difference = given.len() ^ token.len();
    for (at, byte) in given.iter().enumerate() {
        difference |= usize::from(byte ^ token[at % token.len()]);
    }
    std::hint::black_box(difference) == 0
}

/// A name or number that means this machine and that no stranger can point elsewhere; with any
/// port, as a tunnel may end on another one.
fn is_local_name(host: &str) -> bool {
    let bare = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, "")) => name,
            Some((name, port)) if is_port(port) => name,
            _ => return false,
        },
        None => match host.split_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            Some(_) => return false,
            None => host,
        },
    };
    bare.eq_ignore_ascii_case("localhost") || bare.parse().is_ok_and(is_loopback)
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn gate(address: &str, token: Option<&str>) -> Gate {
        Gate::new(address.parse().unwrap(), token.map(String::from)).unwrap()
    }

    fn ask(head: &str) -> Request {
        Request::parse(format!("GET {head}\r\n\r\n").as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn loopback_answers_local_names_only() {
        let gate = gate("127.0.0.1:80", None);
        for host in ["localhost", "LocalHost:1", "127.0.0.1:7433", "127.9.9.9", "[::1]:7433"] {
            let request = ask(&format!("/ HTTP/1.1\r\nHost: {host}"));
            assert_eq!(gate.passage(&request), Passage::Open, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::1", ""]
        {
            let request = ask(&format!("/ HTTP/1.1\r\nHost: {host}"));
            assert_eq!(gate.passage(&request), Passage::ForeignHost, "{host}");
        }
        assert_eq!(gate.passage(&ask("/ HTTP/1.1")), Passage::ForeignHost);
    }

    #[test]
    fn elsewhere_a_token_is_made_and_asked_for() {
        let made = gate("0.0.0.0:80", None);
        let token = made.token().unwrap().to_owned();
        assert_eq!(token.len(), 32);
        assert_ne!(made.token(), gate("[::]:80", None).token());
        assert_eq!(made.passage(&ask("/ HTTP/1.1\r\nHost: a")), Passage::Closed);
        let link = ask(&format!("/?token={token} HTTP/1.1\r\nHost: a"));
        let Passage::Welcome { cookie } = made.passage(&link) else { panic!("not welcome") };
        assert_eq!(cookie, format!("pickfs-80={token}; Path=/; HttpOnly; SameSite=Strict"));
        for head in [
            format!("/ HTTP/1.1\r\nCookie: a=b; pickfs-80={token}"),
            format!("/ HTTP/1.1\r\nAuthorization: Bearer {token}"),
        ] {
            assert_eq!(made.passage(&ask(&head)), Passage::Open);
        }
    }

    #[test]
    fn a_token_of_ones_own_holds_on_loopback_too() {
        let gate = gate("127.0.0.1:80", Some(TOKEN));
        let at = |query: &str| gate.passage(&ask(&format!("/{query} HTTP/1.1\r\nHost: localhost")));
        assert_eq!(at(""), Passage::Closed);
        for wrong in ["?token=", "?token=0", "?token=0123456789abcdeg", "?token=0123456789abcdef0"]
        {
            assert_eq!(at(wrong), Passage::Closed, "{wrong}");
        }
        assert!(matches!(at(&format!("?token={TOKEN}")), Passage::Welcome { .. }));
    }

    #[test]
    fn weak_and_odd_tokens_are_refused() {
        let refused = |token: &str| Gate::new("0.0.0.0:1".parse().unwrap(), Some(token.into()));
        assert!(matches!(refused("short"), Err(ServeError::WeakToken { characters: 5 })));
        assert!(matches!(refused("0123456789abcdef; Path=/"), Err(ServeError::OddToken)));
    }
}
