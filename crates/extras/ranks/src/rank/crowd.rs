//! Ten thousand ranks on paper: rank 0 is the real one and does what it does in a trial; each of the others is a list of what
//! it says and what it waits for, one rank a host. Whoever sleeps wakes up as late as it may.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    io,
    rc::Rc,
    time::{Duration, Instant},
};

use pickfs_record::WorkerMessage;

use super::{trial::each_line, *};
use crate::{
    clock::{ROUNDS, asked_by},
    group::{AHEAD_BYTES, NAP_MAX, Wait, above},
    meeting::{Step, meet},
    message::{FolderSeen, SharedFolder, tell},
    mpi::{Transfer, fake::Sent},
};

/// To another host of a rack and back.
const WAY: Duration = Duration::from_micros(100);
/// A word and a rank.
const TOLD_BYTES: usize = 5;
/// What a lane says of a trial.
const WORDS_BYTES: usize = 200_000;
/// Around the text of a note, at most.
const NOTE_BYTES: usize = 100;

#[derive(Clone)]
enum Does {
    Hear(Wait),
    Say(Rc<[u8]>),
    /// In the line of all.
    Tell(u8),
}

#[derive(Default)]
struct Crowd {
    does: Vec<RefCell<VecDeque<Does>>>,
    /// When each one can say what is next.
    from: Vec<Cell<Option<Instant>>>,
    /// Those who tell what is next, in their order.
    tell: RefCell<VecDeque<usize>>,
    asked_for_any: Cell<usize>,
    /// Bytes on their way to rank 0, or in its hands.
    held: Cell<usize>,
    held_max: Cell<usize>,
}

impl Crowd {
    fn new(size: usize) -> Crowd {
        let does = (0..size).map(|_| RefCell::default()).collect();
        let from = (0..size).map(|_| Cell::default()).collect();
        Crowd { does, from, ..Crowd::default() }
    }

    /// All but rank 0 do so next.
    fn all(&self, does: impl Fn(usize) -> Vec<Does>) {
        for rank in 1..self.does.len() {
            let is_idle = self.does[rank].borrow().is_empty();
            self.does[rank].borrow_mut().extend(does(rank));
            if is_idle {
                self.turn_to_next(rank, Duration::ZERO);
            }
        }
    }

    fn turn_to_next(&self, rank: usize, after: Duration) {
        let says = match self.does[rank].borrow().front() {
            Some(Does::Say(bytes)) => bytes.len(),
            Some(Does::Tell(_)) => {
                self.tell.borrow_mut().push_back(rank);
                TOLD_BYTES
            }
            _ => return self.from[rank].set(None),
        };
        self.held.set(self.held.get() + says);
        self.held_max.set(self.held_max.get().max(self.held.get()));
        self.from[rank].set(Some(Instant::now() + after));
    }

    fn gather(&self, words: impl Fn(usize) -> Rc<[u8]>) {
        self.all(|rank| {
            let words = words(rank);
            let length = Does::Say((words.len() as u64).to_le_bytes().as_slice().into());
            vec![length, Does::Hear(Wait::Asleep), Does::Say(words)]
        });
    }

    fn share(&self) {
        let hear = vec![Does::Hear(Wait::Asleep); 2];
        self.all(|rank| if above(rank) == 0 { hear.clone() } else { Vec::new() });
    }

    fn ask_for_time(&self) {
        let round = [Does::Say([0].as_slice().into()), Does::Hear(Wait::Awake)];
        let mut asks: Vec<Does> = (0..ROUNDS).flat_map(|_| round.clone()).collect();
        asks.push(Does::Hear(Wait::Awake));
        self.all(|rank| if asked_by(rank) == 0 { asks.clone() } else { Vec::new() });
    }

    fn is_due(&self, rank: usize) -> bool {
        self.from[rank].get().is_some_and(|from| from <= Instant::now())
    }

    fn said(&self, rank: usize, bytes: usize) -> Option<Does> {
        let said = self.does[rank].borrow_mut().pop_front();
        self.held.set(self.held.get() - bytes);
        self.turn_to_next(rank, Duration::ZERO);
        said
    }
}

struct Coming<'a> {
    from: usize,
    bytes: usize,
    crowd: &'a Crowd,
}

impl Transfer for Coming<'_> {
    fn poll(&mut self) -> Result<Option<Vec<u8>>, RanksError> {
        if !self.crowd.is_due(self.from) {
            return Ok(None);
        }
        match self.crowd.said(self.from, self.bytes) {
            Some(Does::Say(bytes)) if bytes.len() == self.bytes => Ok(Some(bytes.to_vec())),
            _ => panic!("rank {} does not say {} bytes", self.from, self.bytes),
        }
    }
}

struct OfAny<'a>(&'a Crowd);

impl Transfer for OfAny<'_> {
    fn poll(&mut self) -> Result<Option<Vec<u8>>, RanksError> {
        self.0.asked_for_any.set(self.0.asked_for_any.get() + 1);
        let first = self.0.tell.borrow().front().copied();
        let Some(rank) = first.filter(|rank| self.0.is_due(*rank)) else { return Ok(None) };
        self.0.tell.borrow_mut().pop_front();
        match self.0.said(rank, TOLD_BYTES) {
            Some(Does::Tell(word)) => {
                Ok(Some([&[word][..], &(rank as u32).to_le_bytes()].concat()))
            }
            _ => panic!("rank {rank} tells nothing"),
        }
    }
}

impl Mpi for Crowd {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        self.does.len()
    }

    fn name(&self) -> String {
        "a list".into()
    }

    fn send(&self, to: usize, bytes: Vec<u8>) -> Result<Box<dyn Transfer + '_>, RanksError> {
        let heard = self.does[to].borrow_mut().pop_front();
        let Some(Does::Hear(wait)) = heard else { panic!("rank {to} does not listen") };
        self.turn_to_next(to, WAY + if wait == Wait::Asleep { NAP_MAX } else { Duration::ZERO });
        Ok(Box::new(Sent(Some(bytes))))
    }

    fn receive(&self, from: usize, bytes: usize) -> Result<Box<dyn Transfer + '_>, RanksError> {
        Ok(Box::new(Coming { from, bytes, crowd: self }))
    }

    fn tell_first(&self, _bytes: Vec<u8>) -> Result<Box<dyn Transfer + '_>, RanksError> {
        panic!("rank 0 is here")
    }

    fn hear_any(&self, bytes: usize) -> Result<Box<dyn Transfer + '_>, RanksError> {
        assert_eq!(bytes, TOLD_BYTES);
        Ok(Box::new(OfAny(self)))
    }

    fn abort(&self) {}

    fn finish(&self) {}
}

fn facts_of(rank: usize) -> RankFacts {
    let (fs_type, source) = ("nfs4".into(), "server:/export".into());
    RankFacts {
        host: format!("host-{rank}.example.org"),
        boot: format!("{rank:08x}"),
        folder: FolderSeen { fs_type, source, ..FolderSeen::default() },
        ..facts()
    }
}

/// What each step takes at rank 0, and the bytes that it held at most.
fn played(size: usize, words_bytes: usize) -> (Vec<(&'static str, Duration)>, usize) {
    let crowd = Crowd::new(size);
    let folder = tempfile::tempdir().unwrap();
    let shared = SharedFolder { path: folder.path().into(), token: "token".into() };
    same_folder::write(folder.path(), "lab", &shared.token).unwrap();
    let last = (size - 1).to_string();
    same_folder::write(folder.path(), &last, &last).unwrap();
    let order = Order { patience_s: 120.0, folder: None, task: Task::Starts(0) };
    let words = Words::new(false);
    let group = Group::new(&crowd, order.patience());
    let mut rank = Rank { group, words: &words, order, bounds: Bounds::SAME };
    let facts: Vec<Rc<[u8]>> =
        (0..size).map(|rank| serde_json::to_vec(&facts_of(rank)).unwrap().into()).collect();
    let said = WorkerMessage::Note { text: "x".repeat(words_bytes) };
    let said: Rc<[u8]> = serde_json::to_vec(&said).unwrap().into();
    let mut taken = Vec::new();
    let mut began = Instant::now();
    let mut step = |name| {
        taken.push((name, began.elapsed()));
        began = Instant::now();
    };

    crowd.gather(|rank| Rc::clone(&facts[rank]));
    crowd.share();
    rank.meet_each_other(&facts_of(0)).unwrap();
    step("who is there");
    crowd.ask_for_time();
    rank.bounds = bounds(&rank.group, &now_ns).unwrap();
    step("clocks");
    let token: Rc<[u8]> = last.as_bytes().into();
    let length: Rc<[u8]> = (token.len() as u64).to_le_bytes().as_slice().into();
    crowd.all(|rank| match rank {
        1 => vec![Does::Hear(Wait::Asleep); 2],
        rank if rank == size - 1 => vec![Does::Say(length.clone()), Does::Say(token.clone())],
        _ => Vec::new(),
    });
    assert_eq!(same_folder::look(&rank.group, &shared).unwrap().problem, "");
    crowd.gather(|rank| Rc::clone(&facts[rank]));
    rank.gathered(&facts_of(0)).unwrap();
    step("one folder");
    for _ in 0..2 {
        // Ready, and at the end.
        crowd.all(|_| vec![Does::Tell(Step::Ready as u8), Does::Hear(Wait::Asleep)]);
        let own = &mut |_| Some(Step::Ready);
        assert_eq!(meet(&rank.group, false, own).unwrap(), Step::Ready);
    }
    step("two meetings");
    let not_late = Does::Say([0].as_slice().into());
    crowd.all(|_| vec![Does::Hear(Wait::Awake), not_late.clone(), Does::Hear(Wait::Awake)]);
    // Nobody hears of it too late.
    agree(&rank.group, rank.bounds, &|| 0).unwrap();
    step("appointment");
    crowd.gather(|_| Rc::clone(&said));
    let mut told = 0;
    let hand_on = &mut |rank, bytes: Vec<u8>| {
        each_line(rank, &bytes, &mut |said| tell(said, &mut io::sink()));
        told += bytes.len();
        Ok(())
    };
    rank.group.gather(Vec::new(), hand_on).unwrap();
    assert_eq!(told, (size - 1) * said.len());
    step("words of all lanes");
    assert!(crowd.does.iter().all(|does| does.borrow().is_empty()), "all have done all");
    (taken, crowd.held_max.get())
}

mod tests {
    use super::*;

    #[test]
    fn what_rank_0_holds_does_not_grow_with_the_ranks_nor_with_what_they_say() {
        // The last is longer than what is asked for at once: it comes alone.
        for (size, words_bytes) in [(20, AHEAD_BYTES / 4), (1_000, 20_000), (4, AHEAD_BYTES + 1)] {
            let (_, held) = played(size, words_bytes);
            let (own_sizes, all) = (8 * size, size * words_bytes);
            let most = AHEAD_BYTES.max(words_bytes + NOTE_BYTES) + own_sizes;
            assert!(held <= most && all > 2 * AHEAD_BYTES, "{held} of {all}");
        }
    }

    #[test]
    fn a_rank_0_that_waits_asks_once_for_all_ranks_whenever_it_looks() {
        let crowd = Crowd::new(1_000);
        let mut looks = 0;
        let own = &mut |_| {
            looks += 1;
            (looks > 3).then_some(Step::Ready)
        };
        let missing = meet(&Group::new(&crowd, Duration::ZERO), false, own).unwrap_err();
        assert!(missing.to_string().starts_with("rank 1, rank 2, "), "{missing}");
        let asked = crowd.asked_for_any.get();
        assert!(looks == 4 && (4..10).contains(&asked), "{asked} in {looks} looks");
    }

    /// The figures of BENCHMARKS.md.
    #[test]
    #[ignore = "half a minute for the figures of ten thousand ranks"]
    fn ten_thousand_ranks() {
        for size in [100, 1_000, 10_000] {
            let began = Instant::now();
            let (taken, held) = played(size, WORDS_BYTES);
            println!(
                "{size} ranks: {:.1} s, {:.1} MB held",
                began.elapsed().as_secs_f64(),
                held as f64 / 1e6
            );
            for (step, time) in taken {
                println!("    {step:<20} {:>8.3} s", time.as_secs_f64());
            }
        }
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap());
    }
}
