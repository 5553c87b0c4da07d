//! Requests between the store and the business: kept, not yet seen by anybody.
//! What was read in one round waits at the gate together, once, as in the Disruptor. Whether a store waits there for
//! a disk or for another host, a burst of orders pays for it once, and its orders come to the business in the order in
//! which they were kept.

use super::core::{ConnectionNumber, Engine, Now};
use super::error::EngineError;
use crate::codec::{Kind, Message};
use crate::market::Request;
use crate::observer::Observer;
use crate::session::Reply;
use crate::store::{Gate, SessionNumber};

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
    ) -> Result<(), EngineError> {
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
    pub(super) fn decide(&mut self) -> Result<(), EngineError> {
        match self.pending.is_empty() {
            true => Ok(()),
            false => self.decide_all(),
        }
    }

    fn decide_all(&mut self) -> Result<(), EngineError> {
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
