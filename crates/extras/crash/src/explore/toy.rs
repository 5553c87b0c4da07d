//! A journal on a bare disk, with mistakes that can be planted: the model, the plan, the counts and the reduction are
//! tried on it, without a kernel. Block 0 is its folder: 1 where the journal is. Record n stands in the blocks 2n-1 and 2n,
//! each full of a byte of its own.

use super::{
    Explored, Exposure, Kept, Plan, Sees, State, StateError, Stopped, explore, exposure, reduced,
};
use crate::check::{Found, Loss};
use crate::log::{Log, Position, Remains, What};
use crate::model::Windows;
use crate::oracle::Due;

const BLOCK: usize = 4096;
const RECORDS: u64 = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plant {
    Nothing,
    /// Acknowledged without a flush.
    NoFlush,
    /// The folder is written when everything else is over.
    NoFolder,
    /// Half a record counts as one.
    NoSum,
}

struct Toy {
    plant: Plant,
    log: Log,
    start: Position,
    due: Due,
}

fn record(number: u64) -> Vec<u8> {
    vec![number as u8 | 0x80; 2 * BLOCK]
}

impl Toy {
    fn new(plant: Plant) -> Self {
        let (log, due) = (Log::of(1 << 20, 0xA5, []), Due::default());
        let mut toy = Self { plant, log, start: Position(0), due };
        let folder = |entry: u8| vec![entry; BLOCK];
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
        self.log.entries.push(what);
    }

    fn write(&mut self, block: u64, bytes: Vec<u8>) {
        self.put(What::Write { sector: block * 8, data: bytes.into(), fua: false });
    }

    fn append(&mut self, number: u64) {
        self.write(2 * number - 1, record(number));
        if self.plant != Plant::NoFlush {
            self.put(What::Flush);
        }
        self.due.0.push(self.log.end());
    }

    /// As a check on a mounted file system does.
    fn look(&self, remains: &Remains) -> Found {
        let image = self.log.image_of(remains);
        let read = |block: u64, blocks: usize| {
            let mut bytes = vec![0; blocks * BLOCK];
            image.read(block * BLOCK as u64, &mut bytes);
            bytes
        };
        let is_whole = |number: u64| read(2 * number - 1, 2) == record(number);
        let trusts = |number: &u64| match self.plant {
            Plant::NoSum => read(2 * number - 1, 1)[..512] == record(*number)[..512],
            _ => is_whole(*number),
        };
        let records = if read(0, 1)[0] == 1 { RECORDS } else { 0 };
        let survived = (1..=records).take_while(trusts).last().unwrap_or(0);
        let wrong = (1..=survived).find(|number| !is_whole(*number));
        let losses = wrong.map(|number| Loss::Foreign(format!("record {number}")));
        let found = Found { survived, losses: losses.into_iter().collect(), ..Found::default() };
        found.judged(self.due.at(remains.crash))
    }

    fn windows(&self, crash: &str) -> Windows<'_> {
        Windows::new(&self.log, self.start, crash.parse().unwrap())
    }

    fn explore(&self, crash: &str) -> Explored {
        let plan = Plan { states: 800, seed: 1 };
        let look = &mut |_: &State, remains: &Remains| Ok::<_, Stopped>(self.look(remains));
        let (windows, mut explored) = (self.windows(crash), Explored::default());
        let each = &mut |_: &State, _: &Found| {};
        explore(&windows, &self.due, plan, Sees::Records, look, each, &mut explored).unwrap();
        explored
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
}

/// Between two positions of an epoch the image may be the same, and more is due.
#[test]
fn an_image_is_looked_at_once_and_judged_by_all_that_may_be_due() {
    let toy = Toy::new(Plant::NoFlush);
    let windows = toy.windows("power-loss:ordered/request/honest");
    let (mut looks, mut judged) = (0, Vec::new());
    let look = &mut |_: &State, remains: &Remains| {
        looks += 1;
        Ok::<_, Stopped>(toy.look(remains))
    };
    let (plan, mut explored) = (Plan { states: 1500, seed: 1 }, Explored::default());
    let each = &mut |state: &State, found: &Found| judged.push((state.clone(), found.clone()));
    explore(&windows, &toy.due, plan, Sees::Records, look, each, &mut explored).unwrap();
    assert_eq!(looks, explored.images + 2, "and one that must fail, twice");
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
    let stopped = |due: &Due, sees, look: &dyn Fn(&Remains) -> Found| {
        let look = &mut |_: &State, remains: &Remains| Ok::<_, Stopped>(look(remains));
        let explored = &mut Explored::default();
        explore(&windows, due, plan, sees, look, &mut |_, _| {}, explored).err()
    };
    // A cache shows the last image whatever is served.
    let cached = stopped(&toy.due, Sees::Records, &|_| toy.look(&end));
    assert!(matches!(cached, Some(Stopped::Blind { due: RECORDS })));
    let none = stopped(&Due::default(), Sees::Records, &|remains| toy.look(remains));
    assert!(matches!(none, Some(Stopped::NothingDue)));
    // Only a check of somebody else is broken: what ours refuses is lost.
    let no = |_: &Remains| Found { losses: vec![Loss::Refused("no".into())], ..Found::default() };
    let broken = stopped(&toy.due, Sees::Verdict, &no);
    assert!(matches!(broken, Some(Stopped::Broken(_))));
    assert!(stopped(&toy.due, Sees::Records, &no).is_none());
}

#[test]
fn a_failure_is_as_small_as_it_can_be() {
    let lying = Toy::new(Plant::Nothing);
    let windows = lying.windows("power-loss:any-order/512/lying");
    let failures = lying.explore("power-loss:any-order/512/lying").failures;
    let state = failures[0].state.clone();
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
        let times_ns: Vec<u64> = (1..=RECORDS).map(|number| 1000 * number).collect();
        let look = &mut |_: &State, remains: &Remains| Ok::<_, StateError>(toy.look(remains));
        exposure(&toy.windows(ANY), &toy.due, &times_ns, look).unwrap()
    };
    assert_eq!(window(Plant::Nothing), Exposure::default());
    // One a microsecond, and all of them are gone at each instant.
    assert_eq!(window(Plant::NoFlush), Exposure { median_ns: 14_000, worst_ns: 29_000 });
}
