//! The end of an earlier reign, taken back from a secondary that has it.

use std::sync::atomic::Ordering::Release;

use super::Primary;
use crate::dialer::Tail;
use crate::epoch::Begin;
use crate::error::Result;
use crate::event::Event;
use crate::outbox::Outbox;

impl Primary {
    /// Takes messages of an earlier reign, as long as this one has none of its own. Where they do not follow what is
    /// here, nothing is taken, and the secondary stays away as one that is ahead.
    ///
    /// Two secondaries may have been asked at the same time: what the second sends begins before the end of what the
    /// first sent, and its messages are ours if it has our last one.
    pub(super) fn inherit(&mut self, seat: usize, tail: Tail) -> Result<()> {
        let from = self.appended + 1;
        for (at, payload) in tail.entries {
            let last = self.store.last();
            if at.sequence < last.sequence {
                continue;
            }
            let is_known = at == last;
            let follows = at.sequence == last.sequence + 1
                && at.epoch >= last.epoch
                && at.epoch < self.epoch
                && (at.sequence == 1 || self.joined == Some(seat));
            if self.appended > self.inherited || !(is_known || follows) {
                break;
            }
            // From here on, what this one sends is behind a message that both hold.
            self.joined = Some(seat);
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
        self.events.note(Event::Inherited { peer, from, through: last });
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::ops::RangeInclusive;

    use super::*;
    use crate::epoch::{Epoch, Position};
    use crate::options::PrimaryOptions;
    use crate::store::StoreOptions;

    /// A primary in a place where another reigned, whose messages are gone; nobody answers at its secondaries.
    fn forgetful(dir: &tempfile::TempDir) -> (Primary, Epoch) {
        let nobody = ["127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap()];
        let small = pickfs_journal::Options { file_bytes: 1 << 16, ..Default::default() };
        let store = StoreOptions::Journal(small);
        let options = PrimaryOptions { store, ..PrimaryOptions::new(dir.path(), nobody.to_vec()) };
        let earlier = Primary::open(options.clone()).unwrap().epoch;
        (Primary::open(options).unwrap(), earlier)
    }

    fn tail(epoch: Epoch, numbers: RangeInclusive<u64>) -> Tail {
        let mut tail = Tail::default();
        for sequence in numbers {
            tail.entries.push((Position { epoch, sequence }, vec![sequence as u8]));
        }
        tail
    }

    fn taken(primary: &mut Primary) -> Vec<u8> {
        let mut taken = Vec::new();
        let mut take = |_: u64, payload: &[u8]| {
            taken.extend_from_slice(payload);
            std::ops::ControlFlow::Continue(())
        };
        primary.read(1, &mut take).unwrap();
        taken
    }

    #[test]
    fn what_a_second_secondary_has_beyond_the_first_is_taken_too() {
        let dir = tempfile::tempdir().unwrap();
        let (mut primary, earlier) = forgetful(&dir);
        primary.inherit(0, tail(earlier, 1..=3)).unwrap();
        // It was asked when nothing was here.
        primary.inherit(1, tail(earlier, 1..=5)).unwrap();
        assert_eq!((primary.appended, primary.inherited), (5, 5));
        // The first had more, in another piece.
        primary.inherit(0, tail(earlier, 4..=7)).unwrap();
        assert_eq!(taken(&mut primary), [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn what_follows_another_message_than_ours_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let (_, first) = forgetful(&dir);
        let (mut primary, second) = forgetful(&dir);
        primary.inherit(0, tail(first, 1..=3)).unwrap();
        // Its third message is another one, and the fourth comes in a piece of its own.
        primary.inherit(1, tail(second, 2..=3)).unwrap();
        primary.inherit(1, tail(second, 4..=4)).unwrap();
        assert_eq!(taken(&mut primary), [1, 2, 3]);
    }
}
