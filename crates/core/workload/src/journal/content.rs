//! What stands in the records: bytes that follow from the seed and the record's sequence, so that
//! they can be compared when they are read back. The first eight bytes are the record's time.
//!
//! ```text
//! payload   0                  8
//!           | due time, ns LE  | bytes of the pattern, from a place that the sequence gives |
//! ```
//!
//! Shorter payloads hold pattern alone.

pub(super) const TIME_BYTES: usize = 8;

const PLACES: usize = 1 << 16;

/// A stateless random number for `index` under `seed` (Steele, Lea and Flood 2014, SplitMix64).
#[inline]
pub fn scrambled(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Random,
    /// As text of messages is: to a quarter or less.
    Text,
}

pub(super) struct Content {
    pattern: Vec<u8>,
    seed: u64,
}

impl Content {
    pub(super) fn new(kind: Kind, payload_bytes_max: u32, seed: u64) -> Self {
        let length = PLACES + payload_bytes_max as usize;
        let pattern = match kind {
            Kind::Random => random_bytes(length, seed),
            Kind::Text => message_text(length, seed),
        };
        Content { pattern, seed }
    }

    /// The bytes of a record's payload, but for its time.
    #[inline]
    pub(super) fn of(&self, sequence: u64, payload_bytes: u32) -> &[u8] {
        let place = (scrambled(self.seed, sequence) % PLACES as u64) as usize;
        &self.pattern[place..place + payload_bytes as usize]
    }

    #[inline]
    pub(super) fn fill(&self, payload: &mut [u8], sequence: u64, time_ns: u64) {
        payload.copy_from_slice(self.of(sequence, payload.len() as u32));
        if let Some(time) = payload.first_chunk_mut::<TIME_BYTES>() {
            *time = time_ns.to_le_bytes();
        }
    }

    /// Whether a payload is that of the record, whatever its time.
    pub(super) fn is_of(&self, payload: &[u8], sequence: u64) -> bool {
        let from = if payload.len() < TIME_BYTES { 0 } else { TIME_BYTES };
        payload[from..] == self.of(sequence, payload.len() as u32)[from..]
    }
}

/// The time in a payload, if it is long enough to hold one.
pub(super) fn time_ns(payload: &[u8]) -> Option<u64> {
    payload.first_chunk::<TIME_BYTES>().map(|time| u64::from_le_bytes(*time))
}

fn random_bytes(length: usize, seed: u64) -> Vec<u8> {
    let words = (0..length.div_ceil(8) as u64).flat_map(|at| scrambled(!seed, at).to_le_bytes());
    words.take(length).collect()
}

fn message_text(length: usize, seed: u64) -> Vec<u8> {
    let mut text = Vec::with_capacity(length + 128);
    let mut number = 0;
    while text.len() < length {
        number += 1;
        let price = scrambled(seed, number) % 10_000;
        let line = format!(
            "8=FIX.4.4|35=D|34={number}|49=BUYER|56=VENUE|55=EURUSD|54=1|38=100000|44=1.{price:04}|"
        );
        text.extend_from_slice(line.as_bytes());
    }
    text.truncate(length);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_known_again_and_a_changed_one_is_not() {
        let content = Content::new(Kind::Random, 300, 5);
        let mut payload = vec![0; 300];
        content.fill(&mut payload, 17, 123);
        assert_eq!(time_ns(&payload), Some(123));
        assert!(content.is_of(&payload, 17));
        assert!(!content.is_of(&payload, 18));
        payload[200] ^= 1;
        assert!(!content.is_of(&payload, 17));
    }

    #[test]
    fn payloads_without_room_for_a_time_are_pattern_alone() {
        let content = Content::new(Kind::Text, 7, 5);
        let mut payload = [0; 7];
        content.fill(&mut payload, 2, u64::MAX);
        assert!(content.is_of(&payload, 2));
        assert_eq!(time_ns(&payload), None);
    }
}
