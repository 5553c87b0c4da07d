//! Few people read at a time, so a thread each is cheap; above the bound a
//! connection is told so and closed. A panic while a page is made ends that answer
//! and nothing else.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use pickfs_record::{Findings, RunRecord};
use pickfs_report::NextStep;

use crate::{
    access::{Gate, random_token},
    error::ServeError,
    pages::message_page,
    request::{BadRequest, Request},
    response::Response,
    routes::Routes,
    shelf::Shelf,
};

/// Connections that are answered at once.
const CONNECTIONS_MAX: usize = 32;
/// Longest wait for a reader who does not take what is sent.
const SEND_TIME_MAX: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub struct Settings {
    pub folder: PathBuf,
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Token that is asked for; made where absent and the address is not loopback.
    pub token: Option<String>,
    pub next: fn(&RunRecord, &Findings) -> Option<NextStep>,
}

impl Settings {
    pub fn new(folder: impl AsRef<Path>, listen: SocketAddr) -> Settings {
        let folder = folder.as_ref().to_owned();
        Settings { folder, listen, token: None, next: |_, _| None }
    }
}

pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    gate: Gate,
    routes: Routes,
    connections: AtomicUsize,
}

impl Server {
    pub fn bind(settings: Settings) -> Result<Server, ServeError> {
        let Settings { folder, listen, token, next } = settings;
        let shelf = Shelf::open(&folder)
            .map_err(|source| ServeError::Folder { path: folder.clone(), source })?;
        let failed = |source| ServeError::Listen { address: listen, source };
        let listener = TcpListener::bind(listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let gate = Gate::new(address, token)?;
        let routes = Routes { shelf, next };
        let shared = Shared { gate, routes, connections: AtomicUsize::new(0) };
        Ok(Server { listener, address, shared: Arc::new(shared) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn token(&self) -> Option<&str> {
        self.shared.gate.token()
    }

    /// The link to open first, with the token where one is asked for.
    pub fn first_link(&self) -> String {
        let address = SocketAddr::new(reachable(self.address.ip()), self.address.port());
        match self.token() {
            Some(token) => format!("http://{address}/?token={token}"),
            None => format!("http://{address}/"),
        }
    }

    pub fn serve(&self) {
        for stream in self.listener.incoming() {
            match stream {
                Ok(stream) => self.take(stream),
                // Out of file handles, or the other side has gone: others may still come.
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn take(&self, mut stream: TcpStream) {
        let shared = self.shared.clone();
        if shared.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
            let _ = refusal(503, "too many connections at once").send(&mut stream, false);
            return;
        }
        let spawned = thread::Builder::new().name("reader".into()).spawn(move || {
            let _ = stream.set_write_timeout(Some(SEND_TIME_MAX));
            let _ = shared.answer(&mut stream);
            let _ = stream.shutdown(Shutdown::Both);
            shared.connections.fetch_sub(1, Ordering::Relaxed);
        });
        if spawned.is_err() {
            self.shared.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Shared {
    fn answer(&self, stream: &mut TcpStream) -> io::Result<()> {
        let request = match Request::read(stream) {
            Ok(request) => request,
            Err(bad) => return of_bad(&bad).send(stream, false),
        };
        let made = catch_unwind(AssertUnwindSafe(|| self.routes.answer(&self.gate, &request)));
        let answer = made.unwrap_or_else(|_| {
            refusal(500, "this page could not be made; the run file may be damaged")
        });
        answer.send(stream, request.head_only)
    }
}

/// The address by which others reach one that means every address: that of the way out of this machine,
/// where there is one. A UDP socket that is connected sends nothing.
fn reachable(ip: IpAddr) -> IpAddr {
    let (any, far, local) = match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            ("0.0.0.0:0", "192.0.2.1:9", IpAddr::V4(Ipv4Addr::LOCALHOST))
        }
        IpAddr::V6(ip) if ip.is_unspecified() => {
            ("[::]:0", "[2001:db8::1]:9", IpAddr::V6(Ipv6Addr::LOCALHOST))
        }
        ip => return ip,
    };
    let way_out = UdpSocket::bind(any).and_then(|socket| {
        socket.connect(far)?;
        socket.local_addr()
    });
    way_out.map_or(local, |address| address.ip())
}

fn of_bad(bad: &BadRequest) -> Response {
    let said = bad.to_string();
    match bad {
        BadRequest::Method(_) => refusal(405, &said).with("Allow", "GET, HEAD".into()),
        BadRequest::TooLong => refusal(431, &said),
        BadRequest::Unfinished => refusal(408, &said),
        BadRequest::NotHttp(_) | BadRequest::Path => refusal(400, &said),
    }
}

pub fn refusal(status: u16, text: &str) -> Response {
    let nonce = random_token().unwrap_or_default();
    Response::page(status, message_page("pickfs serve", text), &nonce)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_means_all_is_shown_as_one_that_others_reach() {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind(Settings::new(&folder, "0.0.0.0:0".parse().unwrap())).unwrap();
        let link = server.first_link();
        let shown = link.trim_start_matches("http://").split('/').next().unwrap();
        let shown: SocketAddr = shown.parse().unwrap();
        assert!(!shown.ip().is_unspecified(), "{link}");
        TcpStream::connect(shown).unwrap();
        let routes = std::fs::read_to_string("/proc/net/route").unwrap_or_default();
        let has_way_out =
            routes.lines().any(|line| line.split_whitespace().nth(1) == Some("00000000"));
        assert_eq!(shown.ip().is_loopback(), !has_way_out, "{link}");
    }
}
