//! Which chunk a seek goes to, and which seeks also write. One number of the stream is one ticket.
//!
//! The chunk is the number modulo the count of chunks, and a number that ends in 0 asks for an
//! update. The count of chunks is mostly even: then only even chunks are ever updated, and only
//! every tenth where the count is a multiple of ten. bonnie++ does the same; it is kept.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::rand::CRand;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) chunk: u64,
    pub(super) is_update: bool,
}

#[derive(Debug)]
pub(super) struct Tickets {
    numbers: Vec<u32>,
    chunks: u64,
    next: AtomicUsize,
}

impl Tickets {
    pub(super) fn draw(seeks: u32, chunks: u64, stream: &mut CRand) -> Tickets {
        let numbers = (0..seeks).map(|_| stream.next()).collect();
        Tickets { numbers, chunks: chunks.max(1), next: AtomicUsize::new(0) }
    }

    pub(super) fn count(&self) -> u32 {
        self.numbers.len() as u32
    }

    #[inline]
    pub(super) fn take(&self) -> Option<Ticket> {
        let number = *self.numbers.get(self.next.fetch_add(1, Relaxed))?;
        Some(Ticket { chunk: u64::from(number) % self.chunks, is_update: number % 10 == 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(tickets: &Tickets) -> Vec<Ticket> {
        std::iter::from_fn(|| tickets.take()).collect()
    }

    /// Offsets seen in a system call trace of bonnie++ 2.00a with `-s 4:8k:100:1 -z 42`.
    #[test]
    fn offsets_and_updates_are_those_of_bonnie() {
        let tickets = Tickets::draw(100, 512, &mut CRand::new(42));
        let all = all(&tickets);
        let offsets: Vec<u64> = all.iter().map(|ticket| ticket.chunk * 8192).collect();
        assert_eq!(offsets[..6], [573_440, 819_200, 401_408, 2_433_024, 2_916_352, 3_194_880]);
        let updates: Vec<usize> =
            all.iter().enumerate().filter(|(_, t)| t.is_update).map(|(place, _)| place).collect();
        assert_eq!(updates[..2], [1, 7]);
        assert_eq!((all.len(), tickets.count()), (100, 100));
    }

    /// 1000 MiB in chunks of 8 KiB: 128,000 of them.
    #[test]
    fn updates_fall_on_every_tenth_chunk_where_the_count_is_a_multiple_of_ten() {
        let tickets = Tickets::draw(8192, 128_000, &mut CRand::new(42));
        let updates: Vec<Ticket> = all(&tickets).into_iter().filter(|t| t.is_update).collect();
        assert_eq!(updates.len(), 822);
        assert!(updates.iter().all(|ticket| ticket.chunk % 10 == 0));
    }
}
