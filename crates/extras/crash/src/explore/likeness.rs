//! Which states are the same image, told without making them.
//!
//! The XOR over all sectors that the recording changed of a hash of place and bytes: moving the safe end of the log
//! moves it by as many sectors, and a state by those of its pieces. A sector that is as it was before the recording
//! counts as nothing until it is written, so that one written with its old bytes counts as another image: a state is
//! then looked at twice, and never passed over.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use crate::log::{Log, Position, Put, Remains, SECTOR};

#[derive(Debug, Clone)]
pub struct Likeness<'l> {
    log: &'l Log,
    /// Before it all states are the same.
    start: Position,
    safe: Position,
    sectors: Sectors,
}

#[derive(Debug, Clone, Default)]
struct Sectors {
    hashes: HashMap<u64, u64>,
    all: u64,
}

impl Sectors {
    fn set(&mut self, sector: u64, hash: u64) {
        self.all ^= hash ^ self.hashes.insert(sector, hash).unwrap_or(0);
    }
}

impl Put for Sectors {
    fn put(&mut self, offset_bytes: u64, bytes: &[u8]) {
        for (at, bytes) in bytes.chunks(SECTOR as usize).enumerate() {
            let sector = offset_bytes / SECTOR + at as u64;
            self.set(sector, hash(sector, bytes));
        }
    }

    fn zero(&mut self, offset_bytes: u64, length_bytes: u64) {
        for sector in offset_bytes / SECTOR..(offset_bytes + length_bytes) / SECTOR {
            self.set(sector, hash(sector, &[]));
        }
    }
}

/// Zeros hash as nothing at all does.
fn hash(sector: u64, bytes: &[u8]) -> u64 {
    let is_zero = bytes.iter().all(|byte| *byte == 0);
    let mut hasher = DefaultHasher::new();
    (sector, if is_zero { &[] } else { bytes }).hash(&mut hasher);
    hasher.finish()
}

impl<'l> Likeness<'l> {
    pub fn new(log: &'l Log, start: Position) -> Self {
        Self { log, start, safe: start, sectors: Sectors::default() }
    }

    /// Quick where states come with a safe end that rises.
    pub fn of(&mut self, remains: &Remains) -> u64 {
        if remains.safe < self.safe {
            (self.safe, self.sectors) = (self.start, Sectors::default());
        }
        self.log.put(self.safe, remains.safe, &mut self.sectors);
        self.safe = remains.safe;
        let mut above = Sectors::default();
        self.log.put_kept(&remains.kept, &mut above);
        let below = &self.sectors.hashes;
        let change = |(sector, hash): (&u64, &u64)| hash ^ below.get(sector).unwrap_or(&0);
        self.sectors.all ^ above.hashes.iter().map(change).fold(0, |all, one| all ^ one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::{Kept, Plan, State};
    use crate::log::What;
    use crate::model::Windows;
    use proptest::prelude::*;

    fn log(writes: &[(u64, u8)]) -> Log {
        let write = |(sector, byte): &(u64, u8)| match byte {
            0 => What::Flush,
            1 => What::Discard { sector: *sector, sectors: 2 },
            _ => What::Write { sector: *sector, data: vec![*byte; 1024].into(), fua: false },
        };
        Log::of(16 * 512, 0xA5, writes.iter().map(write))
    }

    proptest! {
        /// Bytes of 0xA5 are never written, so that an image is the same exactly where the hash is.
        #[test]
        fn images_are_alike_exactly_where_their_hashes_are(
            writes in proptest::collection::vec((0u64..14, 0u8..6), 1..12), seed in any::<u64>()
        ) {
            let log = log(&writes);
            let crash = "power-loss:any-order/512/honest".parse().unwrap();
            let windows = Windows::new(&log, Position(0), crash);
            let mut likeness = Likeness::new(&log, Position(0));
            let mut seen = HashMap::new();
            let end = State::new(crash, log.end(), Kept::All);
            let plan = Plan { states: 60, seed };
            for state in plan.states(&windows).chain([end]) {
                let remains = state.remains(&windows).unwrap();
                let image = log.image_of(&remains);
                let mut bytes = [0; 16 * 512];
                image.read(0, &mut bytes);
                let hash = likeness.of(&remains);
                prop_assert_eq!(Likeness::new(&log, Position(0)).of(&remains), hash);
                let known = seen.entry(bytes).or_insert(hash);
                prop_assert_eq!(*known, hash);
            }
            let hashes: std::collections::HashSet<_> = seen.values().collect();
            prop_assert_eq!(hashes.len(), seen.len());
        }
    }
}
