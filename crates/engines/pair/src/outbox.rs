//! What was appended and may still have to go to somebody: a ring of encoded frames, bounded.
//!
//! All links read from the one ring, each at its own place, so a message is kept once however many secondaries
//! there are. What nobody needs any more stays until its room is needed: a secondary that has just caught up
//! from the store finds its next message here.

use std::io::IoSlice;

/// A place in the stream of all frames, in bytes since the first.
pub(crate) type Place = u64;

pub(crate) struct Outbox {
    bytes: Vec<u8>,
    /// Of the oldest frame that is whole.
    oldest: Place,
    oldest_sequence: u64,
    /// Behind the newest.
    end: Place,
}

impl Outbox {
    /// The first frame will have this number.
    pub(crate) fn new(capacity_bytes: usize, first_sequence: u64) -> Self {
        Outbox {
            bytes: vec![0; capacity_bytes],
            oldest: 0,
            oldest_sequence: first_sequence,
            end: 0,
        }
    }

    pub(crate) fn capacity_bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn end(&self) -> Place {
        self.end
    }

    /// Of the next frame if there is none here.
    pub(crate) fn oldest_sequence(&self) -> u64 {
        self.oldest_sequence
    }

    /// Up to where frames would be forgotten if one of this length came.
    pub(crate) fn forgets_below(&self, frame_bytes: usize) -> Place {
        (self.end + frame_bytes as u64).saturating_sub(self.bytes.len() as u64)
    }

    /// Adds a frame; the oldest are forgotten where their room is needed.
    pub(crate) fn push(&mut self, frame: &[u8]) {
        let limit = self.forgets_below(frame.len());
        while self.oldest < limit && self.oldest < self.end {
            self.oldest += self.length_at(self.oldest);
            self.oldest_sequence += 1;
        }
        let at = self.index(self.end);
        let first = frame.len().min(self.bytes.len() - at);
        self.bytes[at..at + first].copy_from_slice(&frame[..first]);
        self.bytes[..frame.len() - first].copy_from_slice(&frame[first..]);
        self.end += frame.len() as u64;
    }

    pub(crate) fn from(&self, place: Place) -> [IoSlice<'_>; 2] {
        let (at, length) = (self.index(place), (self.end - place) as usize);
        let first = length.min(self.bytes.len() - at);
        [IoSlice::new(&self.bytes[at..at + first]), IoSlice::new(&self.bytes[..length - first])]
    }

    /// Where the frame of a number begins; `None` if it was forgotten. The end for the next number.
    pub(crate) fn place_of(&self, sequence: u64) -> Option<Place> {
        let behind = sequence.checked_sub(self.oldest_sequence)?;
        let mut place = self.oldest;
        for _ in 0..behind {
            if place >= self.end {
                return None;
            }
            place += self.length_at(place);
        }
        Some(place)
    }

    fn index(&self, place: Place) -> usize {
        (place % self.bytes.len() as u64) as usize
    }

    fn length_at(&self, place: Place) -> u64 {
        let byte = |offset: u64| self.bytes[self.index(place + offset)];
        u64::from(u32::from_le_bytes([byte(8), byte(9), byte(10), byte(11)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::{Epoch, Position};
    use crate::wire::{Frame, parse};

    fn frame(sequence: u64) -> Vec<u8> {
        let at = Position { epoch: Epoch::NONE.promoted(1), sequence };
        let payload = vec![sequence as u8; (sequence % 50) as usize];
        let mut bytes = Vec::new();
        Frame::Entry { at, payload: &payload }.encode(&mut bytes);
        bytes
    }

    #[test]
    fn frames_come_out_as_they_went_in_also_around_the_end_of_the_ring() {
        let mut outbox = Outbox::new(1_000, 1);
        for sequence in 1..500 {
            let place = outbox.end();
            outbox.push(&frame(sequence));
            let read: Vec<u8> = outbox.from(place).iter().flat_map(|part| part.to_vec()).collect();
            let (parsed, _) = parse(&read).unwrap().unwrap();
            assert!(matches!(parsed, Frame::Entry { at, .. } if at.sequence == sequence));
            assert_eq!(outbox.place_of(sequence), Some(place));
            assert_eq!(outbox.place_of(sequence + 1), Some(outbox.end()));
            assert_eq!(outbox.place_of(sequence + 2), None);
            let kept = sequence + 1 - outbox.oldest_sequence();
            assert!(kept * 82 >= 900.min(sequence * 82) - 82, "{kept} kept at {sequence}");
            if outbox.oldest_sequence() > 1 {
                assert_eq!(outbox.place_of(outbox.oldest_sequence() - 1), None);
            }
        }
    }
}
