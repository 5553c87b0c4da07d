//! What stands in a message: when it was due, when its append began, which one it is, and bytes that follow from
//! that number.
//!
//! ```text
//! payload   0           8           16       24
//!           | origin ns | start ns  | number | bytes of the pattern |
//! ```
//!
//! The origin is the due time without the driver's own stalls: what the reader waited since then is the response.

pub(super) const BYTES_MIN: usize = 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) origin_ns: u64,
    pub(super) start_ns: u64,
    pub(super) number: u64,
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
    fn a_payload_says_what_was_stamped() {
        let mut payload = [0; 30];
        payload[16] = 42;
        stamp(&mut payload, 5, 6);
        assert_eq!(told(&payload), Some(Told { origin_ns: 5, start_ns: 6, number: 42 }));
        assert_eq!(told(&payload[..23]), None);
    }
}
