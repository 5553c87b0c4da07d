use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use super::{Connection, Door};

pub(super) fn listen(address: SocketAddr) -> io::Result<Box<dyn Door>> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok(Box::new(TcpDoor { listener, address }))
}

pub(super) fn connect(address: SocketAddr, limit: Duration) -> io::Result<Box<dyn Connection>> {
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_nodelay(true)?;
    stream.wait_at_most(Some(limit))?;
    Ok(Box::new(stream))
}

struct TcpDoor {
    listener: TcpListener,
    address: SocketAddr,
}

impl Door for TcpDoor {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn accept(&mut self) -> Option<(Box<dyn Connection>, SocketAddr)> {
        let (stream, peer) = self.listener.accept().ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_nonblocking(true).ok()?;
        Some((Box::new(stream), peer))
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.listener.as_fd())
    }
}

impl Connection for TcpStream {
    fn wait_at_most(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.set_nonblocking(limit.is_none())?;
        if limit.is_some() {
            self.set_read_timeout(limit)?;
            self.set_write_timeout(limit)?;
        }
        Ok(())
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.as_fd())
    }
}
