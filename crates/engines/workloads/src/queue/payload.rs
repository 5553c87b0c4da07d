//! What stands in a message: when it was due, when its append began, which one it is, and bytes that follow from
//! that number.
//!
//! ```text
//! payload   0           8           16       24
//!           | origin ns | start ns  | number | bytes of the pattern |
//! ```
//!
//! The origin is the due time without the driver's own stalls: what the reader waited since then is the response.

use pickfs_workload::scrambled;

pub(super) const BYTES_MIN: usize = 24;
const PLACES: usize = 4096;

#[derive(Debug, Clone)]
pub(super) struct Pattern {
    bytes: Vec<u8>,
    seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) origin_ns: u64,
    pub(super) start_ns: u64,
    pub(super) number: u64,
}

impl Pattern {
    pub(super) fn new(payload_bytes: usize, seed: u64) -> Self {
        let words = (PLACES + payload_bytes).div_ceil(8) as u64;
        Pattern {
            bytes: (0..words).flat_map(|at| scrambled(!seed, at).to_le_bytes()).collect(),
            seed,
        }
    }

    pub(super) fn fill(&self, payload: &mut [u8], number: u64) {
        let (head, rest) = payload.split_at_mut(BYTES_MIN);
        head[16..].copy_from_slice(&number.to_le_bytes());
        rest.copy_from_slice(self.of(number, rest.len()));
    }

    pub(super) fn is_of(&self, payload: &[u8], number: u64) -> bool {
        payload.len() >= BYTES_MIN
            && payload[BYTES_MIN..] == *self.of(number, payload.len() - BYTES_MIN)
    }

    fn of(&self, number: u64, length: usize) -> &[u8] {
        let place = (scrambled(self.seed, number) % PLACES as u64) as usize;
        &self.bytes[place..place + length]
    }
}

/// Stamps the times: the last stores before the append.
#[inline]
pub(super) fn stamp(payload: &mut [u8], origin_ns: u64, start_ns: u64) {
    payload[..8].copy_from_slice(&origin_ns.to_le_bytes());
    payload[8..16].copy_from_slice(&start_ns.to_le_bytes());
}

/// Reads what was stamped; `None` of a payload that is too short.
#[inline]
pub(super) fn told(payload: &[u8]) -> Option<Told> {
    let head = payload.first_chunk::<BYTES_MIN>()?;
    let word = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&head[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    Some(Told { origin_ns: word(0), start_ns: word(8), number: word(16) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_says_what_was_stamped_and_a_changed_one_is_known() {
        let pattern = Pattern::new(100, 7);
        let mut payload = vec![0; 100];
        pattern.fill(&mut payload, 42);
        stamp(&mut payload, 5, 6);
        assert_eq!(told(&payload), Some(Told { origin_ns: 5, start_ns: 6, number: 42 }));
        assert!(pattern.is_of(&payload, 42));
        assert!(!pattern.is_of(&payload, 43));
        payload[99] ^= 1;
        assert!(!pattern.is_of(&payload, 42));
        assert_eq!(told(&payload[..23]), None);
    }
}
