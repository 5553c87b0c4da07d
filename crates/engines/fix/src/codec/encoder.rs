//! Writes one message into a buffer that is used again and again: no allocation once it has grown.

use super::decimal::{Decimal, digits};
use super::frame::{SOH, checksum};
use super::header::Version;
use super::tag;
use super::time::{UtcTime, utc_text};

/// Room before the body: `8=FIXT.1.1|9=NNNNNNNNN|`.
const HEAD_BYTES: usize = 32;

/// Begin a message, add fields, finish it. The head is written last, backwards, when the length is known.
#[derive(Debug, Clone)]
pub struct Encoder {
    buffer: Vec<u8>,
    version: Version,
    /// A millisecond, and how it is written: most messages have one twice.
    time: (u64, [u8; 21]),
}

impl Default for Encoder {
    fn default() -> Self {
        let time = (0, utc_text(0));
        Encoder { buffer: Vec::with_capacity(4096), version: Version::Fix44, time }
    }
}

impl Encoder {
    /// What was there before is gone.
    #[inline]
    pub fn begin(&mut self, version: Version, msg_type: &[u8]) -> &mut Self {
        self.version = version;
        self.buffer.clear();
        self.buffer.resize(HEAD_BYTES, 0);
        self.bytes(tag::MSG_TYPE, msg_type)
    }

    /// A field of bytes. It must hold no SOH, unless a length field announced it.
    #[inline]
    pub fn bytes(&mut self, tag: u32, value: &[u8]) -> &mut Self {
        self.tag(tag);
        self.buffer.extend_from_slice(value);
        self.buffer.push(SOH);
        self
    }

    #[inline]
    pub fn text(&mut self, tag: u32, value: &str) -> &mut Self {
        self.bytes(tag, value.as_bytes())
    }

    #[inline]
    pub fn uint(&mut self, tag: u32, value: u64) -> &mut Self {
        let mut text = [0; 20];
        let at = digits(&mut text, 20, value, 1);
        self.bytes(tag, &text[at..])
    }

    #[inline]
    pub fn decimal(&mut self, tag: u32, value: Decimal) -> &mut Self {
        let mut text = [0; 24];
        let bytes = value.write(&mut text);
        self.bytes(tag, &text[..bytes])
    }

    #[inline]
    pub fn time(&mut self, tag: u32, time_ns: UtcTime) -> &mut Self {
        let time_ms = time_ns / 1_000_000;
        if self.time.0 != time_ms {
            self.time = (time_ms, utc_text(time_ns));
        }
        let text = self.time.1;
        self.bytes(tag, &text)
    }

    /// Encoded already, each with its SOH.
    #[inline]
    pub fn raw(&mut self, fields: &[u8]) -> &mut Self {
        self.buffer.extend_from_slice(fields);
        self
    }

    #[inline]
    fn tag(&mut self, tag: u32) {
        let mut text = [0; 11];
        text[10] = b'=';
        let at = digits(&mut text, 10, u64::from(tag), 1);
        self.buffer.extend_from_slice(&text[at..]);
    }

    #[inline]
    pub fn finish(&mut self) -> &[u8] {
        let at = self.write_head();
        let sum = checksum(&self.buffer[at..]);
        let mut trailer = *b"10=000\x01";
        digits(&mut trailer, 6, u64::from(sum), 3);
        self.buffer.extend_from_slice(&trailer);
        &self.buffer[at..]
    }

    /// `8=...|9=...|` so that it ends where the body begins; gives where it begins.
    fn write_head(&mut self) -> usize {
        let body_bytes = (self.buffer.len() - HEAD_BYTES) as u64;
        let head = &mut self.buffer[..HEAD_BYTES];
        head[HEAD_BYTES - 1] = SOH;
        let mut at = digits(head, HEAD_BYTES - 1, body_bytes, 1);
        for part in [&b"\x019="[..], self.version.text().as_bytes(), b"8="] {
            at -= part.len();
            head[at..at + part.len()].copy_from_slice(part);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Frame, Message, frame};
    use super::*;

    #[test]
    fn what_is_written_is_whole_and_says_the_same() {
        let mut encoder = Encoder::default();
        for version in Version::ALL {
            encoder.begin(version, b"D").uint(tag::MSG_SEQ_NUM, 7).text(tag::SENDER_COMP_ID, "ME");
            encoder.time(tag::SENDING_TIME, 1_623_663_000_000_000_000);
            encoder.decimal(tag::PRICE, Decimal::parse(b"7.25").unwrap());
            let bytes = encoder.finish().to_vec();
            assert_eq!(frame(&bytes, 4096), Frame::Whole { bytes: bytes.len() });
            let message = Message::parse(&bytes).unwrap();
            assert_eq!(message.header.version, Some(version));
            assert_eq!(message.header.sequence, Some(7));
            assert_eq!(message.header.sending_time, Some(1_623_663_000_000_000_000));
            assert_eq!(message.get(tag::PRICE), Some(&b"7.25"[..]));
            assert_eq!(message.get(tag::SYMBOL), None);
        }
    }
}
