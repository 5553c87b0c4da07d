//! Where one message ends and the next begins, in bytes as they come from a socket.
//!
//! ```text
//! 8=FIX.4.4|9=65|35=A|...|10=178|        | is SOH, the byte 0x01
//! └─ head ─────┘└─ 65 ──┘└ sum ─┘
//! ```
//!
//! A message whose head, length or checksum is wrong is garbled: by the rules of the session layer it is
//! ignored, and its number is asked for again when the next one shows the gap.

pub(crate) const SOH: u8 = 1;
const TRAILER_BYTES: usize = 7;
/// Longest BeginString field with `8=` and SOH, and some to spare.
const BEGIN_BYTES_MAX: usize = 16;
/// Digits of a body length: more cannot be meant.
const LENGTH_DIGITS_MAX: usize = 9;
const START: &[u8] = b"8=FIX";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// Its length and checksum are right.
    Whole {
        /// From its `8=` to the SOH behind its checksum.
        bytes: usize,
    },
    Partial,
    Garbled {
        /// Before the next possible beginning; at least one.
        skip_bytes: usize,
        why: Garbled,
    },
    /// It says it is longer than the limit. What follows in the stream cannot be trusted.
    TooLong {
        bytes: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbled {
    /// No `8=FIX` at the beginning.
    Start,
    /// `9=` and a number do not follow BeginString.
    Length,
    /// No `10=` stands where the body length says.
    Trailer,
    Checksum,
}

/// Messages over `limit_bytes` are refused.
pub fn frame(buffer: &[u8], limit_bytes: usize) -> Frame {
    if !buffer.starts_with(START) {
        let is_beginning = START.starts_with(buffer);
        return if is_beginning { Frame::Partial } else { garbled(buffer, Garbled::Start) };
    }
    let Some(begin_bytes) = field_end(buffer, BEGIN_BYTES_MAX) else {
        return partial_or(buffer, BEGIN_BYTES_MAX, Garbled::Start);
    };
    let rest = &buffer[begin_bytes..];
    let Some(length_bytes) = field_end(rest, 3 + LENGTH_DIGITS_MAX) else {
        return partial_or(rest, 3 + LENGTH_DIGITS_MAX, Garbled::Length).of(buffer);
    };
    let Some(body_bytes) = body_length(&rest[..length_bytes]) else {
        return garbled(buffer, Garbled::Length);
    };
    whole(buffer, begin_bytes + length_bytes, body_bytes, limit_bytes)
}

fn whole(buffer: &[u8], head_bytes: usize, body_bytes: usize, limit_bytes: usize) -> Frame {
    let bytes = head_bytes + body_bytes + TRAILER_BYTES;
    if bytes > limit_bytes {
        return Frame::TooLong { bytes };
    }
    if buffer.len() < bytes {
        return Frame::Partial;
    }
    let trailer_at = bytes - TRAILER_BYTES;
    let told = told_checksum(&buffer[trailer_at..bytes]);
    match told {
        Some(_) if body_bytes == 0 || buffer[trailer_at - 1] != SOH => {
            garbled(buffer, Garbled::Trailer)
        }
        Some(told) if told == checksum(&buffer[..trailer_at]) => Frame::Whole { bytes },
        Some(_) => Frame::Garbled { skip_bytes: bytes, why: Garbled::Checksum },
        None => garbled(buffer, Garbled::Trailer),
    }
}

impl Frame {
    /// The same finding, with what is to be skipped counted in the whole buffer.
    fn of(self, buffer: &[u8]) -> Frame {
        match self {
            Frame::Garbled { why, .. } => garbled(buffer, why),
            other => other,
        }
    }
}

/// Modulo 256.
pub fn checksum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte))
}

/// The length of the first field with its SOH, if it ends within `bytes_max`.
fn field_end(buffer: &[u8], bytes_max: usize) -> Option<usize> {
    let seen = &buffer[..buffer.len().min(bytes_max)];
    seen.iter().position(|byte| *byte == SOH).map(|at| at + 1)
}

fn partial_or(buffer: &[u8], bytes_max: usize, why: Garbled) -> Frame {
    if buffer.len() < bytes_max { Frame::Partial } else { garbled(buffer, why) }
}

fn body_length(field: &[u8]) -> Option<usize> {
    let digits = field.strip_prefix(b"9=")?.strip_suffix(&[SOH])?;
    usize::try_from(super::fields::uint(digits)?).ok()
}

fn told_checksum(trailer: &[u8]) -> Option<u8> {
    let digits = trailer.strip_prefix(b"10=")?.strip_suffix(&[SOH])?;
    u8::try_from(super::fields::uint(digits)?).ok()
}

#[cold]
fn garbled(buffer: &[u8], why: Garbled) -> Frame {
    let next = (1..buffer.len()).find(|at| {
        let rest = &buffer[*at..];
        rest.starts_with(START) || START.starts_with(rest)
    });
    Frame::Garbled { skip_bytes: next.unwrap_or(buffer.len()), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGON: &[u8] = b"8=FIX.4.4\x019=5\x0135=0\x0110=163\x01";

    #[test]
    fn a_whole_message_is_found_and_every_beginning_of_it_waits() {
        assert_eq!(frame(LOGON, 100), Frame::Whole { bytes: LOGON.len() });
        for bytes in 0..LOGON.len() {
            assert_eq!(frame(&LOGON[..bytes], 100), Frame::Partial, "{bytes}");
        }
    }

    #[test]
    fn what_is_garbled_is_named_and_the_next_beginning_is_found() {
        let mut wrong_sum = LOGON.to_vec();
        wrong_sum[LOGON.len() - 2] = b'7';
        let why = Garbled::Checksum;
        assert_eq!(frame(&wrong_sum, 100), Frame::Garbled { skip_bytes: LOGON.len(), why });

        let junk = [b"hello ", LOGON].concat();
        assert_eq!(frame(&junk, 100), Frame::Garbled { skip_bytes: 6, why: Garbled::Start });

        let short = [&b"8=FIX.4.4\x019=4\x0135=0\x0110=163\x01"[..], LOGON].concat();
        let skip_bytes = LOGON.len();
        assert_eq!(frame(&short, 100), Frame::Garbled { skip_bytes, why: Garbled::Trailer });

        let no_length = [&b"8=FIX.4.4\x0135=0\x01"[..], LOGON].concat();
        assert_eq!(frame(&no_length, 100), Frame::Garbled { skip_bytes: 15, why: Garbled::Length });
    }

    #[test]
    fn a_length_over_the_limit_is_refused_before_the_bytes_are_there() {
        let claim = b"8=FIX.4.4\x019=999999999\x01";
        assert_eq!(frame(claim, 4096), Frame::TooLong { bytes: 999_999_999 + 22 + 7 });
        let endless = b"8=FIX.4.4\x019=99999999999999";
        assert!(matches!(frame(endless, 4096), Frame::Garbled { why: Garbled::Length, .. }));
    }
}
