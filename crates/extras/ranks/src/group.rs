//! All ranks together, over bytes between two of them. Who waits sleeps, and nobody waits for ever: rank 0 asks and
//! answers each one, so that it can name whoever has not come.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::{
    error::RanksError,
    mpi::{Mpi, Transfer},
};

/// Between two looks: short at first, so that an answer that is on its way is taken at once, and long enough in the end
/// that a waiting rank takes no part of a processor that counts.
const NAP: Duration = Duration::from_micros(200);
const NAP_MAX: Duration = Duration::from_millis(20);
/// Looks of who expects an answer at once, before naps begin.
const YIELDS: u32 = 200;
/// The longest message: what one lane says of its trial is some megabytes.
const BYTES_MAX: u64 = 256 << 20;
/// Rank 0 finds out first who is missing, and says so; who waits for its answer waits for so much longer.
pub(crate) const ANSWER: Duration = Duration::from_secs(10);

pub(crate) struct Group<'m> {
    pub(crate) mpi: &'m dyn Mpi,
    pub(crate) patience: Duration,
    /// By rank, as far as they are known.
    pub(crate) hosts: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    Asleep,
    /// The answer is on its way.
    Awake,
}

pub(crate) struct Naps {
    looks: u32,
    yields: u32,
    nap: Duration,
}

impl Naps {
    pub(crate) fn new(wait: Wait) -> Naps {
        let yields = if wait == Wait::Awake { YIELDS } else { 0 };
        Naps { looks: 0, yields, nap: NAP }
    }

    pub(crate) fn take(&mut self) {
        self.looks += 1;
        if self.looks <= self.yields {
            thread::yield_now();
            return;
        }
        thread::sleep(self.nap);
        self.nap = (self.nap + self.nap / 4).min(NAP_MAX);
    }
}

impl<'m> Group<'m> {
    pub(crate) fn new(mpi: &'m dyn Mpi, patience: Duration) -> Group<'m> {
        Group { mpi, patience, hosts: Vec::new() }
    }

    pub(crate) fn is_first(&self) -> bool {
        self.mpi.rank() == 0
    }

    /// `rank 2 on h3`
    pub(crate) fn name(&self, rank: usize) -> String {
        match self.hosts.get(rank) {
            Some(host) => format!("rank {rank} on {host}"),
            None => format!("rank {rank}"),
        }
    }

    pub(crate) fn missing(&self, ranks: &[usize], what: &str, limit: Duration) -> RanksError {
        let names: Vec<String> = ranks.iter().take(8).map(|rank| self.name(*rank)).collect();
        let more = match ranks.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let who = names.join(", ") + &more;
        RanksError::Missing { who, what: what.into(), limit_s: limit.as_secs_f64() }
    }

    fn over(
        &self,
        mut transfer: Box<dyn Transfer + '_>,
        (other, what): (usize, &str),
        wait: Wait,
    ) -> Result<Vec<u8>, RanksError> {
        let (began, mut naps, limit) = (Instant::now(), Naps::new(wait), self.patience + ANSWER);
        loop {
            if let Some(bytes) = transfer.poll()? {
                return Ok(bytes);
            }
            if began.elapsed() > limit {
                return Err(self.missing(&[other], what, limit));
            }
            naps.take();
        }
    }

    pub(crate) fn send(&self, to: usize, bytes: Vec<u8>, wait: Wait) -> Result<(), RanksError> {
        let transfer = self.mpi.send(to, bytes)?;
        self.over(transfer, (to, "take what was sent"), wait).map(drop)
    }

    /// Exactly so many bytes.
    pub(crate) fn receive(
        &self,
        from: usize,
        bytes: usize,
        wait: Wait,
    ) -> Result<Vec<u8>, RanksError> {
        let transfer = self.mpi.receive(from, bytes)?;
        self.over(transfer, (from, "say what was asked"), wait)
    }

    fn send_all(&self, to: usize, bytes: Vec<u8>) -> Result<(), RanksError> {
        self.send(to, (bytes.len() as u64).to_le_bytes().into(), Wait::Asleep)?;
        self.send(to, bytes, Wait::Asleep)
    }

    fn receive_all(&self, from: usize) -> Result<Vec<u8>, RanksError> {
        let length = number(&self.receive(from, 8, Wait::Asleep)?);
        if length > BYTES_MAX {
            let who = self.name(from);
            return Err(RanksError::TooLong { who, bytes: length, limit: BYTES_MAX });
        }
        self.receive(from, length as usize, Wait::Asleep)
    }

    /// What rank 0 has, at all of them; `None` elsewhere.
    pub(crate) fn share(&self, from_first: Option<Vec<u8>>) -> Result<Vec<u8>, RanksError> {
        let Some(bytes) = from_first else { return self.receive_all(0) };
        (1..self.mpi.size()).try_for_each(|rank| self.send_all(rank, bytes.clone()))?;
        Ok(bytes)
    }

    /// Rank 0 hands on what each one has, one after another: it asks for it, so it never holds more than one.
    pub(crate) fn gather(
        &self,
        own: Vec<u8>,
        each: &mut dyn FnMut(usize, Vec<u8>) -> Result<(), RanksError>,
    ) -> Result<(), RanksError> {
        if !self.is_first() {
            self.receive(0, 1, Wait::Asleep)?;
            return self.send_all(0, own);
        }
        each(0, own)?;
        for rank in 1..self.mpi.size() {
            self.send(rank, vec![1], Wait::Asleep)?;
            each(rank, self.receive_all(rank)?)?;
        }
        Ok(())
    }

    /// The largest of what each one has now.
    pub(crate) fn most(&self, own: u8, wait: Wait) -> Result<u8, RanksError> {
        if !self.is_first() {
            self.send(0, vec![own], wait)?;
            return Ok(self.receive(0, 1, wait)?[0]);
        }
        let mut most = own;
        for rank in 1..self.mpi.size() {
            most = most.max(self.receive(rank, 1, wait)?[0]);
        }
        (1..self.mpi.size()).try_for_each(|rank| self.send(rank, vec![most], wait))?;
        Ok(most)
    }
}

pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::SeqCst;

    use super::*;
    use crate::mpi::fake::all;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn what_the_first_rank_has_all_have_and_what_each_has_the_first_one_gets_in_order() {
        let (given, _) = all(5, |mpi| {
            let group = Group::new(&mpi, PATIENCE);
            let shared = group.share(group.is_first().then(|| b"words".to_vec())).unwrap();
            let mut got = Vec::new();
            let own = vec![mpi.rank() as u8; mpi.rank()];
            let each = &mut |rank, bytes: Vec<u8>| {
                got.push((rank, bytes.len()));
                Ok(())
            };
            group.gather(own, each).unwrap();
            (shared, got, group.most(mpi.rank() as u8, Wait::Awake).unwrap())
        });
        assert!(given.iter().all(|(shared, ..)| shared == b"words"));
        assert_eq!(given[0].1, [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]);
        assert!(given.iter().all(|(_, _, most)| *most == 4));
    }

    /// At the first rank, which is what a thousand ranks must not fill.
    #[test]
    fn memory_of_a_gathering_does_not_grow_with_the_ranks() {
        let held = |ranks: usize| {
            let (_, world) = all(ranks, |mpi| {
                let group = Group::new(&mpi, PATIENCE);
                group.gather(vec![7; 100_000], &mut |_, _| Ok(())).unwrap();
            });
            world.waiting_bytes_max.load(SeqCst)
        };
        assert_eq!((held(2), held(24)), (100_008, 100_008));
    }
}
