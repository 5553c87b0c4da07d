//! What is used of MPI: bytes from one rank to another, begun at once and over when it is over. Collectives are made
//! of them (`group.rs`), so that rank 0 knows who has not come, which no barrier tells.

use crate::error::RanksError;

pub(crate) trait Mpi {
    fn rank(&self) -> usize;

    fn size(&self) -> usize;

    /// `Open MPI v4.1.4`
    fn name(&self) -> String;

    fn send(&self, to: usize, bytes: Vec<u8>) -> Result<Box<dyn Transfer + '_>, RanksError>;

    /// Exactly so many bytes.
    fn receive(&self, from: usize, bytes: usize) -> Result<Box<dyn Transfer + '_>, RanksError>;

    /// Beside what is sent to rank 0, in a line of its own.
    fn tell_first(&self, bytes: Vec<u8>) -> Result<Box<dyn Transfer + '_>, RanksError>;

    /// What any rank told rank 0, exactly so many bytes: one question for ten thousand ranks.
    fn hear_any(&self, bytes: usize) -> Result<Box<dyn Transfer + '_>, RanksError>;

    /// Asks the launcher to end all ranks. It may hang.
    fn abort(&self);

    /// Nothing is under way any more.
    fn finish(&self);
}

pub(crate) trait Transfer {
    /// The bytes, once: when it is over. Never waits.
    fn poll(&mut self) -> Result<Option<Vec<u8>>, RanksError>;
}

#[cfg(test)]
pub(crate) mod fake {
    //! Ranks that are threads of a test.

    use std::{
        collections::{HashMap, VecDeque},
        sync::{Arc, Mutex},
        thread,
    };

    use super::*;

    /// In the place of a rank.
    const ANY: usize = usize::MAX;

    /// From a rank to a rank.
    type Lines = HashMap<(usize, usize), VecDeque<Vec<u8>>>;

    #[derive(Default)]
    struct World {
        size: usize,
        under_way: Mutex<Lines>,
        sent: Mutex<HashMap<(usize, usize), u64>>,
    }

    #[derive(Clone)]
    pub(crate) struct FakeMpi {
        rank: usize,
        world: Arc<World>,
    }

    /// What each rank gave, in order; all of them run at once.
    pub(crate) fn all<T: Send>(size: usize, work: impl Fn(FakeMpi) -> T + Sync) -> Vec<T> {
        let world = Arc::new(World { size, ..World::default() });
        thread::scope(|scope| {
            let ranks = (0..size).map(|rank| {
                let mpi = FakeMpi { rank, world: Arc::clone(&world) };
                let work = &work;
                scope.spawn(move || work(mpi))
            });
            let ranks: Vec<_> = ranks.collect();
            ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect()
        })
    }

    impl FakeMpi {
        /// Messages, until now.
        pub(crate) fn sent(&self, from: usize, to: usize) -> u64 {
            self.world.sent.lock().expect("no panic").get(&(from, to)).copied().unwrap_or(0)
        }

        fn put(&self, line: (usize, usize), bytes: Vec<u8>) -> Box<dyn Transfer + '_> {
            let mut under_way = self.world.under_way.lock().expect("no panic");
            under_way.entry(line).or_default().push_back(bytes.clone());
            let mut sent = self.world.sent.lock().expect("no panic");
            *sent.entry((self.rank, line.1)).or_default() += 1;
            Box::new(Sent(Some(bytes)))
        }
    }

    pub(crate) struct Sent(pub(crate) Option<Vec<u8>>);

    impl Transfer for Sent {
        fn poll(&mut self) -> Result<Option<Vec<u8>>, RanksError> {
            Ok(self.0.take())
        }
    }

    struct Coming {
        from: usize,
        bytes: usize,
        to: FakeMpi,
    }

    impl Transfer for Coming {
        fn poll(&mut self) -> Result<Option<Vec<u8>>, RanksError> {
            let mut under_way = self.to.world.under_way.lock().expect("no panic");
            let line = under_way.entry((self.from, self.to.rank)).or_default();
            let Some(bytes) = line.pop_front() else { return Ok(None) };
            assert_eq!(bytes.len(), self.bytes, "from {} to {}", self.from, self.to.rank);
            Ok(Some(bytes))
        }
    }

    impl Mpi for FakeMpi {
        fn rank(&self) -> usize {
            self.rank
        }

        fn size(&self) -> usize {
            self.world.size
        }

        fn name(&self) -> String {
            "threads".into()
        }

        fn send(&self, to: usize, bytes: Vec<u8>) -> Result<Box<dyn Transfer + '_>, RanksError> {
            Ok(self.put((self.rank, to), bytes))
        }

        fn receive(&self, from: usize, bytes: usize) -> Result<Box<dyn Transfer + '_>, RanksError> {
            Ok(Box::new(Coming { from, bytes, to: self.clone() }))
        }

        fn tell_first(&self, bytes: Vec<u8>) -> Result<Box<dyn Transfer + '_>, RanksError> {
            Ok(self.put((ANY, 0), bytes))
        }

        fn hear_any(&self, bytes: usize) -> Result<Box<dyn Transfer + '_>, RanksError> {
            self.receive(ANY, bytes)
        }

        fn abort(&self) {}

        fn finish(&self) {}
    }
}
