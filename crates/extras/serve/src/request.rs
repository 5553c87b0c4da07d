//! A body is never read: only GET and HEAD are answered, each on a connection that
//! is closed after it, so that nothing that follows a head can be taken for another
//! request.

use std::{
    io::Read,
    net::TcpStream,
    time::{Duration, Instant},
};

use thiserror::Error;

use crate::name::decoded;

pub const HEAD_BYTES_MAX: usize = 16 * 1024;
const HEADERS_MAX: usize = 64;
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);

#[derive(Debug, PartialEq, Eq, Error)]
pub enum BadRequest {
    #[error("not a request of HTTP/1: {0}")]
    NotHttp(String),
    #[error("the head of the request is longer than {HEAD_BYTES_MAX} bytes")]
    TooLong,
    #[error("method {0} is not answered: this server is read-only, GET and HEAD alone are")]
    Method(String),
    #[error("a path begins with / and holds UTF-8 text without control characters")]
    Path,
    /// The other side went away or was too slow.
    #[error("the request did not come to its end")]
    Unfinished,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// Parts of the path between the slashes, decoded; none for `/`.
    pub parts: Vec<String>,
    pub query: Vec<(String, String)>,
    pub head_only: bool,
    pub host: Option<String>,
    pub bearer: Option<String>,
    cookie: String,
}

impl Request {
    pub fn read(stream: &mut TcpStream) -> Result<Request, BadRequest> {
        let until = Instant::now() + HEAD_TIME_MAX;
        let mut bytes = Vec::with_capacity(1024);
        let mut chunk = [0; 2048];
        loop {
            if let Some(request) = Request::parse(&bytes)? {
                return Ok(request);
            }
            if bytes.len() >= HEAD_BYTES_MAX {
                return Err(BadRequest::TooLong);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
                return Err(BadRequest::Unfinished);
            }
            match stream.read(&mut chunk) {
                Ok(0) | Err(_) => return Err(BadRequest::Unfinished),
                Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            }
        }
    }

    /// The request at the start of some bytes; nothing while its head is not complete.
    pub fn parse(bytes: &[u8]) -> Result<Option<Request>, BadRequest> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Request::new(&mut headers);
        match head.parse(bytes) {
            Ok(status) if status.is_partial() => return Ok(None),
            Ok(_) => {}
            Err(httparse::Error::TooManyHeaders) => return Err(BadRequest::TooLong),
            Err(error) => return Err(BadRequest::NotHttp(error.to_string())),
        }
        let head_only = match head.method.unwrap_or_default() {
            "GET" => false,
            "HEAD" => true,
            other => return Err(BadRequest::Method(other.into())),
        };
        let (parts, query) = target(head.path.unwrap_or_default())?;
        let host = single(head.headers, "host")?;
        let bearer = single(head.headers, "authorization")?;
        let bearer = bearer.and_then(|value| Some(value.strip_prefix("Bearer ")?.to_owned()));
        let cookie = values(head.headers, "cookie").collect::<Vec<_>>().join("; ");
        Ok(Some(Request { parts, query, head_only, host, bearer, cookie }))
    }

    pub fn value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.query.iter().filter(move |(known, _)| known == name).map(|(_, v)| v.as_str())
    }

    pub fn cookies<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.cookie.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.filter(move |(known, _)| *known == name).map(|(_, value)| value)
    }
}

fn values<'h>(
    headers: &'h [httparse::Header<'_>],
    name: &'h str,
) -> impl Iterator<Item = String> + 'h {
    let named = headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
    named.map(|header| String::from_utf8_lossy(header.value).trim().to_owned())
}

fn single(headers: &[httparse::Header<'_>], name: &str) -> Result<Option<String>, BadRequest> {
    let mut found = values(headers, name);
    match (found.next(), found.next()) {
        (value, None) => Ok(value),
        _ => Err(BadRequest::NotHttp(format!("{name} stands twice"))),
    }
}

type Target = (Vec<String>, Vec<(String, String)>);

fn target(text: &str) -> Result<Target, BadRequest> {
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let path = path.strip_prefix('/').ok_or(BadRequest::Path)?;
    let parts = path.split('/').filter(|part| !part.is_empty()).map(|part| decoded(part, false));
    let parts = parts.collect::<Option<Vec<_>>>().ok_or(BadRequest::Path)?;
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decoded(name, true)?, decoded(value, true)?))
    });
    Ok((parts, pairs.collect::<Option<Vec<_>>>().ok_or(BadRequest::Path)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(target: &str) -> Result<Request, BadRequest> {
        Request::parse(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
            .map(Option::unwrap)
    }

    #[test]
    fn parts_and_query_are_decoded_once() {
        let request = read("/run/a%20b/c%2Fd?q=x+y&run=%25&run=2").unwrap();
        assert_eq!(request.parts, ["run", "a b", "c/d"]);
        assert_eq!(request.value("q"), Some("x y"));
        assert_eq!(request.values("run").collect::<Vec<_>>(), ["%", "2"]);
        assert!(read("/").unwrap().parts.is_empty());
    }

    #[test]
    fn odd_targets_are_refused() {
        for target in ["a", "*", "http://x/", "/%", "/%4", "/%zz", "/%00", "/a%0ab", "/%ff"] {
            assert_eq!(read(target), Err(BadRequest::Path), "{target}");
        }
    }

    #[test]
    fn only_get_and_head_are_read() {
        let head = Request::parse(b"HEAD / HTTP/1.1\r\n\r\n").unwrap().unwrap();
        assert!(head.head_only);
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"] {
            let bytes = format!("{method} / HTTP/1.1\r\n\r\n");
            assert_eq!(
                Request::parse(bytes.as_bytes()),
                Err(BadRequest::Method(method.into())),
                "{method}"
            );
        }
    }

    #[test]
    fn half_a_head_waits_and_a_broken_one_is_refused() {
        assert_eq!(Request::parse(b"GET / HTTP/1.1\r\nHost: x\r\n"), Ok(None));
        for bytes in ["\u{0}\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"] {
            assert!(matches!(Request::parse(bytes.as_bytes()), Err(BadRequest::NotHttp(_))));
        }
        let twice = b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
        assert!(matches!(Request::parse(twice), Err(BadRequest::NotHttp(_))));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65));
        assert_eq!(Request::parse(many.as_bytes()), Err(BadRequest::TooLong));
    }
}
