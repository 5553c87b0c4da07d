//! The commit word and what may happen to it: the whole protocol between processes.
//!
//! ```text
//!            claim               commit
//!   empty ----------> claimed ----------> message
//!     |                  |
//!     | end              | void, once its appender is known to be dead
//!     v                  v
//!    end               void
//! ```
//!
//! Every arrow is one compare-and-exchange, so each happens once and no crash stands between two states; but for the
//! commit. Who has claimed lives and is never taken for dead, so nobody else may touch the word: it is a store, which
//! does not wait until other processors have let go of what was stored before (an exchange does).
//! What the length of a claim says never changes afterwards: whoever looks can go on to the next slot.
//!
//! The functions are generic over [`Word`], so that the model checker of `tests/model.rs` runs these
//! very lines.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Release},
};

use super::layout::{PAYLOAD_BYTES_MAX, slot_bytes};

pub trait Word {
    /// Reads it; what was written before it was set is seen afterwards.
    fn look(&self) -> u64;
    /// Sets it to `new` if it is `current`, else gives what it is.
    fn exchange(&self, current: u64, new: u64) -> Result<u64, u64>;
    /// Sets it; whoever reads it sees what was written before.
    fn set(&self, new: u64);
}

impl Word for AtomicU64 {
    #[inline]
    fn look(&self) -> u64 {
        self.load(Acquire)
    }

    #[inline]
    fn exchange(&self, current: u64, new: u64) -> Result<u64, u64> {
        self.compare_exchange(current, new, AcqRel, Acquire)
    }

    #[inline]
    fn set(&self, new: u64) {
        self.store(new, Release);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Holder {
    pub seat: u8,
    /// How often the seat had been taken, modulo 2^24.
    pub generation: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    Empty,
    Claimed {
        payload_bytes: usize,
        holder: Holder,
    },
    Message {
        payload_bytes: usize,
        checksum: u32,
    },
    /// Its appender died before it was a message.
    Void {
        payload_bytes: usize,
    },
    End,
    Unknown(u64),
}

const CLAIMED: u64 = 1;
const MESSAGE: u64 = 2;
const VOID: u64 = 3;
const END: u64 = 4;
const GENERATION_MASK: u32 = 0xFF_FFFF;

impl Slot {
    #[inline]
    pub fn decode(word: u64) -> Self {
        let payload_bytes = (word >> 32) as usize & PAYLOAD_BYTES_MAX;
        let low = word as u32;
        match word >> 61 {
            0 if word == 0 => Self::Empty,
            CLAIMED => {
                let holder = Holder { seat: (low >> 24) as u8, generation: low & GENERATION_MASK };
                Self::Claimed { payload_bytes, holder }
            }
            MESSAGE => Self::Message { payload_bytes, checksum: low },
            VOID if low == 0 => Self::Void { payload_bytes },
            END if word == END << 61 => Self::End,
            _ => Self::Unknown(word),
        }
    }

    #[inline]
    pub fn encode(self) -> u64 {
        let word = |kind: u64, bytes: usize, low: u32| {
            kind << 61 | ((bytes & PAYLOAD_BYTES_MAX) as u64) << 32 | u64::from(low)
        };
        match self {
            Self::Empty => 0,
            Self::Claimed { payload_bytes, holder } => {
                let generation = holder.generation & GENERATION_MASK;
                word(CLAIMED, payload_bytes, u32::from(holder.seat) << 24 | generation)
            }
            Self::Message { payload_bytes, checksum } => word(MESSAGE, payload_bytes, checksum),
            Self::Void { payload_bytes } => word(VOID, payload_bytes, 0),
            Self::End => word(END, 0, 0),
            Self::Unknown(word) => word,
        }
    }

    /// From this slot to the next one; `None` where there is no next one to be known.
    #[inline]
    pub fn bytes(self) -> Option<u64> {
        match self {
            Self::Claimed { payload_bytes, .. }
            | Self::Message { payload_bytes, .. }
            | Self::Void { payload_bytes } => Some(slot_bytes(payload_bytes)),
            Self::Empty | Self::End | Self::Unknown(_) => None,
        }
    }
}

#[inline]
pub fn look<W: Word>(word: &W) -> Slot {
    Slot::decode(word.look())
}

/// Otherwise gives what stands there.
#[inline]
pub fn claim<W: Word>(word: &W, payload_bytes: usize, holder: Holder) -> Result<(), Slot> {
    let claimed = Slot::Claimed { payload_bytes, holder };
    word.exchange(0, claimed.encode()).map(drop).map_err(Slot::decode)
}

/// Makes our claim a message. Where it is not there any more, which damage alone can do, it gives what is, and the
/// message was not appended.
#[inline]
pub fn commit<W: Word>(
    word: &W,
    payload_bytes: usize,
    holder: Holder,
    checksum: u32,
) -> Result<(), Slot> {
    match look(word) {
        claimed if claimed == (Slot::Claimed { payload_bytes, holder }) => {
            word.set(Slot::Message { payload_bytes, checksum }.encode());
            Ok(())
        }
        other => Err(other),
    }
}

/// An end that stands there already is as good.
pub fn end<W: Word>(word: &W) -> Result<(), Slot> {
    match word.exchange(0, Slot::End.encode()).map_err(Slot::decode) {
        Ok(_) | Err(Slot::End) => Ok(()),
        Err(other) => Err(other),
    }
}

/// Takes over the claim of a dead appender; gives what stands there afterwards.
pub fn void<W: Word>(word: &W, payload_bytes: usize, holder: Holder) -> Slot {
    let claimed = Slot::Claimed { payload_bytes, holder }.encode();
    let void = Slot::Void { payload_bytes };
    match word.exchange(claimed, void.encode()) {
        Ok(_) => void,
        Err(found) => Slot::decode(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Holder = Holder { seat: 63, generation: 0xAB_CDEF };

    #[test]
    fn every_slot_comes_back() {
        let slots = [
            Slot::Empty,
            Slot::Claimed { payload_bytes: PAYLOAD_BYTES_MAX, holder: ME },
            Slot::Message { payload_bytes: 0, checksum: u32::MAX },
            Slot::Void { payload_bytes: 12 },
            Slot::End,
        ];
        for slot in slots {
            assert_eq!(Slot::decode(slot.encode()), slot);
        }
        for word in [1, 5 << 61, (END << 61) | 1, (VOID << 61) | 1, u64::MAX] {
            assert_eq!(Slot::decode(word), Slot::Unknown(word));
        }
    }

    #[test]
    fn a_claim_is_taken_once_and_committed_once() {
        let word = AtomicU64::new(0);
        assert_eq!(claim(&word, 5, ME), Ok(()));
        let other = Holder { seat: 1, generation: 1 };
        assert_eq!(claim(&word, 9, other), Err(Slot::Claimed { payload_bytes: 5, holder: ME }));
        assert!(commit(&word, 9, other, 3).is_err());
        assert_eq!(commit(&word, 5, ME, 3), Ok(()));
        assert_eq!(void(&word, 5, ME), Slot::Message { payload_bytes: 5, checksum: 3 });
    }

    #[test]
    fn a_void_slot_is_never_a_message_again() {
        let word = AtomicU64::new(0);
        claim(&word, 5, ME).expect("it was empty");
        assert_eq!(void(&word, 5, ME), Slot::Void { payload_bytes: 5 });
        assert_eq!(commit(&word, 5, ME, 3), Err(Slot::Void { payload_bytes: 5 }));
        assert_eq!(end(&word), Err(Slot::Void { payload_bytes: 5 }));
    }
}
