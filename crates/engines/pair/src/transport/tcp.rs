use std::{
    io::{self, IoSlice, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use super::{Connection, Door};

pub(super) fn listen(address: SocketAddr) -> io::Result<Box<dyn Door>> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok(Box::new(TcpDoor { listener, address }))
}

pub(super) fn connect(address: SocketAddr, limit: Duration) -> io::Result<Box<dyn Connection>> {
    let stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_nodelay(true)?;
    let mut connection = TcpConnection { stream };
    connection.wait_at_most(Some(limit))?;
    Ok(Box::new(connection))
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
        Some((Box::new(TcpConnection { stream }), peer))
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.listener.as_fd())
    }
}

struct TcpConnection {
    stream: TcpStream,
}

impl Connection for TcpConnection {
    fn wait_at_most(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.stream.set_nonblocking(limit.is_none())?;
        if limit.is_some() {
            self.stream.set_read_timeout(limit)?;
            self.stream.set_write_timeout(limit)?;
        }
        Ok(())
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stream.as_fd())
    }
}

impl Read for TcpConnection {
    #[inline]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.read(bytes)
    }
}

impl Write for TcpConnection {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    #[inline]
    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
