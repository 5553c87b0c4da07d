use std::fmt;

/// The reign of one primary.
///
/// `term` rises by a promotion and by nothing else; two nodes that are promoted at once differ by their number;
/// and a primary that starts again in its place has the same term and a later `start`. So an old primary that
/// comes back never outranks the one that was promoted meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch {
    term: u32,
    node: u8,
    start: u32,
}

const STARTS: u32 = 1 << 24;

impl Epoch {
    pub const NONE: Epoch = Epoch { term: 0, node: 0, start: 0 };

    pub fn promoted(self, node: u8) -> Epoch {
        Epoch { term: self.term + 1, node, start: 1 }
    }

    pub fn restarted(self) -> Epoch {
        Epoch { start: self.start + 1, ..self }
    }

    /// Promotions up to it; 0 before any primary.
    pub fn term(self) -> u32 {
        self.term
    }

    /// The one that reigns; 0 before any.
    pub fn node(self) -> u8 {
        self.node
    }

    /// As it travels and is stored: term, node and start, from the highest bit down.
    pub fn bits(self) -> u64 {
        u64::from(self.term) << 32 | u64::from(self.node) << 24 | u64::from(self.start % STARTS)
    }

    pub fn from_bits(bits: u64) -> Epoch {
        let start = bits as u32 % STARTS;
        Epoch { term: (bits >> 32) as u32, node: (bits >> 24) as u8, start }
    }

    pub fn parse(text: &str) -> Option<Epoch> {
        let mut words = text.splitn(3, '.');
        let (term, node) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let start: u32 = words.next()?.parse().ok()?;
        (start < STARTS).then_some(Epoch { term, node, start })
    }
}

/// `2.1.3`: the second term, of node 1, which started for the third time in it.
impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.term, self.node, self.start)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    pub epoch: Epoch,
    /// From 1; 0 where there is none.
    pub sequence: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begin {
    pub epoch: Epoch,
    pub first_sequence: u64,
}

/// The last message of an epoch, as the history of epochs and the last message of all tell it; `None` for an
/// epoch that the history does not hold.
pub fn end_of(history: &[Begin], last: u64, epoch: Epoch) -> Option<u64> {
    if epoch == Epoch::NONE {
        return Some(0);
    }
    let at = history.iter().position(|begin| begin.epoch == epoch)?;
    Some(history.get(at + 1).map_or(last, |next| next.first_sequence - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promotion_outranks_every_restart_and_two_nodes_never_have_the_same_epoch() {
        let first = Epoch::NONE.promoted(9);
        assert!(first.promoted(2) > first.restarted().restarted());
        assert!(first.restarted() > first);
        assert_ne!(first.promoted(2), first.promoted(3));
        assert_eq!(first.promoted(2).restarted().to_string(), "2.2.2");
    }

    #[test]
    fn an_epoch_is_the_same_after_the_wire_and_after_the_file() {
        let epoch = Epoch::NONE.promoted(3).promoted(200).restarted();
        assert_eq!(Epoch::from_bits(epoch.bits()), epoch);
        assert_eq!(Epoch::parse(&epoch.to_string()), Some(epoch));
        for text in ["", "1.2", "1.2.3.4", "1.256.1", "1.2.16777216", "a.b.c"] {
            assert_eq!(Epoch::parse(text), None, "{text}");
        }
        assert!(epoch.bits() > Epoch::NONE.promoted(3).bits());
    }

    #[test]
    fn an_epoch_ends_where_the_next_begins() {
        let one = Epoch::NONE.promoted(1);
        let two = one.promoted(2);
        let begin = |epoch, first_sequence| Begin { epoch, first_sequence };
        let history = [begin(one, 1), begin(two, 11)];
        assert_eq!(end_of(&history, 15, one), Some(10));
        assert_eq!(end_of(&history, 15, two), Some(15));
        assert_eq!(end_of(&history, 15, two.promoted(3)), None);
        assert_eq!(end_of(&history, 15, Epoch::NONE), Some(0));
    }
}
