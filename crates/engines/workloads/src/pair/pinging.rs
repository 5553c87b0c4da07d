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
            let address = player.hear()?;
            let end = knock(socket, address, &word.to_le_bytes(), waiting).map_err(failed)?;
            (end, (None, Some(player)))
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
        let taken_bytes = self.end.take_answer(&mut self.answer, is_late).map_err(lost)?;
        if taken_bytes == 0 {
            return Err(lost("no answer came"));
        }
        let end_ns = clock.now_ns();
        bench.record(OpIndex(0), arrival.start_ns, end_ns, 0);
        if self.answer[..taken_bytes] != self.frame[..ACK_BYTES] {
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
    socket: Socket,
    waiting: Waiting,
}

impl End {
    fn new(stream: TcpStream, socket: Socket, waiting: Waiting) -> io::Result<End> {
        if socket == Socket::Tcp {
            stream.set_nodelay(true)?;
        }
        stream.set_read_timeout(Some(LOOK_EACH))?;
        stream.set_nonblocking(waiting == Waiting::Spin)?;
        Ok(End { stream, socket, waiting })
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// All of it, or one datagram; nothing where it is over.
    #[inline]
    fn take(&mut self, bytes: &mut [u8], is_over: impl Fn() -> bool) -> io::Result<usize> {
        let (mut filled, mut polls) = (0, 0u32);
        while filled < bytes.len() {
            match self.stream.read(&mut bytes[filled..]) {
                Ok(0) => return Ok(0),
                Ok(count) if self.socket == Socket::Udp => return Ok(count),
                Ok(count) => filled += count,
                Err(error) if is_nothing(&error) => {
                    polls += 1;
                    let has_slept = self.waiting == Waiting::Block;
                    if (has_slept || polls % POLLS == 0) && is_over() {
                        return Ok(0);
                    }
                    std::hint::spin_loop();
                }
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// Whoever knocked twice hears the word once more.
    #[inline]
    fn take_answer(&mut self, bytes: &mut [u8], is_over: impl Fn() -> bool) -> io::Result<usize> {
        loop {
            match self.take(bytes, &is_over)? {
                WORD_BYTES => {}
                count => return Ok(count),
            }
        }
    }

    /// Answers each frame by its begin, and so a knock that comes again by itself.
    fn echo(&mut self, frame_bytes: usize, is_over: impl Fn() -> bool) -> Result<(), Fault> {
        let mut frame = vec![0; frame_bytes];
        loop {
            match self.take(&mut frame, &is_over).map_err(failed)? {
                0 => return Ok(()),
                count => self.send(&frame[..count.min(ACK_BYTES)]).map_err(failed)?,
            }
        }
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
        let ours = End::new(ours, socket, waiting).map_err(failed)?;
        let mut theirs = End::new(theirs, socket, waiting).map_err(failed)?;
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
    Ok((ours, listener.accept()?.0))
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
/// A datagram may be lost, the knock and its answer too.
const KNOCK_EACH: Duration = Duration::from_millis(200);

fn knock(
    socket: Socket,
    address: SocketAddr,
    word: &[u8; WORD_BYTES],
    waiting: Waiting,
) -> io::Result<End> {
    let stream = match socket {
        Socket::Tcp => TcpStream::connect_timeout(&address, ANSWER_WITHIN)?,
        Socket::Udp => {
            let any: IpAddr = if address.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
            let own = UdpSocket::bind((any, 0))?;
            own.connect(address)?;
            OwnedFd::from(own).into()
        }
    };
    let mut end = End::new(stream, socket, Waiting::Block)?;
    let each = if socket == Socket::Tcp { ANSWER_WITHIN } else { KNOCK_EACH };
    let (began, mut answer) = (Instant::now(), [0; WORD_BYTES]);
    while answer != *word {
        if began.elapsed() >= ANSWER_WITHIN {
            return Err(ErrorKind::TimedOut.into());
        }
        end.send(word)?;
        let sent = Instant::now();
        end.take(&mut answer, || sent.elapsed() >= each)?;
    }
    End::new(end.stream, socket, waiting)
}

pub(super) fn play(session: &Session, socket: Socket) -> Result<(), Fault> {
    let (word, words) = followers::words()?;
    let (word, address) = (word.to_le_bytes(), hosts::wire_address()?);
    let end = match socket {
        Socket::Tcp => opened_tcp(address, &word, &words)?,
        Socket::Udp => opened_udp(address, &word, &words)?,
    };
    let Some(End { stream, .. }) = end else { return Ok(()) };
    let end = End::new(stream, socket, params::waiting(&session.params));
    let mut end = end.map_err(failed)?;
    end.send(&word).map_err(failed)?;
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
    word: &[u8; WORD_BYTES],
    words: &Receiver<String>,
) -> Result<Option<End>, Fault> {
    let listener = TcpListener::bind((address, 0)).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    role::answer(&listener.local_addr().map_err(failed)?)?;
    admitted(words, || {
        let stream = listener.accept()?.0;
        // What goes wrong with a stranger is its own affair.
        Ok(known(stream, word).unwrap_or_default())
    })
}

/// However slowly a stranger says it.
fn known(stream: TcpStream, word: &[u8; WORD_BYTES]) -> io::Result<Option<End>> {
    let mut end = End::new(stream, Socket::Tcp, Waiting::Block)?;
    let (began, mut said) = (Instant::now(), [0; WORD_BYTES]);
    end.take(&mut said, || began.elapsed() > SAYS_WITHIN)?;
    Ok((said == *word).then_some(end))
}

fn opened_udp(
    address: IpAddr,
    word: &[u8; WORD_BYTES],
    words: &Receiver<String>,
) -> Result<Option<End>, Fault> {
    let own = UdpSocket::bind((address, 0)).map_err(failed)?;
    role::answer(&own.local_addr().map_err(failed)?)?;
    met(own, word, words)
}

/// From then on nobody else is heard, and nothing that strangers had sent before.
fn met(
    own: UdpSocket,
    word: &[u8; WORD_BYTES],
    words: &Receiver<String>,
) -> Result<Option<End>, Fault> {
    own.set_read_timeout(Some(LOOK_EACH)).map_err(failed)?;
    let peer = admitted(words, || {
        let mut said = [0; WORD_BYTES + 1];
        let (count, peer) = own.recv_from(&mut said)?;
        Ok((said[..count] == *word).then_some(peer))
    })?;
    let Some(peer) = peer else { return Ok(None) };
    own.connect(peer).and_then(|()| own.set_nonblocking(true)).map_err(failed)?;
    while own.recv(&mut [0]).is_ok() {}
    End::new(OwnedFd::from(own).into(), Socket::Udp, Waiting::Block).map(Some).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use pickfs_testkit::PATIENCE;

    use super::*;

    const WORD: [u8; WORD_BYTES] = *b"the word";
    const FRAME: [u8; 64] = [7; 64];

    fn late() -> impl Fn() -> bool {
        let began = Instant::now();
        move || began.elapsed() > PATIENCE
    }

    #[test]
    fn a_knock_that_was_lost_comes_again_and_no_answer_to_it_is_one_to_a_frame() {
        let theirs = UdpSocket::bind("127.0.0.1:0").expect("a port");
        theirs.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let address = theirs.local_addr().expect("bound");
        let knocking = thread::spawn(move || knock(Socket::Udp, address, &WORD, Waiting::Block));
        let mut said = [0; FRAME.len()];
        let mut hear = || {
            let (count, peer) = theirs.recv_from(&mut said).expect("a datagram");
            (said[..count].to_vec(), peer)
        };
        // The first is lost.
        assert_eq!(hear().0, WORD);
        let (again, peer) = hear();
        assert_eq!(again, WORD);
        for _ in 0..2 {
            theirs.send_to(&WORD, peer).expect("sent");
        }
        let mut end = knocking.join().expect("no panic").expect("answered");
        end.send(&FRAME).expect("sent");
        theirs.send_to(&FRAME[..ACK_BYTES], peer).expect("sent");
        let mut answer = [0; ACK_BYTES];
        assert_eq!(end.take_answer(&mut answer, late()).expect("an answer"), ACK_BYTES);
        assert_eq!(answer, FRAME[..ACK_BYTES]);
    }

    #[test]
    fn an_echo_hears_nobody_but_who_knew_its_word() {
        let own = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = own.local_addr().expect("bound");
        let [stranger, ours] = [(); 2].map(|()| {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
            socket.connect(address).expect("connected");
            socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
            socket
        });
        let say =
            |socket: &UdpSocket, what: &[u8]| assert_eq!(socket.send(what).ok(), Some(what.len()));
        say(&stranger, &FRAME);
        say(&ours, &WORD);
        say(&stranger, &FRAME);
        let (lines, words) = channel();
        let mut echo = met(own, &WORD, &words).expect("admitted").expect("known");
        say(&stranger, &FRAME);
        let echoing = thread::spawn(move || echo.echo(FRAME.len(), || is_over(&words)));
        let mut heard = [0; FRAME.len()];
        for (what, echoed) in [(&WORD[..], &WORD[..]), (&FRAME, &FRAME[..ACK_BYTES])] {
            say(&ours, what);
            let count = ours.recv(&mut heard).expect("an echo");
            assert_eq!(heard[..count], *echoed);
        }
        drop(lines);
        echoing.join().expect("no panic").expect("over");
    }

    #[test]
    fn a_stranger_that_trickles_holds_an_echo_no_longer_than_others_may() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut slow = TcpStream::connect(listener.local_addr().expect("bound")).expect("there");
        let stream = listener.accept().expect("connected").0;
        let began = Instant::now();
        let trickling = thread::spawn(move || {
            for byte in [0; WORD_BYTES] {
                // SLEEP: the stranger's own.
                thread::sleep(SAYS_WITHIN * 3 / 4);
                if slow.write_all(&[byte]).is_err() {
                    return;
                }
            }
        });
        assert!(known(stream, &WORD).expect("a stranger").is_none());
        assert!(began.elapsed() < SAYS_WITHIN * 4, "{:?}", began.elapsed());
        trickling.join().expect("no panic");
    }
}
