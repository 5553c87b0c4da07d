use super::action::{Action, Actions, End, Reply};
use super::{Role, Timing};
use crate::codec::{Header, Kind, Message, Version, tag};
use crate::market::Refused;
use crate::market::{TAG_MISSING, VALUE_INCORRECT};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// There is no connection, or no Logon on it yet.
    Out,
    LogonSent,
    In,
    LogoutSent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gap {
    /// The highest number that came too early.
    seen: u64,
    asked_ns: u64,
}

/// Times are nanoseconds on a clock that never goes back, but SendingTime's.
#[derive(Debug, Clone)]
pub struct Session {
    pub(super) role: Role,
    timing: Timing,
    pub(super) phase: Phase,
    pub(super) next_in: u64,
    pub(super) next_out: u64,
    pub(super) heartbeat_ns: u64,
    heard_ns: u64,
    said_ns: u64,
    is_tested: bool,
    gap: Option<Gap>,
}

impl Session {
    pub fn new(role: Role, timing: Timing) -> Self {
        Session {
            role,
            timing,
            phase: Phase::Out,
            next_in: 1,
            next_out: 1,
            heartbeat_ns: 30_000_000_000,
            heard_ns: 0,
            said_ns: 0,
            is_tested: false,
            gap: None,
        }
    }

    pub fn next_in(&self) -> u64 {
        self.next_in
    }

    pub fn next_out(&self) -> u64 {
        self.next_out
    }

    pub fn go_on(&mut self, next_in: Option<u64>, next_out: Option<u64>) {
        self.next_in = next_in.unwrap_or(self.next_in);
        self.next_out = next_out.unwrap_or(self.next_out);
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Told by an initiator, and taken over by an acceptor.
    pub fn heartbeat_s(&self) -> u64 {
        self.heartbeat_ns / 1_000_000_000
    }

    pub fn beat_every(&mut self, seconds: u64) {
        self.heartbeat_ns = seconds * 1_000_000_000;
    }

    #[inline]
    pub fn take_number(&mut self, now_ns: u64) -> u64 {
        self.said_ns = now_ns;
        self.next_out += 1;
        self.next_out - 1
    }

    pub fn connected(&mut self, now_ns: u64) -> Actions {
        (self.heard_ns, self.said_ns, self.is_tested, self.gap) = (now_ns, now_ns, false, None);
        match self.role {
            Role::Acceptor => Actions::none(),
            Role::Initiator => {
                self.phase = Phase::LogonSent;
                Actions::none().send(Reply::Logon { reset: false })
            }
        }
    }

    pub fn disconnected(&mut self) {
        (self.phase, self.gap) = (Phase::Out, None);
    }

    pub fn log_out(&mut self, now_ns: u64) -> Actions {
        if self.phase != Phase::In {
            return Actions::none().then(Action::Disconnect(End::LoggedOut));
        }
        self.phase = Phase::LogoutSent;
        self.heard_ns = now_ns;
        Actions::none().send(Reply::Logout(None))
    }

    /// Its frame was right. `utc_ns` is our time of day.
    pub fn received(&mut self, message: &Message<'_>, now_ns: u64, utc_ns: u64) -> Actions {
        (self.heard_ns, self.is_tested) = (now_ns, false);
        let header = &message.header;
        let Some(sequence) = header.sequence else { return self.end(End::NoSequence) };
        let is_logging_on = header.kind == Kind::Logon;
        if !is_logging_on && matches!(self.phase, Phase::Out | Phase::LogonSent) {
            return self.hang_up(End::NoLogon);
        }
        if self.is_off_the_clock(header, utc_ns) {
            return self.refuse_and_end(sequence, End::Clock);
        }
        if is_logging_on {
            return self.logon(message, sequence, now_ns);
        }
        if header.kind == Kind::SequenceReset && !message.is_set(tag::GAP_FILL_FLAG) {
            // In its reset mode its own number does not count.
            return match self.reset_to(message, self.next_in) {
                Ok(()) => Actions::none().then(Action::Keep),
                Err(Refused { reason, tag }) => Actions::none().reject(reason, tag),
            };
        }
        match sequence.cmp(&self.next_in) {
            std::cmp::Ordering::Less => self.too_low(header, sequence),
            std::cmp::Ordering::Greater => self.too_high(message, sequence, now_ns),
            std::cmp::Ordering::Equal => self.in_turn(message, sequence),
        }
    }

    fn is_off_the_clock(&self, header: &Header<'_>, utc_ns: u64) -> bool {
        let tolerance_ns = self.timing.clock_tolerance_ns;
        match header.sending_time {
            _ if tolerance_ns == 0 => false,
            Some(time_ns) => time_ns.abs_diff(utc_ns) > tolerance_ns,
            None => true,
        }
    }

    pub(super) fn end(&mut self, end: End) -> Actions {
        self.phase = Phase::LogoutSent;
        Actions::none().send(Reply::Logout(Some(end))).then(Action::Disconnect(end))
    }

    /// Without a word: the peer has not said who it is.
    pub(super) fn hang_up(&mut self, end: End) -> Actions {
        Actions::none().then(Action::Disconnect(end))
    }

    pub fn wrong_identity(&mut self, message: &Message<'_>) -> Actions {
        match message.header.sequence {
            Some(sequence) => self.refuse_and_end(sequence, End::Identity),
            None => self.end(End::Identity),
        }
    }

    /// Reject with the reason that the rules name, Logout, and out.
    fn refuse_and_end(&mut self, sequence: u64, end: End) -> Actions {
        let reason = if end == End::Clock { CLOCK } else { COMP_ID };
        let actions = Actions::none();
        if self.phase == Phase::Out || self.phase == Phase::LogonSent {
            return self.hang_up(end);
        }
        let is_in_turn = sequence == self.next_in;
        self.next_in += u64::from(is_in_turn);
        let actions = if is_in_turn { actions.then(Action::Keep) } else { actions };
        self.phase = Phase::LogoutSent;
        actions.reject(reason, 0).send(Reply::Logout(Some(end))).then(Action::Disconnect(end))
    }

    pub(super) fn too_low(&mut self, header: &Header<'_>, sequence: u64) -> Actions {
        if !header.is_poss_dup {
            return self.end(End::TooLow { expected: self.next_in, received: sequence });
        }
        match (header.orig_sending_time, header.sending_time) {
            (None, _) => Actions::none().reject(TAG_MISSING, tag::ORIG_SENDING_TIME),
            (Some(first_ns), Some(again_ns)) if first_ns > again_ns => self.end(End::Clock),
            _ => Actions::none(),
        }
    }

    /// Something is missing before it. What came too early is let go: it comes again with the rest.
    fn too_high(&mut self, message: &Message<'_>, sequence: u64, now_ns: u64) -> Actions {
        match message.header.kind {
            // Both sides may have a gap: who does not serve first would wait for ever.
            Kind::ResendRequest => {
                let served = self.resend(message, Actions::none());
                self.ask_for_gap(sequence, now_ns, served)
            }
            Kind::Logout => self.peer_logs_out(Actions::none()),
            _ => self.ask_for_gap(sequence, now_ns, Actions::none()),
        }
    }

    pub(super) fn ask_for_gap(&mut self, sequence: u64, now_ns: u64, actions: Actions) -> Actions {
        match &mut self.gap {
            Some(gap) => {
                gap.seen = gap.seen.max(sequence);
                actions
            }
            None => {
                self.gap = Some(Gap { seen: sequence, asked_ns: now_ns });
                actions.send(Reply::ResendRequest { from: self.next_in })
            }
        }
    }

    /// The number that comes next is given up to, but without, `next`.
    pub(super) fn expect(&mut self, next: u64) {
        self.next_in = next;
        self.gap = self.gap.filter(|gap| gap.seen >= next);
    }

    fn in_turn(&mut self, message: &Message<'_>, sequence: u64) -> Actions {
        self.expect(sequence + 1);
        let kept = Actions::none().then(Action::Keep);
        if let Some(refused) = refused(message) {
            return kept.send(refused);
        }
        match message.header.kind {
            Kind::Heartbeat | Kind::Reject | Kind::Logon => kept,
            Kind::TestRequest => kept.send(Reply::Echo),
            Kind::ResendRequest => self.resend(message, kept),
            Kind::SequenceReset => match self.reset_to(message, sequence + 1) {
                Ok(()) => kept,
                Err(Refused { reason, tag }) => kept.reject(reason, tag),
            },
            Kind::Logout => self.peer_logs_out(kept),
            _ => kept.then(Action::Deliver),
        }
    }

    fn resend(&mut self, message: &Message<'_>, actions: Actions) -> Actions {
        let (from, to) = (message.get_uint(tag::BEGIN_SEQ_NO), message.get_uint(tag::END_SEQ_NO));
        let (Some(from), Some(to)) = (from, to) else {
            let tag = if from.is_none() { tag::BEGIN_SEQ_NO } else { tag::END_SEQ_NO };
            return actions.reject(TAG_MISSING, tag);
        };
        let last = self.next_out - 1;
        let to = if to == 0 || to > last { last } else { to };
        match from {
            0 => actions.reject(VALUE_INCORRECT, tag::BEGIN_SEQ_NO),
            from if from > to => actions,
            from => actions.then(Action::Resend { from, to }),
        }
    }

    /// The next number that the peer names, where it is at least this one.
    fn reset_to(&mut self, message: &Message<'_>, least: u64) -> Result<(), Refused> {
        let tag = tag::NEW_SEQ_NO;
        match message.get_uint(tag) {
            Some(next) if next >= least => {
                self.expect(next);
                Ok(())
            }
            Some(_) => Err(Refused { reason: VALUE_INCORRECT, tag }),
            None => Err(Refused { reason: TAG_MISSING, tag }),
        }
    }

    fn peer_logs_out(&mut self, actions: Actions) -> Actions {
        let is_answer = self.phase == Phase::LogoutSent;
        self.phase = Phase::LogoutSent;
        let actions = if is_answer { actions } else { actions.send(Reply::Logout(None)) };
        actions.then(Action::Disconnect(End::LoggedOut))
    }

    pub fn tick(&mut self, now_ns: u64) -> Actions {
        let silent_ns = now_ns.saturating_sub(self.heard_ns);
        match self.phase {
            Phase::Out | Phase::LogonSent | Phase::LogoutSent => {
                match silent_ns > self.timing.patience_ns {
                    true => self.hang_up(End::Silent),
                    false => Actions::none(),
                }
            }
            Phase::In => self.beat(silent_ns, now_ns),
        }
    }

    fn beat(&mut self, silent_ns: u64, now_ns: u64) -> Actions {
        let actions = self.ask_again(now_ns);
        if self.heartbeat_ns == 0 {
            return actions;
        }
        if self.is_tested && silent_ns > self.heartbeat_ns * 12 / 5 {
            return self.end(End::Silent);
        }
        if !self.is_tested && silent_ns > self.heartbeat_ns * 6 / 5 {
            self.is_tested = true;
            return actions.send(Reply::TestRequest);
        }
        match now_ns.saturating_sub(self.said_ns) >= self.heartbeat_ns {
            true => actions.send(Reply::Heartbeat),
            false => actions,
        }
    }

    fn ask_again(&mut self, now_ns: u64) -> Actions {
        match &mut self.gap {
            Some(gap) if now_ns.saturating_sub(gap.asked_ns) > self.timing.gap_ns => {
                gap.asked_ns = now_ns;
                Actions::none().send(Reply::ResendRequest { from: self.next_in })
            }
            _ => Actions::none(),
        }
    }
}

const COMP_ID: u64 = 9;
const CLOCK: u64 = 10;
const NO_VALUE: u64 = 4;
const TAG_INVALID: u64 = 0;

fn refused(message: &Message<'_>) -> Option<Reply> {
    use crate::codec::FieldError;
    let Refused { reason, tag } = match message.broken_field() {
        Some(FieldError::Empty { tag }) => Refused { reason: NO_VALUE, tag },
        Some(FieldError::Open { tag }) => Refused { reason: VALUE_INCORRECT, tag },
        Some(FieldError::Tag) => Refused { reason: TAG_INVALID, tag: 0 },
        None => missing(message)?,
    };
    Some(Reply::Reject { reason, tag })
}

fn missing(message: &Message<'_>) -> Option<Refused> {
    let tag = match message.header.kind {
        Kind::TestRequest => tag::TEST_REQ_ID,
        Kind::Reject => tag::REF_SEQ_NUM,
        _ => return None,
    };
    message.get(tag).is_none().then_some(Refused { reason: TAG_MISSING, tag })
}

impl Session {
    pub(super) fn logon(&mut self, message: &Message<'_>, sequence: u64, now_ns: u64) -> Actions {
        let is_reset = message.is_set(tag::RESET_SEQ_NUM_FLAG);
        if self.phase == Phase::In && !is_reset {
            return self.repeated_logon(message, sequence, now_ns);
        }
        let is_answer = self.phase == Phase::LogonSent;
        if !self.agrees_to(message) {
            return self.hang_up(End::NoLogon);
        }
        self.phase = Phase::In;
        if is_reset && !is_answer {
            return self.begin_again(sequence);
        }
        if sequence < self.next_in {
            return self.too_low_logon(message, sequence);
        }
        let answered = |actions: Actions| match self.role {
            Role::Acceptor => actions.send(Reply::Logon { reset: false }),
            Role::Initiator => actions,
        };
        if sequence > self.next_in {
            let answered = answered(Actions::none());
            return self.ask_for_gap(sequence, now_ns, answered);
        }
        let answered = answered(Actions::none().then(Action::Keep));
        self.expect(sequence + 1);
        answered
    }

    /// Whether heartbeat, encryption and application version can be taken; the heartbeat is.
    fn agrees_to(&mut self, message: &Message<'_>) -> bool {
        let is_plain = message.get(tag::ENCRYPT_METHOD) == Some(b"0");
        let is_known = message.header.version != Some(Version::Fixt11)
            || message.get(tag::DEFAULT_APPL_VER_ID) == Some(crate::codec::FIX50_SP2);
        let Some(seconds) = message.get_uint(tag::HEART_BT_INT).filter(|s| *s <= 86_400) else {
            return false;
        };
        self.beat_every(seconds);
        is_plain && is_known
    }

    /// ResetSeqNumFlag: both numbers begin at 1, so the Logon must be number 1.
    fn begin_again(&mut self, sequence: u64) -> Actions {
        if sequence != 1 {
            return self.end(End::TooLow { expected: 1, received: sequence });
        }
        (self.next_in, self.next_out) = (1, 1);
        self.expect(2);
        let actions = Actions::none().then(Action::Reset).then(Action::Keep);
        actions.send(Reply::Logon { reset: true })
    }

    fn too_low_logon(&mut self, message: &Message<'_>, sequence: u64) -> Actions {
        match message.header.is_poss_dup {
            true => self.too_low(&message.header, sequence),
            false => self.end(End::TooLow { expected: self.next_in, received: sequence }),
        }
    }

    /// A Logon within a session changes nothing, but its number counts.
    fn repeated_logon(&mut self, message: &Message<'_>, sequence: u64, now_ns: u64) -> Actions {
        match sequence.cmp(&self.next_in) {
            std::cmp::Ordering::Less => self.too_low(&message.header, sequence),
            std::cmp::Ordering::Greater => self.ask_for_gap(sequence, now_ns, Actions::none()),
            std::cmp::Ordering::Equal => {
                self.expect(sequence + 1);
                Actions::none().then(Action::Keep)
            }
        }
    }
}
