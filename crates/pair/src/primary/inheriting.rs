//! The end of an earlier reign, taken back from a secondary that has it.

use std::sync::atomic::Ordering::Release;

use super::Primary;
use crate::epoch::Begin;
use crate::error::Result;
use crate::event::Event;
use crate::outbox::Outbox;
use crate::tail::Tail;

impl Primary {
    /// Takes messages of an earlier reign, as long as this one has none of its own. Where they do not follow what is
    /// here, nothing is taken, and the secondary stays away as one that is ahead.
    pub(super) fn inherit(&mut self, seat: usize, tail: Tail) -> Result<()> {
        let from = self.appended + 1;
        for (at, payload) in tail.entries {
            let last = self.store.last();
            let is_known = at == last;
            let follows = at.sequence == last.sequence + 1
                && at.epoch >= last.epoch
                && at.epoch < self.epoch
                && (at.sequence == 1 || self.is_joined);
            if self.appended > self.inherited || !(is_known || follows) {
                break;
            }
            // From here on, what comes is behind a message that both hold.
            self.is_joined = true;
            if follows {
                self.begin_before_ours(Begin { epoch: at.epoch, first_sequence: at.sequence });
                self.store.add(at, &payload)?;
                (self.appended, self.inherited) = (at.sequence, at.sequence);
            }
        }
        if self.appended < from {
            return Ok(());
        }
        self.store.commit()?;
        self.settle_in(from, seat)
    }

    /// Our own reign begins behind it.
    fn settle_in(&mut self, from: u64, seat: usize) -> Result<()> {
        let last = self.appended;
        self.local = last;
        let mut state = self.node.state.clone();
        let ours = Begin { epoch: self.epoch, first_sequence: last + 1 };
        state.history.retain(|begin| begin.epoch < self.epoch);
        state.history.append(&mut self.begun);
        state.history.push(ours);
        *self.told.history() = state.history.clone();
        self.node.keep(state)?;
        self.outbox = Outbox::new(self.options.buffer_bytes, last + 1);
        self.told.oldest.store(last + 1, Release);
        self.told.appended.store(last, Release);
        self.told.inherited.store(last, Release);
        for at in 0..self.seats.len() {
            if self.seats[at].link.is_some() {
                self.lose(at, "the end of the last reign has come from another".into());
            }
        }
        let peer = self.seats[seat].peer;
        self.note(Event::Inherited { peer, from, through: last });
        Ok(())
    }

    fn begin_before_ours(&mut self, begin: Begin) {
        let known = self.begun.last().or_else(|| {
            self.node.state.history.iter().rev().find(|known| known.epoch < self.epoch)
        });
        if known.is_none_or(|known| known.epoch < begin.epoch) {
            self.begun.push(begin);
        }
    }
}
