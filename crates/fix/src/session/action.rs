//! What a session wants done.

/// An administrative message to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Logon, with our numbers begun again where the peer's were.
    Logon {
        /// ResetSeqNumFlag.
        reset: bool,
    },
    /// Heartbeat because nothing else was sent.
    Heartbeat,
    /// Heartbeat with the TestReqID of the message at hand.
    Echo,
    /// TestRequest because nothing came.
    TestRequest,
    /// ResendRequest for everything from this number on.
    ResendRequest {
        /// BeginSeqNo.
        from: u64,
    },
    /// Reject of the message at hand.
    Reject {
        /// SessionRejectReason.
        reason: u64,
        /// RefTagID; 0 where there is none.
        tag: u32,
    },
    /// Logout, with a reason where there is one.
    Logout(Option<End>),
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Both have said Logout.
    LoggedOut,
    /// The first message was no Logon, or one that cannot be taken.
    NoLogon,
    /// The session has a connection already.
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
        /// What would have been right.
        expected: u64,
        /// What came.
        received: u64,
    },
    /// A message is longer than the limit.
    TooLong,
    /// The peer does not answer.
    Silent,
    /// The peer does not read.
    Slow,
}

impl End {
    /// As it stands in the Text of a Logout.
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

/// One thing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Both sequence numbers were begun again: the store must know.
    Reset,
    /// Keep the message at hand as one that came in.
    Keep,
    /// Hand the message at hand to the business.
    Deliver,
    /// Send an administrative message.
    Send(Reply),
    /// Send again what was sent.
    Resend {
        /// First number.
        from: u64,
        /// Last number.
        to: u64,
    },
    /// Send what is waiting, then end the connection.
    Disconnect(End),
}

/// The most that one message causes.
const ACTIONS_MAX: usize = 5;

/// Things to do, in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Actions {
    actions: [Option<Action>; ACTIONS_MAX],
}

impl Actions {
    /// Nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// And then this.
    #[must_use]
    pub fn then(mut self, action: Action) -> Self {
        if let Some(free) = self.actions.iter_mut().find(|action| action.is_none()) {
            *free = Some(action);
        }
        self
    }

    /// And then this message.
    #[must_use]
    pub fn send(self, reply: Reply) -> Self {
        self.then(Action::Send(reply))
    }

    /// In their order.
    pub fn iter(&self) -> impl Iterator<Item = Action> + use<> {
        self.actions.into_iter().flatten()
    }
}
