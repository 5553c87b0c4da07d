use super::action::Reply;
use crate::codec::{Encoder, FIX50_SP2, Message, Version, tag};

impl Reply {
    pub fn msg_type(self) -> &'static [u8] {
        match self {
            Reply::Logon { .. } => b"A",
            Reply::Heartbeat | Reply::Echo => b"0",
            Reply::TestRequest => b"1",
            Reply::ResendRequest { .. } => b"2",
            Reply::Reject { .. } => b"3",
            Reply::Logout(_) => b"5",
        }
    }

    /// `at_hand` is the message that caused it.
    pub fn fill(
        self,
        message: &mut Encoder,
        at_hand: Option<&Message<'_>>,
        heartbeat_s: u64,
        version: Version,
    ) {
        match self {
            Reply::Logon { reset } => {
                message.uint(tag::ENCRYPT_METHOD, 0).uint(tag::HEART_BT_INT, heartbeat_s);
                if reset {
                    message.bytes(tag::RESET_SEQ_NUM_FLAG, b"Y");
                }
                if version == Version::Fixt11 {
                    message.bytes(tag::DEFAULT_APPL_VER_ID, FIX50_SP2);
                }
            }
            Reply::Heartbeat => {}
            Reply::Echo => {
                let id = at_hand.and_then(|message| message.get(tag::TEST_REQ_ID));
                message.bytes(tag::TEST_REQ_ID, id.unwrap_or(b"?"));
            }
            Reply::TestRequest => {
                message.text(tag::TEST_REQ_ID, "still there?");
            }
            Reply::ResendRequest { from } => {
                message.uint(tag::BEGIN_SEQ_NO, from).uint(tag::END_SEQ_NO, 0);
            }
            Reply::Reject { reason, tag } => fill_reject(message, at_hand, reason, tag),
            Reply::Logout(end) => {
                if let Some(end) = end {
                    message.text(tag::TEXT, &end.text());
                }
            }
        }
    }
}

fn fill_reject(message: &mut Encoder, at_hand: Option<&Message<'_>>, reason: u64, tag: u32) {
    if let Some(refused) = at_hand {
        message.uint(tag::REF_SEQ_NUM, refused.header.sequence.unwrap_or(0));
        message.bytes(tag::REF_MSG_TYPE, refused.header.msg_type);
    }
    if tag > 0 {
        message.uint(tag::REF_TAG_ID, u64::from(tag));
    }
    message.uint(tag::SESSION_REJECT_REASON, reason);
}
