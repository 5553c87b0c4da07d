use std::{
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use pickfs_pair::{Waiting, wire::ACK_BYTES};
use pickfs_workload::fault::Fault;

use crate::hosts::{Home, Host};

const LOOK_EACH: Duration = Duration::from_millis(50);
const POLLS: u32 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Socket {
    Tcp,
    Udp,
}

pub(super) struct End {
    stream: Stream,
    waiting: Waiting,
}

enum Stream {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl End {
    fn new(stream: Stream, waiting: Waiting) -> io::Result<End> {
        let is_spinning = waiting == Waiting::Spin;
        match &stream {
            Stream::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(LOOK_EACH))?;
                stream.set_nonblocking(is_spinning)?;
            }
            Stream::Udp(socket) => {
                socket.set_read_timeout(Some(LOOK_EACH))?;
                socket.set_nonblocking(is_spinning)?;
            }
        }
        Ok(End { stream, waiting })
    }

    #[inline]
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.stream {
            Stream::Tcp(stream) => stream.write_all(bytes),
            Stream::Udp(socket) => socket.send(bytes).map(drop),
        }
    }

    #[inline]
    pub(super) fn take(
        &mut self,
        bytes: &mut [u8],
        is_over: impl Fn() -> bool,
    ) -> io::Result<bool> {
        let (mut filled, mut polls) = (0, 0u32);
        while filled < bytes.len() {
            let taken = match &mut self.stream {
                Stream::Tcp(stream) => stream.read(&mut bytes[filled..]),
                Stream::Udp(socket) => socket.recv(&mut bytes[filled..]),
            };
            match taken {
                Ok(0) => return Ok(false),
                Ok(count) => filled += count,
                Err(error) if is_nothing(&error) => {
                    polls += 1;
                    let has_slept = self.waiting == Waiting::Block;
                    if (has_slept || polls % POLLS == 0) && is_over() {
                        return Ok(false);
                    }
                    std::hint::spin_loop();
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// A blocking read that timed out says WouldBlock too, so every kind of nothing is counted.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

pub(super) struct Echo {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), Fault>>>,
}

impl Echo {
    /// Starts it on this processor, its socket on another host where that is asked; gives our end.
    pub(super) fn start(
        socket: Socket,
        home: Option<Home>,
        frame_bytes: usize,
        waiting: Waiting,
        cpu: Option<u32>,
    ) -> Result<(Echo, End), Fault> {
        let (ours, theirs) = ends(socket, Host::new(2, home))?;
        let ours = End::new(ours, waiting).map_err(failed)?;
        let mut theirs = End::new(theirs, waiting).map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let body = move || {
            pickfs_workload::placement::pin(cpu)?;
            let mut frame = vec![0; frame_bytes];
            let is_over = || told.load(Relaxed);
            while theirs.take(&mut frame, is_over).map_err(failed)? {
                theirs.send(&frame[..ACK_BYTES]).map_err(failed)?;
            }
            Ok(())
        };
        let thread = thread::Builder::new().name("echo".into()).spawn(body);
        let thread = thread.map_err(Fault::io("start a thread for", "the echo"))?;
        Ok((Echo { stop, thread: Some(thread) }, ours))
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn failed(error: io::Error) -> Fault {
    Fault::Failed { reason: format!("a socket of the ping-pong: {error}") }
}

fn ends(socket: Socket, host: Host) -> Result<(Stream, Stream), Fault> {
    match socket {
        Socket::Tcp => {
            let listener = host.make(|address| TcpListener::bind((address, 0)).map_err(failed))?;
            host.link()?;
            tcp_ends(&listener).map_err(failed)
        }
        Socket::Udp => {
            let theirs = host.make(|address| UdpSocket::bind((address, 0)).map_err(failed))?;
            host.link()?;
            udp_ends(theirs).map_err(failed)
        }
    }
}

fn tcp_ends(listener: &TcpListener) -> io::Result<(Stream, Stream)> {
    let ours = TcpStream::connect(listener.local_addr()?)?;
    Ok((Stream::Tcp(ours), Stream::Tcp(listener.accept()?.0)))
}

fn udp_ends(theirs: UdpSocket) -> io::Result<(Stream, Stream)> {
    let ours = UdpSocket::bind(SocketAddr::from(([0, 0, 0, 0], 0)))?;
    ours.connect(theirs.local_addr()?)?;
    theirs.connect(ours.local_addr()?)?;
    Ok((Stream::Udp(ours), Stream::Udp(theirs)))
}
