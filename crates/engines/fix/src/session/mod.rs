//! One FIX session as a state machine: messages and time go in, [`Action`]s come out.
//!
//! It sends nothing and keeps nothing itself; the engine carries actions out in their order. So every rule is tested
//! without a socket. The rules are those of the session layer of FIX 4.4 (volume 2) and FIXT 1.1.

use crate::codec::{Encoder, Message, Version, tag};

pub use action::{Action, Actions, End, Reply};
pub use machine::{Phase, Session};

mod action;
mod machine;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Names<'a> {
    pub version: Version,
    pub us: &'a [u8],
    pub peer: &'a [u8],
}

impl Names<'_> {
    #[inline]
    pub fn begin<'e>(
        &self,
        encoder: &'e mut Encoder,
        msg_type: &[u8],
        sequence: u64,
        utc_ns: u64,
    ) -> &'e mut Encoder {
        let message = encoder.begin(self.version, msg_type);
        message.bytes(tag::SENDER_COMP_ID, self.us).bytes(tag::TARGET_COMP_ID, self.peer);
        message.uint(tag::MSG_SEQ_NUM, sequence).time(tag::SENDING_TIME, utc_ns)
    }

    pub fn again<'e>(&self, encoder: &'e mut Encoder, sent: &Message<'_>, utc_ns: u64) -> &'e [u8] {
        let sequence = sent.header.sequence.unwrap_or(0);
        let message = self.begin(encoder, sent.header.msg_type, sequence, utc_ns);
        message.bytes(tag::POSS_DUP_FLAG, b"Y");
        message.time(tag::ORIG_SENDING_TIME, sent.header.sending_time.unwrap_or(utc_ns));
        message.raw(sent.body_bytes()).finish()
    }

    /// Numbers that nobody needs again.
    pub fn gap_fill<'e>(
        &self,
        encoder: &'e mut Encoder,
        sequence: u64,
        next: u64,
        utc_ns: u64,
    ) -> &'e [u8] {
        let message = self.begin(encoder, b"4", sequence, utc_ns);
        message.bytes(tag::POSS_DUP_FLAG, b"Y").time(tag::ORIG_SENDING_TIME, utc_ns);
        message.bytes(tag::GAP_FILL_FLAG, b"Y").uint(tag::NEW_SEQ_NO, next).finish()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Acceptor,
    Initiator,
}

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// For a Logon on a new connection, and for the answer to a Logout.
    pub patience_ns: u64,
    /// How far SendingTime may be from our clock; 0 does not look.
    pub clock_tolerance_ns: u64,
    /// For a gap to be filled, before it is asked for again.
    pub gap_ns: u64,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            patience_ns: 10 * SECOND_NS,
            clock_tolerance_ns: 120 * SECOND_NS,
            gap_ns: 5 * SECOND_NS,
        }
    }
}
