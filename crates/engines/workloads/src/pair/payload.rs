use pickfs_workload::scrambled;

pub(super) const BYTES_MIN: usize = 8;
const PLACES: usize = 4096;

#[derive(Debug, Clone)]
pub(super) struct Pattern {
    bytes: Vec<u8>,
    seed: u64,
}

impl Pattern {
    pub(super) fn new(payload_bytes: usize, seed: u64) -> Self {
        let words = (PLACES + payload_bytes).div_ceil(8) as u64;
        let bytes = (0..words).flat_map(|at| scrambled(!seed, at).to_le_bytes()).collect();
        Pattern { bytes, seed }
    }

    pub(super) fn fill(&self, payload: &mut [u8], number: u64) {
        let (head, rest) = payload.split_at_mut(BYTES_MIN);
        head.copy_from_slice(&number.to_le_bytes());
        rest.copy_from_slice(self.of(number, rest.len()));
    }

    pub(super) fn is_of(&self, payload: &[u8], number: u64) -> bool {
        payload.split_at_checked(BYTES_MIN).is_some_and(|(head, rest)| {
            head == number.to_le_bytes() && rest == self.of(number, rest.len())
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
        let pattern = Pattern::new(100, 7);
        let mut payload = vec![0; 100];
        pattern.fill(&mut payload, 42);
        assert!(pattern.is_of(&payload, 42));
        assert!(!pattern.is_of(&payload, 43));
        payload[99] ^= 1;
        assert!(!pattern.is_of(&payload, 42));
        assert!(!pattern.is_of(&payload[..7], 42));
    }
}
