//! After a start: sessions and market are built again from what the store holds.
//!
//! What came in is given to a new market once more, at its times, so it gives the same answers. Each answer that is
//! found as sent crosses one of these out; those left over were never sent: they get their numbers now, are
//! kept, and go out when their session asks for what it has missed.

use std::collections::VecDeque;

use super::connection::Member;
use super::core::{Engine, Now};
use super::{EngineError, Observer, Result};
use crate::codec::{Kind, Message, tag};
use crate::market::{Answer, Exchange, Request, Risk};
use crate::session::Timing;
use crate::store::{Entry, EntryKind, StoreError};

struct Rebuilt<'e> {
    members: &'e mut Vec<Member>,
    exchange: &'e mut Exchange,
    risk: Option<&'e mut (dyn Risk + 'static)>,
    timing: Timing,
    /// Answers that were given and not found as sent, by session.
    open: Vec<VecDeque<Answer>>,
    answers: Vec<Answer>,
    record: u64,
    differs: Option<EngineError>,
}

impl<O: Observer> Engine<O> {
    pub(super) fn recover(&mut self, now: Now) -> Result {
        let mut rebuilt = Rebuilt {
            members: &mut self.members,
            exchange: &mut self.exchange,
            risk: self.risk.as_deref_mut(),
            timing: self.settings.timing,
            open: Vec::new(),
            answers: Vec::new(),
            record: 0,
            differs: None,
        };
        let keeps_incoming = self.store.keeps_incoming();
        let replayed = self.store.replay(&mut |entry| rebuilt.take(entry, keeps_incoming));
        if let Some(differs) = rebuilt.differs {
            return Err(differs);
        }
        replayed?;
        let mut open: Vec<Answer> = rebuilt.open.into_iter().flatten().collect();
        open.sort_unstable_by_key(Answer::exec_id);
        for answer in &open {
            self.answer(answer, now)?;
        }
        self.seal()
    }
}

impl Rebuilt<'_> {
    fn damaged(&self, what: &str) -> StoreError {
        StoreError::Damaged { record: self.record, what: what.into() }
    }

    fn take(&mut self, entry: &Entry<'_>, keeps_incoming: bool) -> crate::store::Result {
        self.record += 1;
        if entry.kind == EntryKind::Session {
            let member = Member::named(entry.message, self.timing);
            self.members.push(member.ok_or_else(|| self.damaged("names no session"))?);
            self.open.push(VecDeque::new());
            return Ok(());
        }
        let unknown = self.damaged("is of a session that was not named");
        let member = self.members.get_mut(entry.session as usize).ok_or(unknown)?;
        match entry.kind {
            EntryKind::In | EntryKind::Refused => member.session.go_on(Some(entry.next), None),
            EntryKind::Reset => member.session.go_on(Some(1), Some(1)),
            _ => member.session.go_on(None, Some(entry.next)),
        }
        match entry.kind {
            EntryKind::In | EntryKind::Refused if keeps_incoming => self.came_in(entry),
            EntryKind::OutBusiness if keeps_incoming => self.went_out(entry),
            _ => Ok(()),
        }
    }

    /// The business sees it again.
    fn came_in(&mut self, entry: &Entry<'_>) -> crate::store::Result {
        let message = Message::parse(entry.message);
        let message = message.map_err(|_| self.damaged("holds no message"))?;
        let is_request = matches!(
            message.header.kind,
            Kind::NewOrderSingle | Kind::OrderCancelRequest | Kind::OrderCancelReplaceRequest
        );
        let Some(request) = is_request
            .then(|| Request::of(&message, entry.session).ok())
            .flatten()
            .filter(|_| message.broken_field().is_none())
        else {
            return Ok(());
        };
        match request {
            Request::New(order) if entry.kind == EntryKind::Refused => {
                self.exchange.refuse(order, entry.time_ns, &mut self.answers);
            }
            _ => {
                if let (Request::New(order), Some(risk)) = (&request, &mut self.risk) {
                    // It was allowed, whatever the limits are by now; what it uses up is to be known.
                    risk.allows(entry.session, order);
                }
                self.exchange.take(entry.session, request, entry.time_ns, &mut self.answers);
            }
        }
        for answer in self.answers.drain(..) {
            self.open[answer.session() as usize].push_back(answer);
        }
        Ok(())
    }

    /// It must be the oldest answer of its session that was not sent.
    fn went_out(&mut self, entry: &Entry<'_>) -> crate::store::Result {
        let expected = self.open[entry.session as usize].pop_front();
        let is_same = match (expected, Message::parse(entry.message)) {
            (Some(Answer::Report(report)), Ok(message)) => {
                message.get_uint(tag::EXEC_ID) == Some(report.exec_id)
            }
            (Some(Answer::CancelReject(reject)), Ok(message)) => {
                message.get(tag::CL_ORD_ID) == Some(reject.cl_ord_id.as_bytes())
            }
            _ => false,
        };
        if is_same {
            return Ok(());
        }
        let (session, sequence) = (entry.session, entry.sequence);
        self.differs = Some(EngineError::Differs { session, sequence });
        Err(self.damaged("is no answer to what came in"))
    }
}
