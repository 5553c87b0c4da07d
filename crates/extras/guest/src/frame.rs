//! Frames: how the lab and the inside of a guest talk over one byte stream, a serial line or a
//! pipe, on which the guest's kernel may have printed something first.
//!
//! ```text
//! 0       4        5       6       8          12      16
//! | magic | stream | zero  | lane  | length   | crc   | payload ...
//!   PKF1    u8       u8      u16     u32        u32     `length` bytes; numbers little-endian
//! ```
//!
//! The checksum is CRC-32C over the header without magic and checksum, then the payload. Bytes before the
//! first frame are the console's; anything but a frame after one is an error, never skipped.

use std::io::{self, Read, Write};

use thiserror::Error;

const MAGIC: [u8; 4] = *b"PKF1";
const HEADER_BYTES: usize = 16;
/// Histograms of a trial are far below it.
pub const PAYLOAD_BYTES_MAX: u32 = 64 << 20;
/// Console text before the first frame that is kept.
const STRAY_BYTES_MAX: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Agent,
    /// Standard input or output of a lane: one line.
    Words,
    /// Standard error of a lane: one line.
    Errors,
}

impl Stream {
    fn number(self) -> u8 {
        match self {
            Stream::Agent => 0,
            Stream::Words => 1,
            Stream::Errors => 2,
        }
    }

    fn of(number: u8) -> Option<Stream> {
        [Stream::Agent, Stream::Words, Stream::Errors].into_iter().find(|s| s.number() == number)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub stream: Stream,
    /// 0 for the agent.
    pub lane: u16,
    pub payload: Vec<u8>,
}

#[derive(Debug, Error)]
pub enum FrameError {
    #[error("the guest's stream cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("{found:02x?} in the guest's stream where a frame should begin")]
    NoFrame { found: [u8; 4] },
    #[error("a frame of stream {stream} with {length} bytes in the guest's stream")]
    Malformed { stream: u8, length: u32 },
    #[error(
        "a frame of {length} bytes came with checksum {found:08x}, its bytes have {expected:08x}"
    )]
    Checksum { length: u32, found: u32, expected: u32 },
}

impl Frame {
    pub fn agent(payload: Vec<u8>) -> Frame {
        Frame { stream: Stream::Agent, lane: 0, payload }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&MAGIC);
        header[4] = self.stream.number();
        header[6..8].copy_from_slice(&self.lane.to_le_bytes());
        header[8..12].copy_from_slice(&(self.payload.len() as u32).to_le_bytes());
        let sum = checksum(&header, &self.payload);
        header[12..].copy_from_slice(&sum.to_le_bytes());
        [header.as_slice(), &self.payload].concat()
    }

    pub fn write_to(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.to_bytes()).and_then(|()| to.flush())
    }
}

fn checksum(header: &[u8; HEADER_BYTES], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[4..12]), payload)
}

#[derive(Debug)]
pub struct FrameReader<R> {
    from: R,
    stray: Vec<u8>,
    begun: bool,
}

impl<R: Read> FrameReader<R> {
    pub fn new(from: R) -> Self {
        Self { from, stray: Vec::new(), begun: false }
    }

    /// What stood before the first frame.
    pub fn stray(&self) -> String {
        String::from_utf8_lossy(&self.stray).into_owned()
    }

    /// `None` at the end of the stream, even in the middle of a frame: who wrote it is dead. After
    /// an error the stream is of no use.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        if !self.find_magic()? {
            return Ok(None);
        }
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&MAGIC);
        if !fill(&mut self.from, &mut header[4..])? {
            return Ok(None);
        }
        let number = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (length, found) = (number(8), number(12));
        let stream = Stream::of(header[4]).filter(|_| length <= PAYLOAD_BYTES_MAX);
        let stream = stream.ok_or(FrameError::Malformed { stream: header[4], length })?;
        let mut payload = vec![0; length as usize];
        if !fill(&mut self.from, &mut payload)? {
            return Ok(None);
        }
        let expected = checksum(&header, &payload);
        if found != expected {
            return Err(FrameError::Checksum { length, found, expected });
        }
        let lane = u16::from_le_bytes([header[6], header[7]]);
        Ok(Some(Frame { stream, lane, payload }))
    }

    fn find_magic(&mut self) -> Result<bool, FrameError> {
        let mut window = [0; 4];
        if !fill(&mut self.from, &mut window)? {
            return Ok(false);
        }
        while window != MAGIC {
            if self.begun {
                return Err(FrameError::NoFrame { found: window });
            }
            if self.stray.len() < STRAY_BYTES_MAX {
                self.stray.push(window[0]);
            }
            window.rotate_left(1);
            if !fill(&mut self.from, &mut window[3..])? {
                return Ok(false);
            }
        }
        self.begun = true;
        Ok(true)
    }
}

fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        // A serial line whose other end is gone (tty_ioctl(4), hang-up).
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(lane: u16, text: &str) -> Frame {
        Frame { stream: Stream::Words, lane, payload: text.as_bytes().to_vec() }
    }

    fn all(bytes: &[u8]) -> Result<Vec<Frame>, FrameError> {
        let mut reader = FrameReader::new(bytes);
        let mut frames = Vec::new();
        while let Some(frame) = reader.next_frame()? {
            frames.push(frame);
        }
        Ok(frames)
    }

    #[test]
    fn frames_come_back_as_they_were_sent() {
        let sent = [words(3, "hello"), Frame::agent(Vec::new()), words(u16::MAX, "PKF1PKF1")];
        let bytes: Vec<u8> = sent.iter().flat_map(Frame::to_bytes).collect();
        assert_eq!(all(&bytes).unwrap(), sent);
    }

    #[test]
    fn what_the_kernel_printed_first_is_kept_and_no_frame() {
        let bytes =
            [b"Core dump limits\nPKPKF1".as_slice(), &words(1, "x").to_bytes()[4..]].concat();
        let mut reader = FrameReader::new(bytes.as_slice());
        assert_eq!(reader.next_frame().unwrap(), Some(words(1, "x")));
        assert_eq!(reader.stray(), "Core dump limits\nPK");
    }

    #[test]
    fn anything_between_frames_is_an_error() {
        let bytes = [words(1, "x").to_bytes(), b"printk: lost".to_vec()].concat();
        assert!(matches!(all(&bytes), Err(FrameError::NoFrame { found }) if &found == b"prin"));
    }

    #[test]
    fn each_flipped_bit_is_seen() {
        let bytes = words(2, "some words").to_bytes();
        for at in 4 * 8..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            // A longer length runs into the end of the stream; all else is told.
            let got = all(&flipped);
            assert!(got.is_err() || got.as_ref().is_ok_and(Vec::is_empty), "bit {at}: {got:?}");
        }
    }

    #[test]
    fn a_cut_frame_is_the_end() {
        let bytes = words(2, "some words").to_bytes();
        for length in 0..bytes.len() {
            assert_eq!(all(&bytes[..length]).unwrap(), []);
        }
    }
}
