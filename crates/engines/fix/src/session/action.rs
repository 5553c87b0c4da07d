use crate::codec::{Encoder, FIX50_SP2, Message, Version, tag};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Our numbers are begun again where the peer's were.
    Logon {
        reset: bool,
    },
    Heartbeat,
    /// Heartbeat with the TestReqID of the message at hand.
    Echo,
    /// TestRequest because nothing came.
    TestRequest,
    ResendRequest {
        from: u64,
    },
    Reject {
        /// SessionRejectReason.
        reason: u64,
        /// RefTagID; 0 where there is none.
        tag: u32,
    },
    Logout(Option<End>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    LoggedOut,
    /// The first message was no Logon, or one that cannot be taken.
    NoLogon,
    Taken,
    /// BeginString is another one.
    Version,
    /// SenderCompID or TargetCompID is another one.
    Identity,
    /// SendingTime is too far from our clock.
    Clock,
    /// MsgSeqNum is not there.
    NoSequence,
    /// MsgSeqNum was used already, and the message does not say it comes again.
    TooLow {
        expected: u64,
        received: u64,
    },
    TooLong,
    Silent,
    Slow,
}

impl End {
    pub fn text(self) -> String {
        match self {
            End::LoggedOut => "logged out".into(),
            End::NoLogon => "the first message must be a Logon".into(),
            End::Taken => "the session is connected already".into(),
            End::Version => "another BeginString than the session has".into(),
            End::Identity => "another SenderCompID or TargetCompID than the session has".into(),
            End::Clock => "SendingTime is too far from the time".into(),
            End::NoSequence => "MsgSeqNum is missing".into(),
            End::TooLow { expected, received } => {
                format!("MsgSeqNum too low, expecting {expected} but received {received}")
            }
            End::TooLong => "the message is too long".into(),
            End::Silent => "no answer to a TestRequest".into(),
            End::Slow => "too much is waiting to be read".into(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Both sequence numbers were begun again: the store must know.
    Reset,
    Keep,
    Deliver,
    Send(Reply),
    Resend {
        from: u64,
        to: u64,
    },
    /// Send what is waiting first.
    Disconnect(End),
}

/// The most that one message causes.
const ACTIONS_MAX: usize = 5;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Actions {
    actions: [Option<Action>; ACTIONS_MAX],
}

impl Actions {
    pub fn none() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn then(mut self, action: Action) -> Self {
        if let Some(free) = self.actions.iter_mut().find(|action| action.is_none()) {
            *free = Some(action);
        }
        self
    }

    #[must_use]
    pub fn send(self, reply: Reply) -> Self {
        self.then(Action::Send(reply))
    }

    #[must_use]
    pub fn reject(self, reason: u64, tag: u32) -> Self {
        self.send(Reply::Reject { reason, tag })
    }

    pub fn iter(&self) -> impl Iterator<Item = Action> + use<> {
        self.actions.into_iter().flatten()
    }
}

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
