use super::connection::{Connection, Inbox, Member, Outbox};
use super::{EngineError, Observer, Result, Settings, Way};
use crate::codec::{Encoder, Frame, Kind, Message, frame};
use crate::market::{Answer, Exchange, Request, Risk};
use crate::session::{Action, Actions, End, Reply};
use crate::store::{Entry, EntryKind, Gate, LogStore, MemoryLog, SessionNumber, Store};

/// A connection's number, given again when it has ended.
pub type ConnectionNumber = usize;

/// Read once for what came together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Now {
    /// On a clock that never goes back.
    pub ns: u64,
    /// Since 1970.
    pub utc_ns: u64,
}

pub struct Engine<O = ()> {
    pub(super) settings: Settings,
    pub(super) store: Box<dyn Store>,
    pub(super) members: Vec<Member>,
    pub(super) exchange: Exchange,
    pub(super) risk: Option<Box<dyn Risk>>,
    pub(super) is_refused: bool,
    pub(super) encoder: Encoder,
    pub(super) answers: Vec<Answer>,
    pub(super) pending: Vec<Pending>,
    pub(super) connections: Vec<Option<Connection>>,
    /// Something was kept that has not passed the gate before it leaves.
    pub(super) is_waiting: bool,
    pub(super) observer: O,
}

/// Answers to one request for which there is room from the start.
const ANSWERS: usize = 1024;

impl Engine<()> {
    /// Goes on where its store says it was, with nobody listening.
    pub fn open(settings: Settings, store: Box<dyn Store>, now: Now) -> Result<Self> {
        Engine::observed(settings, store, now, (), None)
    }
}

impl<O: Observer> Engine<O> {
    /// With a risk check, orders are checked before they are kept.
    pub fn observed(
        settings: Settings,
        store: Box<dyn Store>,
        now: Now,
        observer: O,
        risk: Option<Box<dyn Risk>>,
    ) -> Result<Self> {
        let mut engine = Engine {
            exchange: Exchange::new(settings.market),
            risk,
            is_refused: false,
            members: Vec::with_capacity(settings.sessions_max),
            connections: Vec::with_capacity(settings.connections_max),
            settings,
            store,
            encoder: Encoder::default(),
            answers: Vec::with_capacity(ANSWERS),
            pending: Vec::with_capacity(PENDING_MAX),
            is_waiting: false,
            observer,
        };
        engine.recover(now)?;
        Ok(engine)
    }

    pub fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn connect(&mut self, now: Now) -> Result<ConnectionNumber> {
        let free = self.connections.iter().position(Option::is_none);
        let number = free.unwrap_or(self.connections.len());
        if number >= self.settings.connections_max {
            return Err(EngineError::Full { connections: number });
        }
        let connection = Connection {
            inbox: Inbox::new(self.settings.message_bytes_max),
            outbox: Outbox::new(),
            member: None,
            resending: None,
            ending: None,
            opened_ns: now.ns,
        };
        match free {
            Some(at) => self.connections[at] = Some(connection),
            None => self.connections.push(Some(connection)),
        }
        Ok(number)
    }

    pub fn disconnect(&mut self, number: ConnectionNumber) {
        let gone = self.connections.get_mut(number).and_then(Option::take);
        if let Some(member) = gone.and_then(|connection| connection.member) {
            let member = &mut self.members[member as usize];
            member.session.disconnected();
            member.connection = None;
        }
    }

    fn connection(&mut self, number: ConnectionNumber) -> Option<&mut Connection> {
        self.connections.get_mut(number)?.as_mut()
    }

    /// Where bytes of a connection go before [`Engine::process`].
    pub fn inbox(&mut self, number: ConnectionNumber) -> Option<&mut Inbox> {
        Some(&mut self.connection(number)?.inbox)
    }

    /// It may leave only when [`Engine::seal`] has returned.
    pub fn outbox(&mut self, number: ConnectionNumber) -> Option<&mut Outbox> {
        Some(&mut self.connection(number)?.outbox)
    }

    pub fn ending(&self, number: ConnectionNumber) -> Option<End> {
        self.connections.get(number)?.as_ref()?.ending
    }

    /// Bytes as a call, for tests and other transports.
    pub fn receive(&mut self, number: ConnectionNumber, mut bytes: &[u8], now: Now) -> Result {
        while let Some(inbox) = self.inbox(number).filter(|_| !bytes.is_empty()) {
            let room = inbox.room();
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            inbox.add(count);
            bytes = &bytes[count..];
            self.process(number, now)?;
        }
        self.seal()
    }

    /// Keeps every whole message of a connection, and answers those of the session. Requests are answered by
    /// [`Engine::seal`], all that came in one round together.
    pub fn process(&mut self, number: ConnectionNumber, now: Now) -> Result {
        let Some(connection) = self.connection(number) else { return Ok(()) };
        let mut inbox = std::mem::take(&mut connection.inbox);
        let processed = self.process_all(number, &mut inbox, now);
        if let Some(connection) = self.connection(number) {
            connection.inbox = inbox;
        }
        processed
    }

    fn process_all(&mut self, number: ConnectionNumber, inbox: &mut Inbox, now: Now) -> Result {
        while self.ending(number).is_none() {
            match frame(inbox.waiting(), self.settings.message_bytes_max) {
                Frame::Partial => break,
                // By the rules of the session layer a garbled message is passed over.
                Frame::Garbled { skip_bytes, .. } => inbox.pass(skip_bytes),
                Frame::TooLong { .. } => {
                    let said = self.member_of(number).map(|_| Reply::Logout(Some(End::TooLong)));
                    let actions = said.map_or(Actions::none(), |said| Actions::none().send(said));
                    let actions = actions.then(Action::Disconnect(End::TooLong));
                    return self.carry_out(number, None, actions, now);
                }
                Frame::Whole { bytes } => {
                    if let Ok(message) = Message::parse(&inbox.waiting()[..bytes]) {
                        self.message(number, &message, now)?;
                    }
                    inbox.pass(bytes);
                }
            }
        }
        Ok(())
    }

    pub(super) fn member_of(&self, number: ConnectionNumber) -> Option<SessionNumber> {
        self.connections.get(number)?.as_ref()?.member
    }

    fn message(&mut self, number: ConnectionNumber, message: &Message<'_>, now: Now) -> Result {
        if message.header.kind.is_administrative() {
            self.decide()?;
        }
        let actions = match self.member_of(number) {
            None => return self.first_message(number, message, now),
            Some(member) => {
                let member = &mut self.members[member as usize];
                let is_ours = message.header.target == self.settings.comp_id.as_bytes();
                match is_ours && member.is_of(&message.header) {
                    true => member.session.received(message, now.ns, now.utc_ns),
                    false => member.session.wrong_identity(message),
                }
            }
        };
        self.carry_out(number, Some(message), actions, now)
    }

    fn first_message(
        &mut self,
        number: ConnectionNumber,
        message: &Message<'_>,
        now: Now,
    ) -> Result {
        let found = match message.header.kind {
            Kind::Logon => self.member_for(message, now)?,
            _ => Err(End::NoLogon),
        };
        let member = match found {
            Ok(member) => member,
            Err(end) => {
                let actions = Actions::none().then(Action::Disconnect(end));
                return self.carry_out(number, Some(message), actions, now);
            }
        };
        if let Some(connection) = self.connections[number].as_mut() {
            connection.member = Some(member);
        }
        let member = &mut self.members[member as usize];
        member.connection = Some(number);
        member.session.connected(now.ns);
        let actions = member.session.received(message, now.ns, now.utc_ns);
        self.carry_out(number, Some(message), actions, now)
    }

    /// Named by a Logon; a new one where there is room.
    fn member_for(
        &mut self,
        message: &Message<'_>,
        now: Now,
    ) -> Result<std::result::Result<SessionNumber, End>> {
        let header = &message.header;
        let Some(version) = header.version else { return Ok(Err(End::Version)) };
        if header.target != self.settings.comp_id.as_bytes() || header.sender.is_empty() {
            return Ok(Err(End::Identity));
        }
        if let Some(at) = self.members.iter().position(|member| member.is_of(header)) {
            let is_taken = self.members[at].connection.is_some();
            return Ok(if is_taken { Err(End::Taken) } else { Ok(at as SessionNumber) });
        }
        let peers = &self.settings.peers;
        let is_welcome =
            peers.is_empty() || peers.iter().any(|peer| peer.as_bytes() == header.sender);
        if !is_welcome || self.members.len() == self.settings.sessions_max {
            return Ok(Err(End::Identity));
        }
        let member = Member::new(version, header.sender, self.settings.timing);
        let session = self.members.len() as SessionNumber;
        let (kind, time_ns) = (EntryKind::Session, now.utc_ns);
        let name = member.name();
        self.store.keep(&Entry { kind, session, sequence: 0, next: 0, time_ns, message: &name })?;
        self.members.push(member);
        Ok(Ok(session))
    }

    pub(super) fn carry_out(
        &mut self,
        number: ConnectionNumber,
        message: Option<&Message<'_>>,
        actions: Actions,
        now: Now,
    ) -> Result {
        let member = self.member_of(number);
        for action in actions.iter() {
            match (action, member, message) {
                (Action::Disconnect(end), ..) => {
                    if let Some(connection) = self.connections[number].as_mut() {
                        connection.ending = Some(end);
                    }
                }
                (Action::Send(reply), Some(member), _) => {
                    self.reply(member, message, reply, now)?
                }
                (Action::Resend { from, to }, Some(member), _) => {
                    self.resend(number, member, from, to, now)?;
                }
                (Action::Reset, Some(session), _) => {
                    let (kind, sequence, next) = (EntryKind::Reset, 0, 1);
                    let (time_ns, message) = (now.utc_ns, &[][..]);
                    self.store.keep(&Entry { kind, session, sequence, next, time_ns, message })?;
                }
                (Action::Keep, Some(member), Some(message)) => self.keep(member, message, now)?,
                (Action::Deliver, Some(member), Some(message)) => {
                    self.deliver(number, member, message, now)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn keep(&mut self, session: SessionNumber, message: &Message<'_>, now: Now) -> Result {
        self.is_refused = self.refuses(session, message);
        let kind = if self.is_refused { EntryKind::Refused } else { EntryKind::In };
        let entry = Entry {
            kind,
            session,
            sequence: message.header.sequence.unwrap_or(0),
            next: self.members[session as usize].session.next_in(),
            time_ns: now.utc_ns,
            message: message.bytes,
        };
        self.observer.keeping(Way::In);
        self.store.keep(&entry)?;
        self.observer.kept(Way::In);
        Ok(())
    }

    fn refuses(&mut self, session: SessionNumber, message: &Message<'_>) -> bool {
        let Some(risk) = &mut self.risk else { return false };
        if message.header.kind != Kind::NewOrderSingle {
            return false;
        }
        self.observer.checking();
        let is_allowed = match Request::of(message, session) {
            Ok(Request::New(order)) => risk.allows(session, &order),
            // What is no order is answered as such.
            _ => true,
        };
        self.observer.checked();
        !is_allowed
    }

    /// Gives requests that were kept to the business, and waits until everything that was kept may leave. Call it
    /// before outboxes are sent.
    #[inline]
    pub fn seal(&mut self) -> Result {
        self.decide()?;
        if std::mem::take(&mut self.is_waiting) {
            self.observer.waiting(Gate::Reply);
            self.store.wait(Gate::Reply)?;
            self.observer.waited(Gate::Reply);
        }
        Ok(())
    }

    /// Whatever comes after that is kept in memory, and lost.
    pub fn close(&mut self) {
        self.store = Box::new(LogStore::new(MemoryLog::default()));
    }

    /// Heartbeats, tests, ends. Some times a second is enough.
    pub fn tick(&mut self, now: Now) -> Result {
        for number in 0..self.connections.len() {
            let Some(connection) = &self.connections[number] else { continue };
            let actions = match connection.member {
                _ if connection.ending.is_some() => continue,
                Some(member) => self.members[member as usize].session.tick(now.ns),
                None if now.ns - connection.opened_ns > self.settings.timing.patience_ns => {
                    Actions::none().then(Action::Disconnect(End::NoLogon))
                }
                None => continue,
            };
            self.carry_out(number, None, actions, now)?;
        }
        self.seal()
    }

    /// Time between two messages: goes on with what is to be sent again, and lets the store work ahead.
    pub fn idle(&mut self, now: Now) -> Result {
        for number in 0..self.connections.len() {
            self.go_on_resending(number, now)?;
        }
        self.store.idle()?;
        self.seal()
    }
}

// Requests between the store and the business: kept, not yet seen by anybody.
// What was read in one round waits at the gate together, once, as in the Disruptor. Whether a store waits there for
// a disk or for another host, a burst of orders pays for it once, and its orders come to the business in the order in
// which they were kept.

pub(super) const PENDING_MAX: usize = 1024;

#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    session: SessionNumber,
    connection: ConnectionNumber,
    request: Request,
    is_order: bool,
    is_refused: bool,
    now: Now,
}

impl<O: Observer> Engine<O> {
    pub(super) fn deliver(
        &mut self,
        connection: ConnectionNumber,
        session: SessionNumber,
        message: &Message<'_>,
        now: Now,
    ) -> Result {
        let request = match Request::of(message, session) {
            Ok(request) => request,
            Err(refused) => {
                self.decide()?;
                let (reason, tag) = (refused.reason, refused.tag);
                return self.reply(session, Some(message), Reply::Reject { reason, tag }, now);
            }
        };
        if self.pending.len() == PENDING_MAX {
            self.decide()?;
        }
        let is_order = message.header.kind == Kind::NewOrderSingle;
        let is_refused = self.is_refused;
        self.pending.push(Pending { session, connection, request, is_order, is_refused, now });
        Ok(())
    }

    #[inline]
    pub(super) fn decide(&mut self) -> Result {
        match self.pending.is_empty() {
            true => Ok(()),
            false => self.decide_all(),
        }
    }

    fn decide_all(&mut self) -> Result {
        self.observer.waiting(Gate::Business);
        self.store.wait(Gate::Business)?;
        self.observer.waited(Gate::Business);
        for at in 0..self.pending.len() {
            let Pending { session, connection, request, is_order, is_refused, now } =
                self.pending[at];
            match request {
                Request::New(order) if is_refused => {
                    self.exchange.refuse(order, now.utc_ns, &mut self.answers);
                }
                _ => self.exchange.take(session, request, now.utc_ns, &mut self.answers),
            }
            for at in 0..self.answers.len() {
                let answer = self.answers[at];
                self.answer(&answer, now)?;
            }
            self.answers.clear();
            if is_order {
                self.observer.answered(connection);
            }
        }
        self.pending.clear();
        Ok(())
    }
}
