use super::action::{Action, Actions, End, Reply};
use super::machine::{Phase, Session};
use super::settings::Role;
use crate::codec::{Message, Version, tag};

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
