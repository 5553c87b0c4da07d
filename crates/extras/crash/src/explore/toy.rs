//! A journal on a bare disk, with mistakes that can be planted: the model, the plan, the counts and the reduction are
//! tried on it, without a kernel.
//!
//! ```text
//! block 0   folder: b"TOYF", entry 0 or 1
//! record n  blocks 2n-1, 2n: b"TOYR", n, sum of the body | the body
//! ```

use super::{Exposure, Kept, Plan, Sees, State, StateError, Stopped, explore, exposure, reduced};
use crate::check::{Found, Loss};
use crate::image::Pages;
use crate::log::{Entry, Log, Position, Put, Remains, What};
use crate::model::Windows;
use crate::oracle::{Acknowledged, Due};

const BLOCK: usize = 4096;
const RECORDS: u64 = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plant {
    Nothing,
    /// Acknowledged without a flush.
    NoFlush,
    /// The folder is written when everything else is over.
    NoFolder,
    /// No sum: half a record counts as one.
    NoSum,
}

struct Toy {
    plant: Plant,
    log: Log,
    start: Position,
    due: Due,
}

fn body(record: u64) -> Vec<u8> {
    vec![record as u8 | 0x80; BLOCK]
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(1, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)))
}

fn folder(entry: u8) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    block[..4].copy_from_slice(b"TOYF");
    block[4] = entry;
    block
}

fn record(number: u64) -> Vec<u8> {
    let mut blocks = vec![0; BLOCK];
    blocks[..4].copy_from_slice(b"TOYR");
    blocks[8..16].copy_from_slice(&number.to_le_bytes());
    blocks[16..20].copy_from_slice(&sum(&body(number)).to_le_bytes());
    blocks.extend(body(number));
    blocks
}

impl Toy {
    fn new(plant: Plant) -> Self {
        let mut base = Pages::filled(1 << 20, 0xA5);
        base.put(0, &folder(0));
        let (log, due) = (Log::of(base, []), Due::default());
        let mut toy = Self { plant, log, start: Position(0), due };
        toy.write(0, folder(0));
        toy.put(What::Flush);
        toy.start = toy.log.end();
        if plant != Plant::NoFolder {
            toy.write(0, folder(1));
            toy.put(What::Flush);
        }
        (1..=RECORDS).for_each(|number| toy.append(number));
        toy.write(0, folder(1));
        toy
    }

    fn put(&mut self, what: What) {
        let at_ns = 1000 * (1 + self.log.entries.len() as u64);
        self.log.entries.push(Entry { at_ns, what });
    }

    fn write(&mut self, block: u64, bytes: Vec<u8>) {
        self.put(What::Write { sector: block * 8, data: bytes.into(), fua: false });
    }

    fn append(&mut self, number: u64) {
        self.write(2 * number - 1, record(number));
        if self.plant != Plant::NoFlush {
            self.put(What::Flush);
        }
        let (position, at_ns) = (self.log.end(), 1000 * self.log.entries.len() as u64 + 500);
        self.due.0.push(Acknowledged { position, at_ns });
    }

    /// As a check on a mounted file system does.
    fn look(&self, remains: &Remains) -> Found {
        let image = self.log.image_of(remains);
        let read = |block: u64| {
            let mut bytes = vec![0; BLOCK];
            image.read(block * BLOCK as u64, &mut bytes);
            bytes
        };
        let mut found = Found::default();
        let folder = read(0);
        if folder[..4] != *b"TOYF" {
            found.losses.push(Loss::Unmountable("no folder".into()));
        } else if folder[4] == 1 {
            self.look_at_records(read, &mut found);
        }
        found.judged(self.due.at(remains.crash))
    }

    fn look_at_records(&self, read: impl Fn(u64) -> Vec<u8>, found: &mut Found) {
        let is_there = |number: u64| {
            let head = read(2 * number - 1);
            head[..4] == *b"TOYR" && head[8..16] == number.to_le_bytes()
        };
        let is_whole =
            |number: u64| is_there(number) && sum(&read(2 * number)) == sum(&body(number));
        let trusts = |number: u64| match self.plant {
            Plant::NoSum => is_there(number),
            _ => is_whole(number),
        };
        let last = (1..=RECORDS).take_while(|number| trusts(*number)).last().unwrap_or(0);
        found.survived = last;
        if let Some(wrong) = (1..=last).find(|number| !is_whole(*number)) {
            found.losses.push(Loss::Foreign(format!("record {wrong}")));
        }
        if (last + 1..=RECORDS).any(is_whole) {
            found.notes.push(format!("behind {last}"));
        }
        if last < RECORDS && is_there(last + 1) {
            found.notes.push(format!("record {}", last + 1));
        }
    }

    fn windows(&self, crash: &str) -> Windows<'_> {
        Windows::new(&self.log, self.start, crash.parse().unwrap())
    }

    fn explore(&self, crash: &str) -> super::Explored {
        let plan = Plan { states: 800, seed: 1 };
        let look = &mut |remains: &Remains| Ok::<_, Stopped>(self.look(remains));
        let windows = self.windows(crash);
        explore(&windows, &self.due, plan, Sees::Records, look, &mut |_, _| {}).unwrap()
    }
}

const ANY: &str = "power-loss:any-order/4096/honest";

#[test]
fn a_toy_without_a_mistake_loses_nothing_on_an_honest_disk() {
    let toy = Toy::new(Plant::Nothing);
    for disk in ["any-order/4096", "any-order/512", "ordered/512", "none/512"] {
        let crash = &format!("power-loss:{disk}/honest");
        let explored = toy.explore(crash);
        assert_eq!(explored.tally.failed, 0, "{crash}: {:?}", explored.failures);
        assert!(explored.states > 50, "{crash}: {}", explored.states);
    }
    assert!(toy.explore("power-loss:any-order/512/honest").tally.noted > 0);
}

#[test]
fn a_planted_mistake_is_seen_on_the_disks_that_show_it() {
    use Plant::{NoFlush, NoFolder, NoSum, Nothing};
    let tally = |plant, crash| {
        let explored = Toy::new(plant).explore(crash);
        (explored.tally, explored.states)
    };
    for (plant, crash) in [
        (Nothing, "power-loss:any-order/4096/lying"),
        (Nothing, "power-loss:ordered/512/lying"),
        (NoFlush, ANY),
        (NoFolder, ANY),
        (NoFolder, "power-loss:none/4096/honest"),
        (NoFolder, "kernel-crash"),
    ] {
        let (tally, states) = tally(plant, crash);
        assert!(tally.lost * 2 > states, "{plant:?}, {crash}: {tally:?}");
    }
    for (plant, crash) in [
        (Nothing, "kernel-crash"),
        (NoFlush, "kernel-crash"),
        (NoFlush, "power-loss:none/4096/honest"),
        (NoFolder, "process-kill"),
        // A disk that writes a request at once hides the missing sum.
        (NoSum, "power-loss:any-order/request/honest"),
    ] {
        assert_eq!(tally(plant, crash).0.failed, 0, "{plant:?}, {crash}");
    }
    let torn = tally(NoSum, ANY).0;
    assert!(torn.foreign > 10 && torn.lost == 0, "{torn:?}");
    assert!(tally(NoFlush, ANY).0.noted > 0);
}

/// Between two positions of an epoch the image may be the same, and more is due.
#[test]
fn an_image_is_looked_at_once_and_judged_by_all_that_may_be_due() {
    let toy = Toy::new(Plant::NoFlush);
    let windows = toy.windows("power-loss:ordered/request/honest");
    let (mut looks, mut judged) = (0, Vec::new());
    let look = &mut |remains: &Remains| {
        looks += 1;
        Ok::<_, Stopped>(toy.look(remains))
    };
    let plan = Plan { states: 1500, seed: 1 };
    let each = &mut |state: &State, found: &Found| judged.push((state.clone(), found.clone()));
    let explored = explore(&windows, &toy.due, plan, Sees::Records, look, each).unwrap();
    assert_eq!(looks, explored.images + 3, "and those that must fail and must not");
    assert_eq!(explored.states, judged.len() as u64);
    assert!(explored.images * 3 < explored.states, "{explored:?}");
    for (state, found) in judged {
        assert_eq!(found, toy.look(&state.remains(&windows).unwrap()), "{state}");
    }
}

#[test]
fn a_check_that_cannot_see_a_loss_stops_before_the_first_state() {
    let toy = Toy::new(Plant::NoFlush);
    let windows = toy.windows(ANY);
    let plan = Plan { states: 100, seed: 1 };
    let end = State::new(windows.crash(), toy.log.end(), Kept::All).remains(&windows).unwrap();
    // A cache shows the last image whatever is served.
    let cached = &mut |_: &Remains| Ok::<_, Stopped>(toy.look(&end));
    let stopped = explore(&windows, &toy.due, plan, Sees::Records, cached, &mut |_, _| {});
    assert!(matches!(stopped, Err(Stopped::Blind { due: RECORDS })));
    let look = &mut |remains: &Remains| Ok::<_, Stopped>(toy.look(remains));
    let stopped = explore(&windows, &Due::default(), plan, Sees::Records, look, &mut |_, _| {});
    assert!(matches!(stopped, Err(Stopped::NothingDue)));
}

#[test]
fn a_failure_is_as_small_as_it_can_be() {
    let lying = Toy::new(Plant::Nothing);
    let windows = lying.windows("power-loss:any-order/512/lying");
    let failures = lying.explore("power-loss:any-order/512/lying").failures;
    let state: State = failures[0].state.parse().unwrap();
    let mut looks = 0;
    let fails = &mut |state: &State| {
        looks += 1;
        lying.look(&state.remains(&windows).unwrap()).is_fault()
    };
    let (before, small) = (state.lost(&windows), reduced(&state, &windows, 1000, fails));
    assert!(before.len() > 1, "{state}");
    assert_eq!(small.lost(&windows).len(), 1, "{small}");
    assert!(looks < 200, "{looks}");
    assert!(lying.look(&small.remains(&windows).unwrap()).is_fault());
}

#[test]
fn the_loss_window_is_what_a_crash_takes() {
    let window = |plant| {
        let toy = Toy::new(plant);
        let windows = toy.windows(ANY);
        let look = &mut |remains: &Remains| Ok::<_, StateError>(toy.look(remains));
        exposure(&windows, &toy.due, 60, look).unwrap().unwrap()
    };
    let synced = window(Plant::Nothing);
    assert_eq!(synced, Exposure { instants: 60, median_ns: 0, worst_ns: 0 });
    let never = window(Plant::NoFlush);
    // Thirty records, one a microsecond, and all of them are gone at each instant.
    assert!((14_000..16_500).contains(&never.median_ns), "{never:?}");
    assert!((28_500..29_500).contains(&never.worst_ns), "{never:?}");
}
