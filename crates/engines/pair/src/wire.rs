//! What travels between two nodes: the one place that knows where each byte stands.
//!
//! A frame is a head of 16 bytes and a body. All numbers are little-endian. The checksum (CRC-32C) covers the
//! frame from its byte 8 on, so length, kind and body; the magic holds the format.
//!
//! ```text
//! frame     0       4          8        12      16
//!           | magic | checksum | length | kind  | body ...        length: of the whole frame in bytes
//!
//! 1 hello   primary > secondary    | identity | epoch | node | last epoch | last sequence | wants |
//! 2 join    secondary > primary    | identity | epoch | node | last epoch | last sequence | 0     |
//! 3 refused both                   | reason   | epoch |
//! 4 entry   primary > secondary    | epoch    | sequence | payload ... |
//! 5 beat    primary > secondary    | epoch    | last sequence |
//! 6 ack     secondary > primary    | epoch    | received | durable |
//! 7 fetch   primary > secondary    | from     |            answered by entries, the other way round
//! ```
//!
//! Each field of a body has 8 bytes. The body of an entry is what the store keeps, byte for byte, so a frame is
//! encoded once. A frame is never longer than [`FRAME_BYTES_MAX`]; a longer one, and anything else that is not
//! as above, ends the connection with a [`Flaw`].

use std::io::{self, Read, Write};

use crate::epoch::{Epoch, Position};

/// `pkr` and the format.
pub const MAGIC: u32 = u32::from_le_bytes(*b"pkr\x01");
pub const HEAD_BYTES: usize = 16;
/// From the beginning of an entry's body.
pub const RECORD_HEAD_BYTES: usize = 16;
/// Beside the payload.
pub const ENTRY_HEAD_BYTES: usize = HEAD_BYTES + RECORD_HEAD_BYTES;
pub const FRAME_BYTES_MAX: usize = 16 << 20;
pub const ACK_BYTES: usize = HEAD_BYTES + 24;
/// But an entry.
pub const SHORT_FRAME_BYTES_MAX: usize = HEAD_BYTES + 48;

const CHECKED_FROM: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting {
    /// Of the pair: random, chosen by its first primary; 0 of a node that has none yet.
    pub identity: u64,
    /// Highest epoch that the node has promised to follow (of a primary: its own).
    pub epoch: Epoch,
    pub node: u8,
    /// That it holds.
    pub last: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// When a message has come.
    Received = 1,
    /// When it is in the store, and the store was synced.
    Durable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It has promised to follow a later epoch.
    Fenced = 1,
    Identity,
    /// It holds messages that the primary does not have.
    Diverged,
    /// It was asked for durable messages, and its store does not sync.
    NoSync,
    /// The primary does not keep the messages that it needs any more.
    Gone,
    /// It is itself the primary of this epoch or a later one.
    Primary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    Hello {
        greeting: Greeting,
        wants: Wants,
    },
    Join(Greeting),
    Refused {
        reason: Reason,
        /// The epoch that is followed by who says so.
        epoch: Epoch,
    },
    Entry {
        at: Position,
        payload: &'a [u8],
    },
    Beat {
        epoch: Epoch,
        last_sequence: u64,
    },
    Ack {
        epoch: Epoch,
        /// All up to this one have come.
        received: u64,
        /// All up to this one are in its store, which was synced after them.
        durable: u64,
    },
    /// The messages of an earlier reign of this primary from here on are wanted back.
    Fetch {
        from: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error(
        "{0:#010x} does not begin a frame of this format; is this another program or another version?"
    )]
    Magic(u32),
    #[error("the checksum of a frame of {0} bytes is wrong")]
    Checksum(usize),
    #[error("a frame of {length_bytes} bytes cannot be of kind {kind}")]
    Length { length_bytes: usize, kind: u32 },
    #[error("{0} is no value of a field of kind {1}")]
    Value(u64, u32),
}

const HELLO: u32 = 1;
const JOIN: u32 = 2;
const REFUSED: u32 = 3;
const ENTRY: u32 = 4;
const BEAT: u32 = 5;
const ACK: u32 = 6;
const FETCH: u32 = 7;

impl Frame<'_> {
    /// Adds the frame to `bytes`. Allocates only where `bytes` has no room.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.resize(start + HEAD_BYTES, 0);
        let mut put = |words: &[u64]| {
            words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        };
        let kind = match *self {
            Frame::Hello { greeting, wants } => {
                put(&words_of(greeting, wants as u64));
                HELLO
            }
            Frame::Join(greeting) => {
                put(&words_of(greeting, 0));
                JOIN
            }
            Frame::Refused { reason, epoch } => {
                put(&[reason as u64, epoch.bits()]);
                REFUSED
            }
            Frame::Entry { at, payload } => {
                put(&[at.epoch.bits(), at.sequence]);
                bytes.extend_from_slice(payload);
                ENTRY
            }
            Frame::Beat { epoch, last_sequence } => {
                put(&[epoch.bits(), last_sequence]);
                BEAT
            }
            Frame::Ack { epoch, received, durable } => {
                put(&[epoch.bits(), received, durable]);
                ACK
            }
            Frame::Fetch { from } => {
                put(&[from]);
                FETCH
            }
        };
        seal(&mut bytes[start..], kind);
    }

    pub(crate) fn send(&self, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        to.write_all(&bytes)
    }
}

fn seal(frame: &mut [u8], kind: u32) {
    let length = frame.len() as u32;
    frame[..4].copy_from_slice(&MAGIC.to_le_bytes());
    frame[8..12].copy_from_slice(&length.to_le_bytes());
    frame[12..16].copy_from_slice(&kind.to_le_bytes());
    let checksum = crc32c::crc32c(&frame[CHECKED_FROM..]);
    frame[4..8].copy_from_slice(&checksum.to_le_bytes());
}

/// The first frame in `bytes` and its length; `None` while it has not come whole.
pub fn parse(bytes: &[u8]) -> Result<Option<(Frame<'_>, usize)>, Flaw> {
    if bytes.len() < HEAD_BYTES {
        return match bytes.first_chunk::<4>() {
            Some(magic) if *magic != MAGIC.to_le_bytes() => {
                Err(Flaw::Magic(u32::from_le_bytes(*magic)))
            }
            _ => Ok(None),
        };
    }
    let (magic, kind) = (word32(bytes, 0), word32(bytes, 12));
    let length_bytes = word32(bytes, 8) as usize;
    if magic != MAGIC {
        return Err(Flaw::Magic(magic));
    }
    if !has_length(kind, length_bytes) {
        return Err(Flaw::Length { length_bytes, kind });
    }
    let Some(frame) = bytes.get(..length_bytes) else { return Ok(None) };
    if crc32c::crc32c(&frame[CHECKED_FROM..]) != word32(frame, 4) {
        return Err(Flaw::Checksum(length_bytes));
    }
    decode(kind, &frame[HEAD_BYTES..]).map(|frame| Some((frame, length_bytes)))
}

fn has_length(kind: u32, length_bytes: usize) -> bool {
    let body_bytes = match kind {
        HELLO | JOIN => 48,
        REFUSED | BEAT => 16,
        ACK => 24,
        FETCH => 8,
        ENTRY => return (ENTRY_HEAD_BYTES..=FRAME_BYTES_MAX).contains(&length_bytes),
        _ => return false,
    };
    length_bytes == HEAD_BYTES + body_bytes
}

fn decode(kind: u32, body: &[u8]) -> Result<Frame<'_>, Flaw> {
    let word = |index: usize| word64(body, index * 8);
    let epoch = |index: usize| Epoch::from_bits(word(index));
    Ok(match kind {
        HELLO => Frame::Hello { greeting: greeting(body, kind)?, wants: wants(word(5))? },
        JOIN if word(5) == 0 => Frame::Join(greeting(body, kind)?),
        JOIN => return Err(Flaw::Value(word(5), kind)),
        REFUSED => Frame::Refused { reason: reason(word(0))?, epoch: epoch(1) },
        ENTRY => {
            let (at, payload) =
                record(body).ok_or(Flaw::Length { length_bytes: body.len(), kind })?;
            Frame::Entry { at, payload }
        }
        BEAT => Frame::Beat { epoch: epoch(0), last_sequence: word(1) },
        FETCH => Frame::Fetch { from: word(0) },
        _ => Frame::Ack { epoch: epoch(0), received: word(1), durable: word(2) },
    })
}

/// What the store keeps of an entry, taken apart; `None` where it is too short.
pub fn record(bytes: &[u8]) -> Option<(Position, &[u8])> {
    let payload = bytes.get(RECORD_HEAD_BYTES..)?;
    let at = Position { epoch: Epoch::from_bits(word64(bytes, 0)), sequence: word64(bytes, 8) };
    Some((at, payload))
}

fn words_of(greeting: Greeting, wants: u64) -> [u64; 6] {
    let Greeting { identity, epoch, node, last } = greeting;
    [identity, epoch.bits(), u64::from(node), last.epoch.bits(), last.sequence, wants]
}

fn greeting(body: &[u8], kind: u32) -> Result<Greeting, Flaw> {
    let word = |index: usize| word64(body, index * 8);
    let node = u8::try_from(word(2)).map_err(|_| Flaw::Value(word(2), kind))?;
    let last = Position { epoch: Epoch::from_bits(word(3)), sequence: word(4) };
    Ok(Greeting { identity: word(0), epoch: Epoch::from_bits(word(1)), node, last })
}

fn wants(word: u64) -> Result<Wants, Flaw> {
    match word {
        1 => Ok(Wants::Received),
        2 => Ok(Wants::Durable),
        other => Err(Flaw::Value(other, HELLO)),
    }
}

/// From 1 on, as they are declared.
const REASONS: [Reason; 6] = [
    Reason::Fenced,
    Reason::Identity,
    Reason::Diverged,
    Reason::NoSync,
    Reason::Gone,
    Reason::Primary,
];

fn reason(word: u64) -> Result<Reason, Flaw> {
    let at = usize::try_from(word).ok().and_then(|word| word.checked_sub(1));
    at.and_then(|at| REASONS.get(at).copied()).ok_or(Flaw::Value(word, REFUSED))
}

fn word32(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn word64(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

// What has come from a socket and is not yet taken: whole frames are handed out where they stand.

/// It grows up to the longest frame.
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

/// What a peer sent and no peer sends.
pub(crate) fn flawed(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_string())
}

impl Inbox {
    pub(crate) fn new(capacity_bytes: usize) -> Inbox {
        Inbox { bytes: vec![0; capacity_bytes], start: 0, end: 0 }
    }

    /// Once; gives the number of bytes, 0 at the end of the stream.
    pub(crate) fn fill(&mut self, source: &mut (impl Read + ?Sized)) -> io::Result<usize> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.bytes.len() {
            self.make_room();
        }
        let count = source.read(&mut self.bytes[self.end..])?;
        self.end += count;
        Ok(count)
    }

    #[cold]
    fn make_room(&mut self) {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        } else {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
    }

    /// Waits for a whole frame as long as the source does; anything else that comes is an error.
    pub(crate) fn wait(&mut self, source: &mut (impl Read + ?Sized)) -> io::Result<Frame<'_>> {
        while parse(&self.bytes[self.start..self.end]).map_err(flawed)?.is_none() {
            if self.fill(source)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.next().map_err(flawed)?.ok_or(io::ErrorKind::UnexpectedEof.into())
    }

    /// `None`: no whole frame has come.
    pub(crate) fn next(&mut self) -> Result<Option<Frame<'_>>, Flaw> {
        let Some((frame, length)) = parse(&self.bytes[self.start..self.end])? else {
            return Ok(None);
        };
        self.start += length;
        Ok(Some(frame))
    }
}
