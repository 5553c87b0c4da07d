//! All ranks together, over bytes between two of them. Who waits sleeps, and nobody waits for ever: rank 0 asks and
//! answers each one, so that it can name whoever has not come.

use std::{
    collections::HashMap,
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
pub(crate) const NAP_MAX: Duration = Duration::from_millis(20);
/// Looks of who expects an answer at once, before naps begin.
const YIELDS: u32 = 200;
/// The longest message: what one lane says of its trial is some megabytes.
const BYTES_MAX: u64 = 256 << 20;
/// What rank 0 has asked for before its turn: all that it holds of a gathering, beside one longer message. Those who are asked
/// wake up meanwhile, all at once.
pub(crate) const AHEAD_BYTES: usize = 8 << 20;
const TAKE: &str = "take what was sent";
const SAY: &str = "say what was asked";
/// From one who finds out who is missing to the next one who would; see `Group::limit`.
const ANSWER: Duration = Duration::from_secs(10);

pub(crate) struct Group<'m> {
    pub(crate) mpi: &'m dyn Mpi,
    pub(crate) patience: Duration,
    /// For who is there and has only to say so.
    pub(crate) answer: Duration,
    /// By rank, as soon as they are known; no two hosts have one name.
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
        Group { mpi, patience, answer: ANSWER, hosts: Vec::new() }
    }

    pub(crate) fn is_first(&self) -> bool {
        self.mpi.rank() == 0
    }

    pub(crate) fn by_host(&self) -> Vec<Vec<usize>> {
        by_host(self.hosts.iter().map(String::as_str))
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

    /// Whoever is not there is to be named first, and nobody who only waits for it. Rank 0 asks all in order, so that it knows;
    /// who waits for rank 0 waits longer, and longer still who waits for another one, the longer the more of them stand on
    /// the way from rank 0: that one may live, and wait itself. The last one speaks after the patience and five turns, 50 s,
    /// and the lab waits for 60 s more than twice the patience, or than that.
    fn limit(&self, other: usize) -> Duration {
        let deepest = f64::from(self.mpi.size().ilog2() + 1);
        let turns = match other {
            _ if self.is_first() => 2.0,
            0 => 3.0,
            _ => 3.0 + 2.0 * f64::from(self.mpi.rank().count_ones()) / deepest,
        };
        self.patience + self.answer.mul_f64(turns)
    }

    /// For one who waits for nobody else: it is named before anybody who waits for this rank.
    fn soon(&self) -> Duration {
        self.patience + self.answer
    }

    fn over(
        &self,
        mut transfer: Box<dyn Transfer + '_>,
        (other, what): (usize, &str),
        wait: Wait,
        limit: Duration,
    ) -> Result<Vec<u8>, RanksError> {
        let (began, mut naps) = (Instant::now(), Naps::new(wait));
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
        self.over(transfer, (to, TAKE), wait, self.limit(to)).map(drop)
    }

    /// To rank 0, which hears all ranks at once.
    pub(crate) fn tell_first(&self, word: u8) -> Result<(), RanksError> {
        let rank = (self.mpi.rank() as u32).to_le_bytes();
        let transfer = self.mpi.tell_first([&[word][..], &rank].concat())?;
        self.over(transfer, (0, TAKE), Wait::Asleep, self.limit(0)).map(drop)
    }

    /// Exactly so many bytes.
    pub(crate) fn receive(
        &self,
        from: usize,
        bytes: usize,
        wait: Wait,
    ) -> Result<Vec<u8>, RanksError> {
        let is_direct = self.is_first() || from == 0;
        let what = if is_direct { SAY } else { "say what was asked (it may wait for another one)" };
        self.over(self.mpi.receive(from, bytes)?, (from, what), wait, self.limit(from))
    }

    /// The same, of one who waits for nobody else.
    pub(crate) fn receive_soon(
        &self,
        from: usize,
        bytes: usize,
        wait: Wait,
    ) -> Result<Vec<u8>, RanksError> {
        self.over(self.mpi.receive(from, bytes)?, (from, SAY), wait, self.soon())
    }

    /// To one who waits for nobody else.
    pub(crate) fn send_all(&self, to: usize, bytes: Vec<u8>) -> Result<(), RanksError> {
        let length = (bytes.len() as u64).to_le_bytes().into();
        [length, bytes].into_iter().try_for_each(|bytes| {
            let transfer = self.mpi.send(to, bytes)?;
            self.over(transfer, (to, TAKE), Wait::Asleep, self.soon()).map(drop)
        })
    }

    fn length(&self, from: usize) -> Result<usize, RanksError> {
        let length = number(&self.receive(from, 8, Wait::Asleep)?);
        if length > BYTES_MAX {
            let who = self.name(from);
            return Err(RanksError::TooLong { who, bytes: length, limit: BYTES_MAX });
        }
        Ok(length as usize)
    }

    pub(crate) fn receive_all(&self, from: usize) -> Result<Vec<u8>, RanksError> {
        let length = self.length(from)?;
        self.receive(from, length, Wait::Asleep)
    }

    /// What rank 0 has, at all of them; `None` elsewhere. Each hands it on, so that rank 0 sends it as often as its number of
    /// ranks can be halved.
    pub(crate) fn share(&self, from_first: Option<Vec<u8>>) -> Result<Vec<u8>, RanksError> {
        let (own, size) = (self.mpi.rank(), self.mpi.size());
        let bytes = match from_first {
            Some(bytes) => bytes,
            None => self.receive_all(above(own))?,
        };
        let steps = (0..usize::BITS).map(|bit| 1 << bit).take_while(|step| own + step < size);
        let mut below = steps.filter(|step| *step > own).map(|step| own + step);
        below.try_for_each(|rank| self.send_all(rank, bytes.clone()))?;
        Ok(bytes)
    }

    /// Rank 0 hands on what each one has, one after another: it asks for it, and knows how long it is.
    pub(crate) fn gather(
        &self,
        own: Vec<u8>,
        each: &mut dyn FnMut(usize, Vec<u8>) -> Result<(), RanksError>,
    ) -> Result<(), RanksError> {
        if !self.is_first() {
            self.send(0, (own.len() as u64).to_le_bytes().into(), Wait::Asleep)?;
            self.receive(0, 1, Wait::Asleep)?;
            return self.send(0, own, Wait::Asleep);
        }
        each(0, own)?;
        let lengths = (1..self.mpi.size()).map(|rank| self.length(rank));
        let lengths: Vec<usize> = lengths.collect::<Result<_, _>>()?;
        let mut asked = (1..).zip(&lengths).peekable();
        let mut ahead_bytes = 0;
        for (rank, &length) in (1..).zip(&lengths) {
            while let Some((next, bytes)) =
                asked.next_if(|(next, bytes)| *next == rank || ahead_bytes + **bytes <= AHEAD_BYTES)
            {
                self.send(next, vec![1], Wait::Asleep)?;
                ahead_bytes += bytes;
            }
            each(rank, self.receive(rank, length, Wait::Asleep)?)?;
            ahead_bytes -= length;
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

/// The ranks of each host, in the order of their first ones; the first one leads its host.
pub(crate) fn by_host<'a>(hosts: impl Iterator<Item = &'a str>) -> Vec<Vec<usize>> {
    let (mut places, mut ranks) = (HashMap::new(), Vec::<Vec<usize>>::new());
    for (rank, host) in hosts.enumerate() {
        let place = *places.entry(host).or_insert(ranks.len());
        match ranks.get_mut(place) {
            Some(known) => known.push(rank),
            None => ranks.push(vec![rank]),
        }
    }
    ranks
}

/// From whom a rank has what is shared: its number without the highest bit.
pub(crate) fn above(rank: usize) -> usize {
    rank.checked_ilog2().map_or(0, |bit| rank - (1 << bit))
}

pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::fake::all;

    #[test]
    fn what_the_first_rank_has_all_have_and_what_each_has_the_first_one_gets_in_order() {
        let given = all(5, |mpi| {
            let group = Group::new(&mpi, Duration::from_secs(60));
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

    /// Ranks 3, 5 and 7 hear by way of rank 1, which never comes: whether rank 0 asks them next, or is busy.
    #[test]
    fn of_a_rank_that_hands_nothing_on_the_first_word_is_its_own_name() {
        for (asks, named) in [(true, 1), (false, 2)] {
            let given = all(8, |mpi| {
                let answer = Duration::from_millis(100);
                let group = Group { answer, ..Group::new(&mpi, Duration::ZERO) };
                let heard = || {
                    group.share(group.is_first().then(|| b"words".to_vec()))?;
                    if asks { group.gather(Vec::new(), &mut |_, _| Ok(())) } else { Ok(()) }
                };
                match (mpi.rank() != 1).then(heard) {
                    Some(Err(RanksError::Missing { who, what, limit_s })) => {
                        Some((limit_s, who, what))
                    }
                    Some(Err(other)) => panic!("{other} without rank 1"),
                    _ => None,
                }
            });
            let limits_s = given.iter().flatten().map(|(limit_s, ..)| *limit_s);
            let first_s = limits_s.fold(f64::MAX, f64::min);
            let first = given.iter().flatten().filter(|(limit_s, ..)| *limit_s == first_s);
            let first: Vec<_> = first.map(|(_, who, _)| who).collect();
            assert_eq!(first, vec!["rank 1"; named], "{given:?}");
            let (_, who, what) = given[7].as_ref().unwrap();
            assert!(who == "rank 3" && what.contains("may wait for another one"), "{given:?}");
        }
    }

    #[test]
    fn what_is_shared_comes_from_one_rank_and_the_first_one_sends_it_seldom() {
        let sent_by = |rank: usize| (1..10_000).filter(|below| above(*below) == rank).count();
        assert_eq!([0, 1, 1_000, 9_999].map(sent_by), [14, 13, 4, 0]);
        let way =
            |rank| std::iter::successors(Some(rank), |rank| (*rank > 0).then(|| above(*rank)));
        assert_eq!((0..10_000).map(|rank| way(rank).count() - 1).max(), Some(13));
    }

    #[test]
    fn ranks_are_put_together_by_host() {
        let ranks = by_host(["a", "b", "a", "c", "b"].into_iter());
        assert_eq!(ranks, [vec![0, 2], vec![1, 4], vec![3]]);
    }
}
