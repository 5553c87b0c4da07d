//! Bytes of a message that follow from its number, behind a head whose last eight bytes are that number.

use pickfs_workload::scrambled;

const PLACES: usize = 4096;

#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    head_bytes: usize,
    bytes: Vec<u8>,
    seed: u64,
}

impl Pattern {
    pub(crate) fn new(payload_bytes: usize, head_bytes: usize, seed: u64) -> Self {
        let words = (PLACES + payload_bytes).div_ceil(8) as u64;
        let bytes = (0..words).flat_map(|at| scrambled(!seed, at).to_le_bytes()).collect();
        Pattern { head_bytes, bytes, seed }
    }

    pub(crate) fn fill(&self, payload: &mut [u8], number: u64) {
        let (head, rest) = payload.split_at_mut(self.head_bytes);
        head[self.head_bytes - 8..].copy_from_slice(&number.to_le_bytes());
        rest.copy_from_slice(self.of(number, rest.len()));
    }

    pub(crate) fn is_of(&self, payload: &[u8], number: u64) -> bool {
        payload.split_at_checked(self.head_bytes).is_some_and(|(head, rest)| {
            head.ends_with(&number.to_le_bytes()) && rest == self.of(number, rest.len())
        })
    }

    fn of(&self, number: u64, length: usize) -> &[u8] {
        let place = (scrambled(self.seed, number) % PLACES as u64) as usize;
        &self.bytes[place..place + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_payload_is_known() {
        let pattern = Pattern::new(100, 24, 7);
        let mut payload = vec![0; 100];
        pattern.fill(&mut payload, 42);
        assert!(pattern.is_of(&payload, 42));
        assert!(!pattern.is_of(&payload, 43));
        payload[99] ^= 1;
        assert!(!pattern.is_of(&payload, 42));
        assert!(!pattern.is_of(&payload[..23], 42));
    }
}
