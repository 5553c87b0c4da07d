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
