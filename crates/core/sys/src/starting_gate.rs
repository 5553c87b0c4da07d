//! A gate at which several processes wait for each other, again and again: the last one to come
//! opens it for all. A process that cannot go on breaks it, and nobody waits for ever.
//! Layout: 64-bit words of the machine's byte order: processes, arrived, round, broken, and the round, from 1, to which
//! those have come who wait elsewhere. The low half of `round` is the futex. Waiting has a time-out, so that a lost wake-up costs time and
//! never a deadlock.
#![allow(unsafe_code)]

use crate::shared_memory::{Kind, Shared};
use std::io;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

const PROCESSES: usize = 0;
const ARRIVED: usize = 1;
const ROUND: usize = 2;
const BROKEN: usize = 3;
const OTHERS: usize = 4;
/// Longest sleep before the round is looked at again.
const LOOK_EACH_MS: i64 = 200;

pub const BROKEN_TEXT: &str = "another lane of the trial has failed";

pub type StartingGate = Shared<Gate>;

#[derive(Debug)]
pub enum Gate {}

impl Kind for Gate {
    const VARIABLE: &'static str = "PICKFS_STARTING_GATE_FD";
    const WORDS: usize = 512;
}

impl Shared<Gate> {
    /// At least one process.
    pub fn create(processes: u32) -> io::Result<Self> {
        let gate = Self::zeros()?;
        gate.word(PROCESSES).store(u64::from(processes.max(1)), Release);
        Ok(gate)
    }

    /// Fails with [`io::ErrorKind::BrokenPipe`] when one of them has broken the gate.
    pub fn pass(&self) -> io::Result<()> {
        let round = self.word(ROUND);
        let mine = round.load(Acquire);
        if self.word(ARRIVED).fetch_add(1, AcqRel) + 1 == self.word(PROCESSES).load(Relaxed) {
            self.word(ARRIVED).store(0, Release);
            round.fetch_add(1, AcqRel);
            self.wake_all();
        }
        while round.load(Acquire) == mine {
            if self.is_broken() {
                return Err(io::Error::new(io::ErrorKind::BrokenPipe, BROKEN_TEXT));
            }
            self.sleep(mine as u32);
        }
        Ok(())
    }

    /// For one that has not come yet: that all others wait for it, or that nobody does any more.
    pub fn others_wait(&self) -> bool {
        self.word(ARRIVED).load(Acquire) + 1 >= self.word(PROCESSES).load(Relaxed)
            || self.word(OTHERS).load(Acquire) > self.word(ROUND).load(Acquire)
            || self.is_broken()
    }

    /// For one who comes last and stands for lanes on other hosts: they all wait.
    pub fn tell_others_wait(&self) {
        self.word(OTHERS).store(self.word(ROUND).load(Acquire) + 1, Release);
    }

    pub fn somebody_waits(&self) -> bool {
        self.word(ARRIVED).load(Acquire) > 0
    }

    pub fn break_open(&self) {
        self.word(BROKEN).store(1, Release);
        self.wake_all();
    }

    pub fn is_broken(&self) -> bool {
        self.word(BROKEN).load(Acquire) != 0
    }

    fn futex(&self) -> *mut u32 {
        let word = std::ptr::from_ref(self.word(ROUND)).cast_mut().cast::<u32>();
        // The low half of the word, wherever this machine keeps it.
        if cfg!(target_endian = "big") { word.wrapping_add(1) } else { word }
    }

    fn sleep(&self, round: u32) {
        let time = libc::timespec { tv_sec: 0, tv_nsec: LOOK_EACH_MS * 1_000_000 };
        // SAFETY: the address is a mapped, aligned word that lives as long as `self`; the kernel
        // only compares it. All outcomes mean the same: look again.
        unsafe { libc::syscall(libc::SYS_futex, self.futex(), libc::FUTEX_WAIT, round, &time) };
    }

    fn wake_all(&self) {
        // SAFETY: as above; waking reads nothing.
        unsafe { libc::syscall(libc::SYS_futex, self.futex(), libc::FUTEX_WAKE, i32::MAX) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn nobody_is_a_round_ahead() {
        let gate = Arc::new(StartingGate::create(4).unwrap());
        let inside = Arc::new(AtomicU32::new(0));
        let runner = |_| {
            let (gate, inside) = (Arc::clone(&gate), Arc::clone(&inside));
            std::thread::spawn(move || {
                for round in 1..=200u32 {
                    inside.fetch_add(1, AcqRel);
                    gate.pass().unwrap();
                    // All four came in this round, and none is in the next but one.
                    let seen = inside.load(Acquire);
                    assert!((4 * round..=4 * round + 4).contains(&seen), "{seen} in {round}");
                    gate.pass().unwrap();
                }
            })
        };
        (0..4).map(runner).collect::<Vec<_>>().into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(inside.load(Acquire), 800);
    }

    #[test]
    fn a_broken_gate_lets_nobody_wait() {
        let gate = Arc::new(StartingGate::create(2).unwrap());
        let waiting = Arc::clone(&gate);
        let waiter = std::thread::spawn(move || waiting.pass());
        // SLEEP: mostly it waits by then; the answer is the same when it comes later.
        std::thread::sleep(std::time::Duration::from_millis(20));
        gate.break_open();
        assert_eq!(waiter.join().unwrap().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn the_last_one_sees_that_all_others_wait() {
        let gate = Arc::new(StartingGate::create(2).unwrap());
        assert!(!gate.others_wait());
        let other = Arc::clone(&gate);
        let waiter = std::thread::spawn(move || other.pass());
        while !gate.others_wait() {
            std::thread::yield_now();
        }
        gate.pass().unwrap();
        waiter.join().unwrap().unwrap();
        assert!(!gate.others_wait(), "the next round");
        gate.break_open();
        assert!(gate.others_wait());
    }

    #[test]
    fn who_stands_for_others_tells_of_them_without_coming() {
        let gate = Arc::new(StartingGate::create(2).unwrap());
        gate.tell_others_wait();
        assert!(gate.others_wait() && !gate.somebody_waits());
        let lane = Arc::clone(&gate);
        let waiter = std::thread::spawn(move || lane.pass());
        while !gate.somebody_waits() {
            std::thread::yield_now();
        }
        gate.pass().unwrap();
        waiter.join().unwrap().unwrap();
        assert!(!gate.others_wait(), "they are told of for one passage");
    }

    #[test]
    fn a_gate_for_one_is_always_open() {
        let gate = StartingGate::create(1).unwrap();
        assert!((0..3).all(|_| gate.pass().is_ok()));
        assert!(StartingGate::inherited().unwrap().is_none());
    }
}
