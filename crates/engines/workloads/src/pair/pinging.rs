use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pickfs_pair::Waiting;
use pickfs_pair::wire::{ACK_BYTES, ENTRY_HEAD_BYTES};
use pickfs_record::{Clock, OpIndex};
use pickfs_workload::bench::Bench;
use pickfs_workload::drive::{Due, Work};
use pickfs_workload::fault::Fault;
use pickfs_workload::workload::Session;

use crate::hosts::{self, Host};
use crate::pair::params::{self, HEAD_BYTES};
use crate::pair::ready::Side;
use crate::pattern::Pattern;

const ANSWER_WITHIN: Duration = Duration::from_secs(5);

pub(super) struct Pinging {
    end: End,
    pattern: Pattern,
    frame: Vec<u8>,
    answer: [u8; ACK_BYTES],
    number: u64,
    bytes_written: u64,
    _echo: Echo,
}

impl Pinging {
    pub(super) fn start(session: &Session, socket: Socket) -> Result<Self, Fault> {
        let params = &session.params;
        let frame_bytes = ENTRY_HEAD_BYTES + params.integer("size") as usize;
        let host = Host::new(2, hosts::home(params)?);
        let waiting = params::waiting(params);
        let (echo, end) = Echo::start(socket, host, frame_bytes, waiting, session.spec.helper_cpu)?;
        Ok(Pinging {
            end,
            pattern: Pattern::new(frame_bytes, HEAD_BYTES, session.spec.seed),
            frame: vec![0; frame_bytes],
            answer: [0; ACK_BYTES],
            number: 0,
            bytes_written: 0,
            _echo: echo,
        })
    }
}

impl Side for Pinging {
    /// Each answer was compared when it came.
    fn verify(&mut self) -> Result<u64, Fault> {
        Ok(self.number)
    }
}

fn lost(error: impl ToString) -> Fault {
    Fault::Failed { reason: format!("the ping-pong: {}", error.to_string()) }
}

impl Work for Pinging {
    fn ready(&mut self, _time_ns: u64) -> Result<(), Fault> {
        self.pattern.fill(&mut self.frame, self.number + 1);
        Ok(())
    }

    #[inline]
    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        self.end.send(&self.frame).map_err(lost)?;
        let began = Instant::now();
        let is_late = || began.elapsed() > ANSWER_WITHIN;
        if !self.end.take(&mut self.answer, is_late).map_err(lost)? {
            return Err(lost("no answer came"));
        }
        let end_ns = clock.now_ns();
        bench.record(OpIndex(0), arrival.start_ns, end_ns, 0);
        if self.answer != self.frame[..ACK_BYTES] {
            return Err(Fault::Wrong { what: "an answer is not of its request".into() });
        }
        self.number += 1;
        self.bytes_written += self.frame.len() as u64;
        Ok(end_ns)
    }

    fn bytes_written(&self) -> u64 {
        self.bytes_written
    }
}

const LOOK_EACH: Duration = Duration::from_millis(50);
const POLLS: u32 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Socket {
    Tcp,
    Udp,
}

/// A datagram socket that is connected reads and writes as a stream does, a message at a time.
struct End {
    stream: TcpStream,
    waiting: Waiting,
}

impl End {
    fn new(stream: TcpStream, waiting: Waiting) -> io::Result<End> {
        stream.set_read_timeout(Some(LOOK_EACH))?;
        stream.set_nonblocking(waiting == Waiting::Spin)?;
        Ok(End { stream, waiting })
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    #[inline]
    fn take(&mut self, bytes: &mut [u8], is_over: impl Fn() -> bool) -> io::Result<bool> {
        let (mut filled, mut polls) = (0, 0u32);
        while filled < bytes.len() {
            match self.stream.read(&mut bytes[filled..]) {
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

struct Echo {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), Fault>>>,
}

impl Echo {
    /// Starts it on this processor, its socket on another host where that is asked; gives our end.
    fn start(
        socket: Socket,
        host: Host,
        frame_bytes: usize,
        waiting: Waiting,
        cpu: Option<u32>,
    ) -> Result<(Echo, End), Fault> {
        let (ours, theirs) = ends(socket, host)?;
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

fn ends(socket: Socket, host: Host) -> Result<(TcpStream, TcpStream), Fault> {
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

fn tcp_ends(listener: &TcpListener) -> io::Result<(TcpStream, TcpStream)> {
    let ours = TcpStream::connect(listener.local_addr()?)?;
    let theirs = listener.accept()?.0;
    ours.set_nodelay(true).and_then(|()| theirs.set_nodelay(true))?;
    Ok((ours, theirs))
}

fn udp_ends(theirs: UdpSocket) -> io::Result<(TcpStream, TcpStream)> {
    let ours = UdpSocket::bind(SocketAddr::from(([0, 0, 0, 0], 0)))?;
    ours.connect(theirs.local_addr()?)?;
    theirs.connect(ours.local_addr()?)?;
    Ok((OwnedFd::from(ours).into(), OwnedFd::from(theirs).into()))
}
