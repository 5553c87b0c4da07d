//! Each operation is timed in one way: the clock is read before its first step and behind each step, and nothing is
//! kept before all of it is done. Beside ours stand the figures that bonnie++ prints, by its own definitions: one
//! longest operation, and the processor time of the whole process in whole per cent.

use pickfs_sys::own_usage::OwnUsage;

use super::{interrupt, phases::Kind};
use crate::{fault::Fault, phase::ThreadBench};

const STEPS_MAX: usize = 8;

pub(super) struct Watch<'a> {
    bench: &'a mut ThreadBench,
    /// Where the phase lists a kind; operations of another one are not kept.
    places: [Option<usize>; Kind::COUNT],
    steps: [(Kind, u64, u64); STEPS_MAX],
    count: usize,
    at_ns: u64,
    length_ns: u64,
    pub(super) original: Original,
}

impl<'a> Watch<'a> {
    pub(super) fn new(bench: &'a mut ThreadBench, kinds: &[Kind]) -> Watch<'a> {
        let mut places = [None; Kind::COUNT];
        kinds.iter().enumerate().for_each(|(place, kind)| places[*kind as usize] = Some(place));
        let steps = [(Kind::Whole, 0, 0); STEPS_MAX];
        let original = Original { slowest_ns: 0, cpu_ns: 0 };
        Watch { bench, places, steps, count: 0, at_ns: 0, length_ns: 0, original }
    }

    #[inline(always)]
    pub(super) fn begin(&mut self) {
        self.at_ns = self.bench.now_ns();
    }

    /// From the beginning, or the step before, until now.
    #[inline(always)]
    pub(super) fn step(&mut self, kind: Kind) {
        let end_ns = self.bench.now_ns();
        self.keep(kind, self.at_ns, end_ns);
        self.length_ns += end_ns - self.at_ns;
        self.at_ns = end_ns;
    }

    /// All steps as one more.
    #[inline(always)]
    pub(super) fn whole(&mut self) {
        self.keep(Kind::Whole, self.steps[0].1, self.at_ns);
    }

    #[inline(always)]
    fn keep(&mut self, kind: Kind, start_ns: u64, end_ns: u64) {
        self.steps[self.count] = (kind, start_ns, end_ns);
        self.count += 1;
    }

    /// The steps since the last time are what the original calls one operation.
    #[inline(always)]
    pub(super) fn done(&mut self, offset_bytes: u64) -> Result<(), Fault> {
        self.original.slowest_ns = self.original.slowest_ns.max(self.length_ns);
        self.aside(offset_bytes)
    }

    /// The steps since the last time are no operation of the original.
    #[inline(always)]
    pub(super) fn aside(&mut self, offset_bytes: u64) -> Result<(), Fault> {
        for (kind, start_ns, end_ns) in &self.steps[..self.count] {
            if let Some(place) = self.places[*kind as usize] {
                self.bench.record(place, *start_ns, *end_ns, offset_bytes);
            }
        }
        (self.count, self.length_ns) = (0, 0);
        interrupt::check()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Original {
    /// The longest of what the original calls one operation, in nanoseconds.
    pub(super) slowest_ns: u64,
    /// User and system time of all threads, in nanoseconds; counted once for each seeker.
    pub(super) cpu_ns: u64,
}

impl Original {
    /// Two threads as one: the longest of both, and their times added as the original does.
    pub(super) fn and(self, other: Original) -> Original {
        Original {
            slowest_ns: self.slowest_ns.max(other.slowest_ns),
            cpu_ns: self.cpu_ns + other.cpu_ns,
        }
    }
}

pub(super) fn cpu_ns() -> u64 {
    let usage = OwnUsage::now();
    usage.user_ns + usage.system_ns
}
