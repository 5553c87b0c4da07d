//! The other side: a client that logs on, sends orders, and asks for what it missed. For tests, drivers and
//! examples; as the engine, it has no socket and reads no clock.

use crate::codec::{Encoder, Frame, Message, Version, frame};
use crate::engine::Now;
use crate::session::{Action, Actions, End, Names, Role, Session, Timing};

pub struct Client {
    session: Session,
    version: Version,
    us: Vec<u8>,
    peer: Vec<u8>,
    encoder: Encoder,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// Business messages by number, for as long as the client lives; only where it remembers them.
    sent: Vec<(u64, Vec<u8>)>,
    remembers: bool,
    ending: Option<End>,
}

const MESSAGE_BYTES_MAX: usize = 64 << 10;

impl Client {
    /// Never connected. One that remembers what it sent can send it again.
    pub fn new(version: Version, us: &str, peer: &str, remembers: bool) -> Client {
        Client {
            session: Session::new(Role::Initiator, Timing::default()),
            version,
            us: us.into(),
            peer: peer.into(),
            encoder: Encoder::default(),
            inbox: Vec::with_capacity(MESSAGE_BYTES_MAX),
            outbox: Vec::with_capacity(MESSAGE_BYTES_MAX),
            sent: Vec::new(),
            remembers,
            ending: None,
        }
    }

    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    pub fn outbox(&mut self) -> &mut Vec<u8> {
        &mut self.outbox
    }

    pub fn ending(&self) -> Option<End> {
        self.ending
    }

    /// A Logon waits to be sent then.
    pub fn connected(&mut self, now: Now) {
        self.inbox.clear();
        self.outbox.clear();
        self.ending = None;
        let actions = self.session.connected(now.ns);
        self.carry_out(None, actions, now);
    }

    pub fn disconnected(&mut self) {
        self.session.disconnected();
    }

    pub fn log_out(&mut self, now: Now) {
        let actions = self.session.log_out(now.ns);
        self.carry_out(None, actions, now);
    }

    pub fn tick(&mut self, now: Now) {
        let actions = self.session.tick(now.ns);
        self.carry_out(None, actions, now);
    }

    /// Gives its number.
    #[inline]
    pub fn send(&mut self, msg_type: &[u8], now: Now, body: impl FnOnce(&mut Encoder)) -> u64 {
        let sequence = self.session.take_number(now.ns);
        let names = Names { version: self.version, us: &self.us, peer: &self.peer };
        let message = names.begin(&mut self.encoder, msg_type, sequence, now.utc_ns);
        body(message);
        let bytes = message.finish();
        self.outbox.extend_from_slice(bytes);
        if self.remembers {
            self.sent.push((sequence, bytes.to_vec()));
        }
        sequence
    }

    /// `each` sees messages of the business, each once and in order.
    pub fn receive(&mut self, bytes: &[u8], now: Now, mut each: impl FnMut(&Message<'_>)) {
        let mut inbox = std::mem::take(&mut self.inbox);
        inbox.extend_from_slice(bytes);
        let mut from = 0;
        loop {
            match frame(&inbox[from..], MESSAGE_BYTES_MAX) {
                Frame::Partial => break,
                Frame::Garbled { skip_bytes, .. } => from += skip_bytes,
                Frame::TooLong { .. } => {
                    self.ending = Some(End::TooLong);
                    break;
                }
                Frame::Whole { bytes } => {
                    if let Ok(message) = Message::parse(&inbox[from..from + bytes]) {
                        self.message(&message, now, &mut each);
                    }
                    from += bytes;
                }
            }
        }
        inbox.copy_within(from.., 0);
        inbox.truncate(inbox.len() - from);
        self.inbox = inbox;
    }

    fn message(&mut self, message: &Message<'_>, now: Now, each: &mut impl FnMut(&Message<'_>)) {
        let actions = self.session.received(message, now.ns, now.utc_ns);
        if actions.iter().any(|action| action == Action::Deliver) {
            each(message);
        }
        self.carry_out(Some(message), actions, now);
    }

    fn carry_out(&mut self, at_hand: Option<&Message<'_>>, actions: Actions, now: Now) {
        for action in actions.iter() {
            match action {
                Action::Send(reply) => {
                    let sequence = self.session.take_number(now.ns);
                    let names = Names { version: self.version, us: &self.us, peer: &self.peer };
                    let encoder = &mut self.encoder;
                    let message = names.begin(encoder, reply.msg_type(), sequence, now.utc_ns);
                    reply.fill(message, at_hand, self.session.heartbeat_s(), self.version);
                    self.outbox.extend_from_slice(message.finish());
                }
                Action::Resend { from, to } => self.send_again(from, to, now),
                Action::Disconnect(end) => self.ending = Some(end),
                Action::Reset | Action::Keep | Action::Deliver => {}
            }
        }
    }

    fn send_again(&mut self, from: u64, to: u64, now: Now) {
        let names = Names { version: self.version, us: &self.us, peer: &self.peer };
        let (encoder, outbox) = (&mut self.encoder, &mut self.outbox);
        let mut next = from;
        let wanted = self.sent.iter().filter(|(sequence, _)| (from..=to).contains(sequence));
        for (sequence, bytes) in wanted {
            let Ok(sent) = Message::parse(bytes) else { continue };
            if *sequence > next {
                let fill = names.gap_fill(encoder, next, *sequence, now.utc_ns);
                outbox.extend_from_slice(fill);
            }
            outbox.extend_from_slice(names.again(encoder, &sent, now.utc_ns));
            next = sequence + 1;
        }
        if next <= to {
            outbox.extend_from_slice(names.gap_fill(encoder, next, to + 1, now.utc_ns));
        }
    }
}
