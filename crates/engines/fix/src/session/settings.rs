#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Acceptor,
    Initiator,
}

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// For a Logon on a new connection, and for the answer to a Logout.
    pub patience_ns: u64,
    /// How far SendingTime may be from our clock; 0 does not look.
    pub clock_tolerance_ns: u64,
    /// For a gap to be filled, before it is asked for again.
    pub gap_ns: u64,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            patience_ns: 10 * SECOND_NS,
            clock_tolerance_ns: 120 * SECOND_NS,
            gap_ns: 5 * SECOND_NS,
        }
    }
}
