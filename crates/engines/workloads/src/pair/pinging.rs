use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pickfs_pair::Waiting;
use pickfs_pair::wire::{ACK_BYTES, ENTRY_HEAD_BYTES};
use pickfs_record::{Clock, OpIndex};
use pickfs_workload::bench::Bench;
use pickfs_workload::drive::{Due, Work};
use pickfs_workload::fault::Fault;
use pickfs_workload::role::{self, Player};
use pickfs_workload::workload::Session;

use crate::followers::{self, ABANDONED};
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
    /// A thread here, or a role on a second host.
    _other_end: (Option<Echo>, Option<Player>),
}

impl Pinging {
    pub(super) fn start(session: &Session, socket: Socket) -> Result<Self, Fault> {
        let params = &session.params;
        let frame_bytes = frame_bytes(session);
        let waiting = params::waiting(params);
        let (end, other_end) = if hosts::is_second(params) {
            let mut player = hosts::started_there(session, ECHO)?;
            let word = pickfs_pair::new_identity();
            player.say(&word.to_string())?;
            let stream = knock(socket, player.hear()?, word).map_err(failed)?;
            (End::new(stream, waiting).map_err(failed)?, (None, Some(player)))
        } else {
            let (host, cpu) = (Host::new(2, hosts::home(params)?), session.spec.helper_cpu);
            let (echo, end) = Echo::start(socket, host, frame_bytes, waiting, cpu)?;
            (end, (Some(echo), None))
        };
        Ok(Pinging {
            end,
            pattern: Pattern::new(frame_bytes, HEAD_BYTES, session.spec.seed),
            frame: vec![0; frame_bytes],
            answer: [0; ACK_BYTES],
            number: 0,
            bytes_written: 0,
            _other_end: other_end,
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

impl End {
    fn echo(&mut self, frame_bytes: usize, is_over: impl Fn() -> bool) -> Result<(), Fault> {
        let mut frame = vec![0; frame_bytes];
        while self.take(&mut frame, &is_over).map_err(failed)? {
            self.send(&frame[..ACK_BYTES]).map_err(failed)?;
        }
        Ok(())
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
            theirs.echo(frame_bytes, || told.load(Relaxed))
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

fn frame_bytes(session: &Session) -> usize {
    ENTRY_HEAD_BYTES + session.params.integer("size") as usize
}

// The other end on a second host. It listens at one address, and echoes to whom the trial's word is known alone: that
// came by the launcher's line, and is said first.

const ECHO: &str = "echo";
const WORD_BYTES: usize = 8;
/// For whoever connects to say it.
const SAYS_WITHIN: Duration = Duration::from_secs(1);
const KNOCKS_WITHIN: Duration = Duration::from_secs(30);

fn knock(socket: Socket, address: SocketAddr, word: u64) -> io::Result<TcpStream> {
    let mut stream: TcpStream = match socket {
        Socket::Tcp => TcpStream::connect_timeout(&address, ANSWER_WITHIN)?,
        Socket::Udp => {
            let any: IpAddr = if address.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
            let own = UdpSocket::bind((any, 0))?;
            own.connect(address)?;
            OwnedFd::from(own).into()
        }
    };
    if socket == Socket::Tcp {
        stream.set_nodelay(true)?;
    }
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    let mut answer = [0; WORD_BYTES];
    stream.write_all(&word.to_le_bytes())?;
    stream.read_exact(&mut answer)?;
    Ok(stream)
}

pub(super) fn play(session: &Session, socket: Socket) -> Result<(), Fault> {
    let (word, words) = followers::words()?;
    let word = word.to_le_bytes();
    let address = hosts::wire_address()?;
    let stream = match socket {
        Socket::Tcp => opened_tcp(address, &word, &words)?,
        Socket::Udp => opened_udp(address, &word, &words)?,
    };
    let Some(mut stream) = stream else { return Ok(()) };
    stream.write_all(&word).map_err(failed)?;
    let mut end = End::new(stream, params::waiting(&session.params)).map_err(failed)?;
    let spec = &session.spec;
    let planned_ns = spec.warmup_ns.saturating_add(spec.measure_ns);
    let longest = ABANDONED.saturating_add(Duration::from_nanos(planned_ns));
    let began = Instant::now();
    end.echo(frame_bytes(session), || is_over(&words) || began.elapsed() > longest)
}

fn is_over(words: &Receiver<String>) -> bool {
    words.try_recv() == Err(TryRecvError::Disconnected)
}

/// Asks for the next one until it knows the word, or nobody needs it.
fn admitted<T>(
    words: &Receiver<String>,
    mut next: impl FnMut() -> io::Result<Option<T>>,
) -> Result<Option<T>, Fault> {
    let began = Instant::now();
    while !is_over(words) {
        match next() {
            Ok(Some(known)) => return Ok(Some(known)),
            Err(error) if !is_nothing(&error) => return Err(failed(error)),
            _ if began.elapsed() > KNOCKS_WITHIN => {
                return Err(lost("nobody came who knows the word"));
            }
            _ => thread::sleep(Duration::from_millis(1)),
        }
    }
    Ok(None)
}

fn opened_tcp(
    address: IpAddr,
    word: &[u8],
    words: &Receiver<String>,
) -> Result<Option<TcpStream>, Fault> {
    let listener = TcpListener::bind((address, 0)).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    role::answer(&listener.local_addr().map_err(failed)?)?;
    admitted(words, || {
        let stream = listener.accept()?.0;
        // What goes wrong with a stranger is its own affair.
        let is_known = says(&stream, word).unwrap_or(false);
        Ok(is_known.then_some(stream))
    })
}

fn says(mut stream: &TcpStream, word: &[u8]) -> io::Result<bool> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SAYS_WITHIN))?;
    let mut said = [0; WORD_BYTES];
    stream.read_exact(&mut said)?;
    Ok(said == *word)
}

fn opened_udp(
    address: IpAddr,
    word: &[u8],
    words: &Receiver<String>,
) -> Result<Option<TcpStream>, Fault> {
    let own = UdpSocket::bind((address, 0)).map_err(failed)?;
    own.set_read_timeout(Some(LOOK_EACH)).map_err(failed)?;
    role::answer(&own.local_addr().map_err(failed)?)?;
    let peer = admitted(words, || {
        let mut said = [0; WORD_BYTES + 1];
        let (count, peer) = own.recv_from(&mut said)?;
        Ok((said[..count] == *word).then_some(peer))
    })?;
    let Some(peer) = peer else { return Ok(None) };
    own.connect(peer).map_err(failed)?;
    Ok(Some(OwnedFd::from(own).into()))
}
