use std::ops::ControlFlow;

use super::core::{ConnectionNumber, Engine, Now};
use crate::codec::Message;
use crate::engine::{Observer, Result, Way};
use crate::market::Answer;
use crate::session::{End, Phase, Reply};
use crate::store::{Entry, EntryKind, SessionNumber};

const RESEND_MESSAGES: u64 = 256;
/// No more is sent again while so many bytes wait.
const RESEND_BELOW_BYTES: usize = 64 << 10;

impl<O: Observer> Engine<O> {
    pub(super) fn reply(
        &mut self,
        session: SessionNumber,
        at_hand: Option<&Message<'_>>,
        reply: Reply,
        now: Now,
    ) -> Result {
        let member = &mut self.members[session as usize];
        let sequence = member.session.take_number(now.ns);
        let names = member.names(&self.settings.comp_id);
        let message = names.begin(&mut self.encoder, reply.msg_type(), sequence, now.utc_ns);
        reply.fill(message, at_hand, member.session.heartbeat_s(), member.version);
        self.send(session, EntryKind::OutAdministrative, sequence, now)
    }

    #[inline]
    pub(super) fn answer(&mut self, answer: &Answer, now: Now) -> Result {
        let session = answer.session();
        let member = &mut self.members[session as usize];
        let sequence = member.session.take_number(now.ns);
        let names = member.names(&self.settings.comp_id);
        let message = names.begin(&mut self.encoder, answer.msg_type(), sequence, now.utc_ns);
        answer.encode(member.version, message);
        self.send(session, EntryKind::OutBusiness, sequence, now)
    }

    /// Keeps the message that was encoded, then puts it where it waits to be sent.
    #[inline]
    fn send(&mut self, session: SessionNumber, kind: EntryKind, sequence: u64, now: Now) -> Result {
        let message = self.encoder.finish();
        let next = sequence + 1;
        let entry = Entry { kind, session, sequence, next, time_ns: now.utc_ns, message };
        self.observer.keeping(Way::Out);
        self.store.keep(&entry)?;
        self.observer.kept(Way::Out);
        self.is_waiting = true;
        let member = &self.members[session as usize];
        let Some(number) = member.connection else { return Ok(()) };
        let Some(connection) = self.connections[number].as_mut() else { return Ok(()) };
        let is_business = kind == EntryKind::OutBusiness;
        // What the peer asked for comes first; this message comes with it.
        let is_held = connection.resending.is_some() || member.session.phase() != Phase::In;
        if !(is_business && is_held) {
            connection.outbox.add(message);
            if connection.outbox.waiting().len() > self.settings.outbox_bytes_max {
                connection.ending = Some(End::Slow);
            }
        }
        Ok(())
    }

    /// Sends again. A request up to the last message goes on until the peer has caught up.
    pub(super) fn resend(
        &mut self,
        number: ConnectionNumber,
        session: SessionNumber,
        from: u64,
        to: u64,
        now: Now,
    ) -> Result {
        let is_to_the_end = to + 1 == self.members[session as usize].session.next_out();
        match self.connections[number].as_mut() {
            Some(connection) if is_to_the_end => {
                connection.resending = Some(from);
                self.go_on_resending(number, now)
            }
            _ => self.send_again(number, session, from, to, now),
        }
    }

    pub(super) fn go_on_resending(&mut self, number: ConnectionNumber, now: Now) -> Result {
        while let Some(connection) = self.connections[number].as_ref() {
            let (Some(from), Some(session)) = (connection.resending, connection.member) else {
                break;
            };
            if connection.outbox.waiting().len() >= RESEND_BELOW_BYTES {
                break;
            }
            let last = self.members[session as usize].session.next_out() - 1;
            let to = last.min(from + RESEND_MESSAGES - 1);
            if from <= to {
                self.send_again(number, session, from, to, now)?;
            }
            if let Some(connection) = self.connections[number].as_mut() {
                connection.resending = (to < last).then_some(to + 1);
            }
        }
        Ok(())
    }

    fn send_again(
        &mut self,
        number: ConnectionNumber,
        session: SessionNumber,
        from: u64,
        to: u64,
        now: Now,
    ) -> Result {
        let Engine { store, encoder, connections, members, settings, .. } = self;
        let Some(connection) = connections[number].as_mut() else { return Ok(()) };
        let names = members[session as usize].names(&settings.comp_id);
        let outbox = &mut connection.outbox;
        let mut next = from;
        store.resend(session, from..=to, &mut |entry| {
            let Ok(sent) = Message::parse(entry.message) else { return ControlFlow::Continue(()) };
            if entry.sequence > next {
                outbox.add(names.gap_fill(encoder, next, entry.sequence, now.utc_ns));
            }
            outbox.add(names.again(encoder, &sent, now.utc_ns));
            next = entry.sequence + 1;
            ControlFlow::Continue(())
        })?;
        if next <= to {
            outbox.add(names.gap_fill(encoder, next, to + 1, now.utc_ns));
        }
        if outbox.waiting().len() > settings.outbox_bytes_max {
            connection.ending = Some(End::Slow);
        }
        Ok(())
    }
}
